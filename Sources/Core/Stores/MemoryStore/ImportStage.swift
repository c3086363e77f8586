import Basics
import PointIndex
import Points

/// The rows of an import until the last has arrived, in little memory.
///
/// - A row replaces an earlier one with the same id and the same source reference, so that places that repeat are held
///   once. If it is an exact duplicate, it is counted alone.
/// - Of a row that equals a place of the store only the location of that place is held.
///
/// A row is added in O(1) on average.
struct ImportStage: Sendable {
  /// The place of a row: in the rows held whole, or in the snapshot.
  enum Content {
    case held(UInt32, hasID: Bool)
    case known(PointSnapshot.Location, hasID: Bool)
  }

  private struct StagedRow {
    let number: UInt32
    /// The position of the row among all that arrived.
    let arrival: UInt32
    /// A hash of the id and the source reference; 0 for a row without either.
    let identityHash: UInt32
    var content: Content

    /// Returns the row with the number and the arrival of an exact duplicate.
    func renumbered(_ number: Int, arrival: UInt32) -> StagedRow {
      StagedRow(number: UInt32(clamping: number), arrival: arrival, identityHash: identityHash, content: content)
    }
  }

  private let snapshot: PointSnapshot
  private let ids: any ImportIDSource
  private var rows = ChunkedArray<StagedRow>()

  // As columns, from which a snapshot is built without a copy. A row without an id has the first that `ids` gives it.
  private var heldRows = PointBuffer()

  // The number of held rows that were replaced.
  private var vacancies = 0

  private var arrivals: UInt32 = 0

  // The first rows of each file with the fields that it has. Before the first of them, rows have all fields.
  private var givenFields: [(arrival: UInt32, fields: GivenFields)] = []

  // The rows with an id or a source reference.
  private var rowsByIdentity = HashIndex(capacity: 1 << 10)
  private var capacity = 1 << 10

  /// The number of rows with the same contents as the one before with the same id and source reference.
  private(set) var duplicates = 0

  /// The rows that were replaced.
  private(set) var repeats = RepeatedRows()

  /// A Boolean value that indicates whether a row has an id.
  private(set) var hasIDs = false

  /// Creates a stage without rows.
  ///
  /// - Parameters:
  ///   - snapshot: the places that the rows are compared with as they arrive.
  ///   - ids: the source of ids for new places.
  init(against snapshot: PointSnapshot, ids: any ImportIDSource) {
    self.snapshot = snapshot
    self.ids = ids
  }

  /// The number of rows, without those that were replaced.
  var count: Int { rows.count }

  /// The number of rows that are held whole.
  var heldCount: Int { heldRows.count - vacancies }

  /// The number of bytes of memory of the rows, and of the index of their identities.
  var byteCount: Int { count * MemoryLayout<StagedRow>.stride + 8 * capacity + heldRows.byteCount }

  /// The number of rows above which those that were replaced are removed when they are most.
  private static let minimumCompacted = 1 << 10

  /// Adds rows after those before.
  mutating func append(_ batch: [ImportRow]) {
    for row in batch {
      if row.given != givenFields.last?.fields ?? .all { givenFields.append((arrivals, row.given)) }
      let hash = row.identityHash
      if row.id != nil { hasIDs = true }
      if let former = position(of: row, hash: hash) {
        if self.row(at: former).draft == row.draft {
          duplicates += 1
          rows[former] = rows[former].renumbered(row.number, arrival: arrivals)
          arrivals += 1
          continue
        }
        repeats.add(number: number(at: former), replacement: former)
        if case .held = rows[former].content { vacancies += 1 }
        rows[former] = staged(row, hash: hash)
        if vacancies > max(heldCount, Self.minimumCompacted) { removeVacancies() }
      } else {
        rows.append(staged(row, hash: hash))
        if hash != 0 { index(rows.count - 1, hash: hash) }
      }
    }
  }

  /// Returns the number of a row in the import.
  func number(at index: Int) -> Int { Int(rows[index].number) }

