import Basics
import Geo
package import Points
import SyntheticData
import Testing

/// Random edits and imports of few places, whose effects are compared with those of a reference after each step.
package struct RandomEdits {
  private var store: any PointStore
  private var random: SeededGenerator
  private var reference = ReferenceEdits()

  /// The ids of the places, by their source ids.
  private var ids: [String: PointID] = [:]

  private static let sourceIDs = (1...5).map { "\($0)" }

  /// Records an issue for each deviation of a store, which has no places.
  ///
  /// - Parameter reopen: closes a store and opens it again; `nil` if it keeps nothing.
  /// - Throws: the store's errors.
  package static func check(
    seed: UInt64, steps: Int, _ store: any PointStore,
    reopening reopen: ((any PointStore) async throws -> any PointStore)? = nil
  ) async throws {
    var edits = RandomEdits(store: store, random: SeededGenerator(seed: seed))
    for step in 0..<steps {
      let name = try await edits.step("seed \(seed), step \(step)")
      if let reopen, step % 16 == 15 { edits.store = try await reopen(edits.store) }
      try await edits.compare("seed \(seed), step \(step): \(name)")
    }
  }

  /// Makes a step, and returns its name.
  private mutating func step(_ position: String) async throws -> String {
    switch pick(0..<24) {
    case 0..<7: try await write()
    case 7: try await confirm()
    case 8: try await writeAsSource()
    case 9, 10: try await delete()
    case 11, 12: try await create()
    case 13: try await changeOrigin()
    case 14, 15: try await forget(position)
    case 16: try await deleteSource()
    default: try await importRows(position)
    }
  }

  private mutating func pick(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func pickPlace() -> (sourceID: String, id: PointID, values: [String: String])? {
    guard let sourceID = reference.places.keys.sorted().randomElement(using: &random), let id = ids[sourceID],
      let values = reference.places[sourceID]?.values
    else { return nil }
    return (sourceID, id, values)
  }

  private mutating func pickFreeSourceID() -> String? {
    Self.sourceIDs.filter { reference.places[$0] == nil }.randomElement(using: &random)
  }

  private mutating func pickValue(of field: String) -> String? {
    ReferenceEdits.values[field]?.randomElement(using: &random) ?? nil
  }

  private mutating func pickValues() -> [String: String] {
    var values: [String: String] = [:]
    for field in ReferenceEdits.fields { values[field] = pickValue(of: field) }
    return values
  }

  // MARK: Writes

  private mutating func write() async throws -> String {
    guard let (sourceID, id, former) = pickPlace() else { return "no place to write" }
    var values = former
    for _ in 0...pick(0..<2) {
      let field = ReferenceEdits.fields[pick(0..<ReferenceEdits.fields.count)]
      values[field] = pickValue(of: field)
    }
    let draft = try ReferenceEdits.draft(values, sourceID)
    switch pick(0..<3) {
    case 0: _ = try await store.put(draft, id: id, if: .none)
    case 1: _ = try await store.apply(PointBatch([.update(id: id, if: .exists) { _ in draft }]))
    default: _ = try await store.apply(PointBatch([.put(draft, id: id, if: .none)], isAtomic: true))
    }
    reference.write(values, to: sourceID)
    return "write \(values) to \(sourceID)"
  }

  private mutating func confirm() async throws -> String {
    guard let (sourceID, id, values) = pickPlace() else { return "no place to confirm" }
    let former = try await store.point(id: id)
    let (point, wasCreated) = try await store.put(try ReferenceEdits.draft(values, sourceID), id: id, if: .exists)
    #expect(point == former && !wasCreated)
    reference.write(values, to: sourceID)
    return "confirm \(sourceID)"
  }

  private mutating func writeAsSource() async throws -> String {
    guard let (sourceID, id, _) = pickPlace() else { return "no place to write as its source" }
    let values = pickValues()
    let point = try await store.put(try ReferenceEdits.draft(values, sourceID), id: id, if: .none, as: .source).point
    _ = reference.merge(values, into: sourceID)
    #expect(ReferenceEdits.values(of: point.draft) == reference.places[sourceID]?.values)
    return "write \(values) to \(sourceID) as its source"
  }

  private mutating func delete() async throws -> String {
    guard let (sourceID, id, _) = pickPlace() else { return "no place to delete" }
    if pick(0..<2) == 0 {
      try await store.delete(id: id, if: .none)
    } else {
      #expect(try await store.apply(PointBatch([.delete(id: id, if: .exists)])) == [.deleted(id)])
    }
    reference.places[sourceID] = nil
    reference.deletions[sourceID] = id
    return "delete \(sourceID)"
  }

  private mutating func create() async throws -> String {
    guard let sourceID = pickFreeSourceID() else { return "no place to create" }
    let values = pickValues()
    let draft = try ReferenceEdits.draft(values, sourceID)
    let author: WriteAuthor = pick(0..<4) == 0 ? .source : .client
    if author == .source, let deletion = reference.deletions[sourceID] {
      let (store, isPut) = (store, pick(0..<2) == 0)
      await #expect(throws: PointWriteError.deletedByClient(id: deletion)) {
        if isPut {
          _ = try await store.put(draft, id: deletion, if: .none, as: author)
        } else {
          _ = try await store.create(draft, once: nil, reusingID: true, as: author)
        }
      }
      return "create the deleted \(sourceID) as its source"
    }
    var id = PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0000 | (random.next() >> 2))
    switch pick(0..<4) {
    case 0: id = try await store.create(draft, once: nil, reusingID: true, as: author).id
    case 1:
      // The id of a deletion, maybe of another source id.
      let deleted = reference.deletions.keys.sorted().randomElement(using: &random)
      id = deleted.flatMap { reference.deletions[$0] } ?? id
      _ = try await store.put(draft, id: id, if: .absent, as: author)
    case 2:
      let results = try await store.apply(PointBatch([.create(draft)]))
      guard case .created(let created, _)? = results.first else { return "creation of \(sourceID): \(results)" }
      id = created
    default: _ = try await store.put(draft, id: id, if: .none, as: author)
    }
    reference.create(values, sourceID, id: id)
    return "create \(sourceID) \(values)"
  }

  private mutating func changeOrigin() async throws -> String {
    guard let (sourceID, id, former) = pickPlace() else { return "no place with an origin" }
    let newID = pick(0..<2) == 0 ? nil : pickFreeSourceID()
    var values = former
    values["name"] = pickValue(of: "name")
    let draft = try ReferenceEdits.draft(values, newID)
    let author: WriteAuthor = pick(0..<2) == 0 ? .client : .source
    if author == .source, let deletion = newID.flatMap({ reference.deletions[$0] }) {
      let store = store
      await #expect(throws: PointWriteError.deletedByClient(id: deletion)) {
        try await store.put(draft, id: id, if: .none, as: author)
      }
      return "change the origin of \(sourceID) to the deleted \(newID ?? "") as its source"
    }
    _ = try await store.put(draft, id: id, if: .none, as: author)
    reference.places[sourceID] = nil
    if let newID { reference.create(values, newID, id: id) }
    return "change the origin of \(sourceID) to \(newID ?? "none")"
  }

  private mutating func forget(_ position: String) async throws -> String {
    guard let sourceID = Self.sourceIDs.randomElement(using: &random) else { return "" }
    if let id = reference.deletions[sourceID] {
      #expect(try await store.forgetEdits(of: id) == nil, "\(position)")
      reference.deletions[sourceID] = nil
    } else if let id = ids[sourceID], reference.places[sourceID]?.edits.isEmpty == false {
      let former = try #require(try await store.point(id: id))
      let point = try #require(try await store.forgetEdits(of: id))
      reference.undo(sourceID)
      #expect(ReferenceEdits.values(of: point.draft) == reference.places[sourceID]?.values, "\(position)")
      #expect(point.version > former.version && point.createdAt == former.createdAt, "\(position)")
    } else {
      let id = ids[sourceID] ?? .sample(999)
      let store = store
      await #expect(throws: PointWriteError.notFound, "\(position)") { try await store.forgetEdits(of: id) }
    }
    return "forget \(sourceID)"
  }

  private mutating func deleteSource() async throws -> String {
    guard pick(0..<4) == 0 else { return "nothing" }
    var next: ExactText?
    repeat { next = try await store.deleteBatch(ofSource: "s", after: next).next } while next != nil
    (reference.places, reference.deletions) = ([:], [:])
    return "delete the source"
  }

  // MARK: Imports

  private mutating func importRows(_ position: String) async throws -> String {
    var (rows, given) = ([(sourceID: String, values: [String: String])](), Set(ReferenceEdits.fields))
    var fields = GivenFields.all
    if pick(0..<3) == 0 {
      fields = GivenFields(hasCategory: false, tagKeys: ["a"])
      given.subtract(["category", "tags.b"])
    }
    let isRepeated = pick(0..<4) == 0
    for sourceID in Self.sourceIDs.shuffled(using: &random).prefix(pick(1..<6)) {
      var values = pickValues()
      // As often as not the data set has nothing new.
      if let place = reference.places[sourceID], pick(0..<2) == 0 {
        values = place.values
        for (field, edit) in place.edits { values[field] = edit.base }
      }
      values = values.filter { given.contains($0.key) }
      if isRepeated, rows.isEmpty { rows.append((sourceID, ["name": "superseded", "position": "0.0,0.0"])) }
      rows.append((sourceID, values))
    }
    var options = ImportOptions(mode: pick(0..<2) == 0 ? .atomic : .partial, dryRun: pick(0..<4) == 0)
    options.conflicts = pick(0..<3) == 0 ? .source : .edits
    let assumes = pick(0..<5) == 0
    // No place changes in the year 2096.
    options.assumeEditedSince = pick(0..<2) == 0 ? Timestamp(microsecondsSinceEpoch: 4_000_000_000_000_000) : nil
    if assumes { options.assumeEditedSince = Timestamp(microsecondsSinceEpoch: 0) }
    let removed = [nil, Self.sourceIDs, ["2", "3"]][pick(0..<3)]
    if let removed {
      options.removal =
        removed.count == 5
        ? .others(source: "s", limit: .percentage(100)) : .places(source: "s") { removed }
    }
    let importRows = try rows.enumerated().map { index, row in
      ImportRow(
        number: index + 1, id: nil, draft: try ReferenceEdits.draft(row.values, row.sourceID), given: fields)
    }

    let report = try await store.importRows(importRows.inOneBatch, options: options)

    var expected = reference
    let counts = expected.importRows(
      isRepeated ? Array(rows.dropFirst()) : rows, given: given, conflicts: options.conflicts, assumes: assumes,
      removing: removed ?? [])
    let isRejected = isRepeated && options.mode == .atomic
    #expect(report.rejected == (isRepeated ? 1 : 0), "\(position)")
    #expect(
      [
        report.created, report.updated, report.unchanged, report.deleted ?? 0, report.keptEdits, report.conflicts,
      ] == (isRejected ? [0, 0, 0, 0, 0, 0] : counts), "\(position): \(rows)")
    if !isRejected, !options.dryRun {
      reference = expected
      // A new place may have the id of a deleted place that had another source id last.
      for point in try await store.allPoints() where reference.new.contains(point.draft.origin?.sourceID ?? "") {
        reference.deletions = reference.deletions.filter { $0.value != point.id }
      }
    }
    return "import \(rows), given \(given), \(options.mode), \(options.conflicts), removing \(removed ?? [])"
      + (options.dryRun ? ", dry run" : "") + (assumes ? ", assuming edits" : "")
  }

  // MARK: Comparison

  private mutating func compare(_ step: String) async throws {
    var found: [String: [String: String]] = [:]
    ids = [:]
    for point in try await store.allPoints() {
      guard let origin = point.draft.origin else { continue }
      found[origin.sourceID] = ReferenceEdits.values(of: point.draft)
      ids[origin.sourceID] = point.id
    }
    #expect(found == reference.places.mapValues(\.values), "\(step)")
    let all = try await store.edits(matching: EditQuery(limit: 100))
    #expect(!all.hasMore && all.places.map(\.id) == all.places.map(\.id).sorted(), "\(step)")
    var (edits, deletions) = ([String: [String: ReferenceEdits.Edit]](), [String: PointID]())
    for place in all.places {
      let sourceID = place.origin.sourceID
      if place.isDeletion {
        #expect(place.edits.count == 1, "\(step)")
        deletions[sourceID] = place.id
        continue
      }
      #expect(place.id == ids[sourceID], "\(step)")
      #expect(place.edits.map(\.field) == place.edits.map(\.field).sorted(), "\(step)")
      for edit in place.edits { edits[sourceID, default: [:]][edit.field.text] = ReferenceEdits.Edit(edit) }
    }
    #expect(edits == reference.places.mapValues(\.edits).filter { !$0.value.isEmpty }, "\(step)")
    #expect(deletions == reference.deletions, "\(step)")
    try await comparePages(with: all.places, step)
  }

  private mutating func comparePages(with all: [PlaceEdits], _ step: String) async throws {
    var query = EditQuery(source: "s", limit: pick(1..<4))
    var places: [PlaceEdits] = []
    while true {
      let page = try await store.edits(matching: query)
      #expect(page.places.count <= query.limit, "\(step)")
      places += page.places
      guard page.hasMore, let last = page.places.last else { break }
      query.after = last.id
    }
    #expect(places == all, "\(step)")
    let conflicts = try await store.edits(matching: EditQuery(onlyConflicts: true, limit: 100))
    #expect(conflicts.places == all.filter(\.hasConflict), "\(step)")
    #expect(try await store.edits(matching: EditQuery(source: "t", limit: 100)).places.isEmpty, "\(step)")
    if let place = all.randomElement(using: &random) {
      #expect(try await store.edits(of: place.id) == place, "\(step)")
    }
    #expect(try await store.edits(of: .sample(999)) == nil, "\(step)")
  }
}

