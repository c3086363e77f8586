import Points

/// What an import keeps of a row until the last has come.
protocol StagedEntry: Sendable {
  /// Keeps a row.
  init(_ row: ImportRow, against base: Snapshot)

  /// What would be kept of a row that says what the place there is.
  ///
  /// - Parameter hasID: whether the row has the place's id.
  init(_ point: PointOfInterest, hasID: Bool)

  /// Whether all that is wanted of a row can be told from the place that it means, which has the row's id where it has
  /// one.
  static func isKnown(_ place: Place, from former: Place) -> Bool

  var idHash: Int? { get }
  var originHash: Int? { get }
  func hasSameID(as other: Self) -> Bool
  func hasSameOrigin(as other: Self) -> Bool
}

/// The rows of an import, gathered in little memory.
///
/// - A row that repeats another's id and origin takes its place: however often they come, a few places are held a few
///   times.
/// - Of a row that says what a place of the store is already, only that is held: eight bytes.
///
/// A row costs constant time on average.
struct ImportStage<Entry: StagedEntry>: Sendable {
  /// The rows are held against these places until all have come.
  let base: Snapshot

  private let partStarts: [Int]
  private var rows = ChunkedArray<StagedRow>()
  private var entries = ChunkedArray<Entry>()
  private let smallestLimit: Int
  private var limit: Int

  /// The rows that were let go.
  private(set) var repeats = RepeatedRows()

  /// Creates a stage without rows.
  ///
  /// - Parameter limit: from how many rows on repeated ones are looked for.
  init(base: Snapshot, limit: Int = 1 << 14) {
    self.base = base
    smallestLimit = limit
    self.limit = limit
    var starts = [0]
    for part in base.parts { starts.append(starts[starts.count - 1] + part.segment.count) }
    partStarts = starts
  }

  /// How many rows are held.
  var count: Int { rows.count }

  /// How many of the rows are held whole.
  var entryCount: Int { entries.count }

  /// Takes some rows, which come behind those before.
  mutating func append(_ batch: [ImportRow]) {
    for row in batch {
      rows.append(StagedRow(number: UInt32(clamping: row.number), source: known(row) ?? keep(row)))
    }
    if rows.count >= limit { dropRepeats() }
  }

  /// The number of a row.
  func number(at index: Int) -> Int { Int(rows[index].number) }

  /// What is known of a row.
  func entry(at index: Int) -> Entry {
    let source = rows[index].source
    if let entry = source.entry { return entries[entry] }
    return Entry(base.point(at: location(source.position)), hasID: source.hasID)
  }

  /// Whether a row changes the place of the base that it means; `nil` where more is held of it.
  func isKnownChange(at index: Int) -> Bool? {
    let source = rows[index].source
    return source.entry == nil ? source.isChanged : nil
  }

  private mutating func keep(_ row: ImportRow) -> StagedRow.Source {
    entries.append(Entry(row, against: base))
    return .init(entry: entries.count - 1)
  }

  private func known(_ row: ImportRow) -> StagedRow.Source? {
    guard base.count > 0,
      let location = row.place.origin.flatMap({ base.location(of: $0) }) ?? row.id.flatMap({ base.location(of: $0) })
    else { return nil }
    let former = base.point(at: location)
    guard row.id == nil || row.id == former.id, Entry.isKnown(row.place, from: former.place) else { return nil }
    let position = partStarts[location.part] + location.slot
    return .init(position: position, hasID: row.id != nil, isChanged: !former.place.isIdentical(to: row.place))
  }

  private func location(_ position: Int) -> Snapshot.Location {
    var part = 0
    while position >= partStarts[part + 1] { part += 1 }
    return .init(part: part, slot: position - partStarts[part])
  }

  // MARK: Repeats

  /// Lets go of the rows that a later one repeats in id and origin. Such a row never counts: the later one does, or else
  /// what supersedes that one supersedes both. A row that shares but one of the two must stay: it counts where the
  /// later one does not.
  private mutating func dropRepeats() {
    let laterRows = repeatingRows()
    let keptCount = laterRows.count { $0 == Self.none }
    // Where there is little to gain, the next look is when there are many more rows.
    guard rows.count - keptCount > rows.count / 8 else {
      limit = rows.count * 4
      return
    }
    var positions = ContiguousArray<UInt32>(repeating: 0, count: rows.count)
    var kept: UInt32 = 0
    for index in 0..<rows.count {
      positions[index] = kept
      if laterRows[index] == Self.none { kept += 1 }
    }
    func position(_ index: Int) -> Int {
      Int(positions[laterRows[index] == Self.none ? index : Int(laterRows[index])])
    }
    repeats.relocate(position)
    for index in 0..<rows.count where laterRows[index] != Self.none {
      repeats.add(number: number(at: index), later: position(index))
    }
    closeGaps(keeping: { laterRows[$0] == Self.none })
    limit = max(smallestLimit, rows.count * 2)
  }

  private static var none: UInt32 { .max }

  /// For each row the last one that repeats it, which none repeats, or ``none``.
  private func repeatingRows() -> ContiguousArray<UInt32> {
    var later = ContiguousArray(repeating: Self.none, count: rows.count)
    var lastRows = HashIndex(capacity: rows.count)
    for index in (0..<rows.count).reversed() {
      let entry = entry(at: index)
      guard let hash = entry.identityHash else { continue }
      if let row = lastRows.first(hash: hash, where: { self.entry(at: Int($0)).hasSameIdentity(as: entry) }) {
        later[index] = row
      } else {
        lastRows.insert(UInt32(index), hash: hash)
      }
    }
    return later
  }

  private mutating func closeGaps(keeping isKept: (Int) -> Bool) {
    var (count, entryCount) = (0, 0)
    for index in 0..<rows.count where isKept(index) {
      var row = rows[index]
      if let entry = row.source.entry {
        if entry > entryCount { entries[entryCount] = entries[entry] }
        row.source = .init(entry: entryCount)
        entryCount += 1
      }
      rows[count] = row
      count += 1
    }
    rows.truncate(to: count)
    entries.truncate(to: entryCount)
  }
}

extension StagedEntry {
  /// A hash of the id and the origin; `nil` without either.
  fileprivate var identityHash: Int? {
    let (id, origin) = (idHash, originHash)
    guard id != nil || origin != nil else { return nil }
    var hasher = Hasher()
    hasher.combine(id)
    hasher.combine(origin)
    return hasher.finalize()
  }

  /// Whether both have the same id and the same origin, or both none.
  fileprivate func hasSameIdentity(as other: Self) -> Bool {
    guard (idHash == nil) == (other.idHash == nil), (originHash == nil) == (other.originHash == nil)
    else { return false }
    return (idHash == nil || hasSameID(as: other)) && (originHash == nil || hasSameOrigin(as: other))
  }
}