  func content(at index: Int) -> Content { rows[index].content }

  func row(at index: Int) -> ImportRow {
    switch content(at: index) {
    case .held(let position, let hasID):
      let point = heldRows.point(at: Int(position))
      return ImportRow(
        number: number(at: index), id: hasID ? point.id : nil, draft: point.draft, given: given(at: index))
    case .known(let location, let hasID):
      let point = snapshot.point(at: location)
      return ImportRow(
        number: number(at: index), id: hasID ? point.id : nil, draft: point.draft, given: given(at: index))
    }
  }

  private func given(at index: Int) -> GivenFields {
    if givenFields.isEmpty { return .all }
    let next = givenFields.partitioningIndex { $0.arrival > rows[index].arrival }
    return next == 0 ? .all : givenFields[next - 1].fields
  }

  /// Returns the id of a row; `nil` if it has none.
  func id(at index: Int) -> PointID? {
    switch content(at: index) {
    case .held(let position, let hasID): hasID ? heldRows.id(at: Int(position)) : nil
    case .known(let location, let hasID): hasID ? snapshot.id(at: location) : nil
    }
  }

  /// Returns an id for the new place of a row that has none.
  ///
  /// - Parameter attempt: the number of earlier calls whose ids were taken.
  func newID(at index: Int, attempt: Int) -> PointID {
    if attempt == 0, case .held(let position, hasID: false) = content(at: index) {
      return heldRows.id(at: Int(position))
    }
    return ids.id(for: row(at: index).draft, attempt: attempt)
  }

  /// Returns the indices of the rows in the order of arrival.
  func indicesByArrival() -> ContiguousArray<Int> {
    var indices = ContiguousArray(0..<count)
    if repeats.count + duplicates > 0 { indices.sort { rows[$0].arrival < rows[$1].arrival } }
    return indices
  }

  private mutating func staged(_ row: ImportRow, hash: UInt32) -> StagedRow {
    defer { arrivals += 1 }
    return StagedRow(
      number: UInt32(clamping: row.number), arrival: arrivals, identityHash: hash, content: known(row) ?? hold(row))
  }

  private mutating func hold(_ row: ImportRow) -> Content {
    let unknown = Timestamp(microsecondsSinceEpoch: 0)
    let id = row.id ?? ids.id(for: row.draft, attempt: 0)
    heldRows.append(PointOfInterest(id: id, draft: row.draft, version: 0, createdAt: unknown, updatedAt: unknown))
    return .held(UInt32(heldRows.count - 1), hasID: row.id != nil)
  }

  private mutating func removeVacancies() {
    var positions = ContiguousArray<UInt32?>(repeating: nil, count: heldRows.count)
    for index in 0..<count {
      if case .held(let position, _) = rows[index].content { positions[Int(position)] = 0 }
    }
    var next: UInt32 = 0
    for position in positions.indices where positions[position] != nil {
      positions[position] = next
      next += 1
    }
    for index in 0..<count {
      guard case .held(let former, let hasID) = rows[index].content, let position = positions[Int(former)] else {
        continue
      }
      rows[index].content = .held(position, hasID: hasID)
    }
    var kept = PointBuffer()
    kept.append(contentsOf: heldRows) { positions[$0] != nil }
    (heldRows, vacancies) = (kept, 0)
  }

  // MARK: Places

  /// Sets what the store gives the place of a row that is held.
  mutating func setPlace(heldAt position: Int, id: PointID, version: Int64, createdAt: Timestamp, updatedAt: Timestamp)
  {
    heldRows.set(at: position, id: id, version: version, createdAt: createdAt, updatedAt: updatedAt)
  }

  /// The number of positions of held rows, including those of rows that were replaced.
  var heldPositions: Int { heldRows.count }

  func place(heldAt position: Int) -> PointOfInterest { heldRows.point(at: position) }