/// The effects of edits and imports, computed on texts: of each place of the data set its values and its edits.
private struct ReferenceEdits {
  struct Edit: Equatable {
    var base: String?
    var isConflict = false
  }

  struct Place: Equatable {
    var values: [String: String]
    var edits: [String: Edit] = [:]
  }

  var places: [String: Place] = [:]
  var deletions: [String: PointID] = [:]

  /// The source ids of the places that the last import created.
  private(set) var new: Set<String> = []

  static let fields = ["category", "name", "position", "tags.a", "tags.b"]

  /// The possible values of the fields. Two positions are the same for edits.
  static let values: [String: [String?]] = [
    "category": [nil, "x", "y"], "name": ["a", "b", "c"], "position": ["1.0,1.0", "1.0,1.00000005", "2.0,-2.0"],
    "tags.a": [nil, "1", "2"], "tags.b": [nil, "1"],
  ]

  private static func areSame(_ left: String?, _ right: String?) -> Bool {
    left == right || left?.hasPrefix("1.0,") == true && right?.hasPrefix("1.0,") == true
  }

  mutating func create(_ values: [String: String], _ sourceID: String, id: PointID) {
    places[sourceID] = Place(values: values)
    deletions[sourceID] = nil
    deletions = deletions.filter { $0.value != id }
  }