  /// Removes the rows that are held, and returns the places of those at the given positions.
  mutating func takePlaces(heldWhere isIncluded: ContiguousArray<Bool>) -> PointBuffer {
    let held = heldRows
    heldRows = PointBuffer()
    if isIncluded.allSatisfy({ $0 }) { return held }
    var places = PointBuffer()
    places.append(contentsOf: held) { isIncluded[$0] }
    return places
  }

  private func known(_ row: ImportRow) -> Content? {
    guard snapshot.count > 0,
      let location = row.draft.origin.flatMap({ snapshot.location(of: $0) })
        ?? row.id.flatMap({ snapshot.location(of: $0) })
    else { return nil }
    let point = snapshot.point(at: location)
    guard row.id == nil || row.id == point.id, row.draft == point.draft else { return nil }
    return .known(location, hasID: row.id != nil)
  }

  // MARK: Identities

  private func position(of row: ImportRow, hash: UInt32) -> Int? {
    guard hash != 0 else { return nil }
    let position = rowsByIdentity.first(hash: Int(hash)) { index in
      guard rows[Int(index)].identityHash == hash else { return false }
      let other = self.row(at: Int(index))
      return (other.id, other.draft.origin) == (row.id, row.draft.origin)
    }
    return position.map { Int($0) }
  }

  private mutating func index(_ position: Int, hash: UInt32) {
    if position >= capacity {
      capacity *= 2
      rowsByIdentity = HashIndex(capacity: capacity)
      for index in 0..<position where rows[index].identityHash != 0 {
        rowsByIdentity.insert(UInt32(index), hash: Int(rows[index].identityHash))
      }
    }
    rowsByIdentity.insert(UInt32(position), hash: Int(hash))
  }
}

extension ImportRow {
  fileprivate var identityHash: UInt32 {
    guard id != nil || draft.origin != nil else { return 0 }
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(draft.origin)
    return max(UInt32(truncatingIfNeeded: hasher.finalize()), 1)
  }
}

/// The rows of an import that later rows with the same id and source reference replaced: their number, and the first
/// ones with their replacements.
struct RepeatedRows: Sendable {
  private struct Repeat: Sendable {
    let number: Int
    let replacement: Int
  }

  /// The number of rows that were replaced.
  private(set) var count = 0

  // By their numbers, as many as a report has room for.
  private var first: [Repeat] = []

  /// Adds a row.
  ///
  /// - Parameter replacement: the index of the row that replaced it in its stage.
  mutating func add(number: Int, replacement: Int) {
    count += 1
    if first.count == ImportReport.maximumRejections {
      guard let last = first.last, number < last.number else { return }
      first.removeLast()
    }
    let position = first.lastIndex { $0.number <= number }.map { $0 + 1 } ?? 0
    first.insert(Repeat(number: number, replacement: replacement), at: position)
  }

  /// Returns a report that rejects the rows.
  ///
  /// - Parameter number: returns the number of the row that counts, for the index of a replacement.
  func report(number: (Int) -> Int) -> ImportReport {
    var report = ImportReport()
    for row in first { report.reject(.superseded(row.number, by: number(row.replacement))) }
    report.reject(count: count - first.count)
    return report
  }
}

/// An array in chunks of a fixed length: it grows without being copied, and without holding its contents twice.
private struct ChunkedArray<Element: Sendable>: Sendable {
  private static var shift: Int { 12 }
  private static var chunkLength: Int { 1 << shift }

  private var chunks: [ContiguousArray<Element>] = []

  /// The number of elements.
  private(set) var count = 0

  mutating func append(_ element: Element) {
    if count & (Self.chunkLength - 1) == 0 {
      var chunk = ContiguousArray<Element>()
      chunk.reserveCapacity(Self.chunkLength)
      chunks.append(chunk)
    }
    chunks[chunks.count - 1].append(element)
    count += 1
  }

  subscript(index: Int) -> Element {
    get { chunks[index >> Self.shift][index & (Self.chunkLength - 1)] }
    set { chunks[index >> Self.shift][index & (Self.chunkLength - 1)] = newValue }
  }
}