  mutating func write(_ values: [String: String], to sourceID: String) {
    guard var place = places[sourceID] else { return }
    if place.values == values { for field in place.edits.keys { place.edits[field]?.isConflict = false } }
    for field in Self.fields where !Self.areSame(place.values[field], values[field]) {
      let base = if let edit = place.edits[field] { edit.base } else { place.values[field] }
      place.edits[field] = Self.areSame(base, values[field]) ? nil : Edit(base: base)
    }
    place.values = values
    places[sourceID] = place
  }

  mutating func undo(_ sourceID: String) {
    for (field, edit) in places[sourceID]?.edits ?? [:] { places[sourceID]?.values[field] = edit.base }
    places[sourceID]?.edits = [:]
  }

  /// Merges a row with a place, and returns whether it makes an edit a conflict.
  mutating func merge(
    _ row: [String: String], into sourceID: String, given: Set<String> = Set(fields),
    conflicts: ConflictPolicy = .edits, assumes: Bool = false
  ) -> Bool {
    guard var place = places[sourceID] else { return false }
    let former = place.values
    var hasConflict = false
    if place.edits.isEmpty, assumes {
      for field in Self.fields where !Self.areSame(row[field], former[field]) {
        place.edits[field] = Edit(base: row[field])
      }
    } else {
      for (field, edit) in place.edits where given.contains(field) {
        let isNew = !Self.areSame(row[field], edit.base)
        if Self.areSame(row[field], former[field]) || conflicts == .source && (isNew || edit.isConflict) {
          place.edits[field] = nil
        } else if isNew {
          place.edits[field] = Edit(base: row[field], isConflict: true)
          hasConflict = true
        }
      }
    }
    place.values = row
    for field in place.edits.keys { place.values[field] = former[field] }
    places[sourceID] = place
    return hasConflict
  }

  /// Imports rows, and returns the numbers of created, updated, unchanged and deleted places, of those that keep edits
  /// and of those with a new conflict.
  mutating func importRows(
    _ rows: [(sourceID: String, values: [String: String])], given: Set<String>, conflicts: ConflictPolicy,
    assumes: Bool, removing removed: [String]
  ) -> [Int] {
    var counts = [0, 0, 0, 0, 0, 0]
    new = []
    for (sourceID, values) in rows {
      if deletions[sourceID] != nil {
        counts[2] += 1
        counts[4] += 1
      } else if let former = places[sourceID] {
        if merge(values, into: sourceID, given: given, conflicts: conflicts, assumes: assumes) { counts[5] += 1 }
        counts[places[sourceID]?.values == former.values ? 2 : 1] += 1
        if places[sourceID]?.edits.isEmpty == false { counts[4] += 1 }
      } else {
        counts[0] += 1
        places[sourceID] = Place(values: values)
        new.insert(sourceID)
      }
    }
    for sourceID in removed where !rows.contains(where: { $0.sourceID == sourceID }) {
      if places.removeValue(forKey: sourceID) != nil { counts[3] += 1 }
      deletions[sourceID] = nil
    }
    return counts
  }

  // MARK: Values

  /// Returns the draft of values; without an origin if the source id is `nil`.
  static func draft(_ values: [String: String], _ sourceID: String?) throws -> PointDraft {
    let position = (values["position"] ?? "").split(separator: ",").compactMap { Double($0) }
    let tags = values.compactMap { field, value in
      field.hasPrefix("tags.") ? (key: String(field.dropFirst(5)), value: value) : nil
    }
    return try PointDraft(
      name: values["name"] ?? "", category: values["category"],
      coordinate: try Coordinate(latitude: position[0], longitude: position[1]), tags: try Tags(tags),
      source: sourceID == nil ? nil : "s", sourceID: sourceID)
  }

  /// Returns the values of a draft.
  static func values(of draft: PointDraft) -> [String: String] {
    var values = ["name": draft.name, "position": text(of: draft.coordinate)]
    values["category"] = draft.category
    for (key, value) in draft.tags.pairs { values["tags." + key] = value }
    return values
  }

  fileprivate static func text(of position: Coordinate) -> String { "\(position.latitude),\(position.longitude)" }
}

extension ReferenceEdits.Edit {
  fileprivate init(_ edit: FieldEdit) {
    isConflict = edit.isConflict
    base =
      switch edit.base {
      case .none: nil
      case .text(let text): text.text
      case .position(let position): ReferenceEdits.text(of: position)
      }
  }
}
