@testable import MemoryStore
import PointIndex
import Points
import SyntheticData
import TestSupport
import Testing

@Suite struct ImportStageTests {
  @Test func rowsThatRepeatAFewPlacesAreHeldOnce() throws {
    var stage = ImportStage(against: PointSnapshot(), ids: DerivedIDs())

    for batch in 0..<300 {
      stage.append(
        try (1...500).map { try row(batch * 500 + $0, "name \(batch).\($0 / 100)", origin: $0 % 100) })

      #expect(stage.count == 100 && stage.heldCount == 100)
    }

    let plan = try Self.plan(stage, into: PointSnapshot())
    #expect((plan.report.created, plan.report.rejected) == (100, 149_900))
    #expect(plan.report.rejections.map(\.number) == Array(1...100))
    #expect(plan.report.rejections.map(\.detail).first?.contains("row 149901,") == true)
    #expect(plan.puts.points.allSatisfy { ["name 299.4", "name 299.5"].contains($0.draft.name) })
  }

  @Test func rowsThatEqualAPlaceAreHeldByItsLocation() throws {
    var places = try SyntheticPoints(seed: 4, townCount: 5)
    let rows = try places.rows(count: 3_000)
    let base = try Self.snapshot(of: rows)
    var stage = ImportStage(against: base, ids: DerivedIDs())

    stage.append(rows)
    stage.append([try row(3_001, "new", origin: 1)])

    #expect((stage.count, stage.heldCount) == (3_001, 1))
    let plan = try Self.plan(stage, into: base)
    #expect((plan.report.created, plan.report.unchanged) == (1, 3_000))
    #expect(plan.puts.points.map(\.draft.name) == ["new"])
  }

  @Test func memoryOfARowIsThatOfItsTextsAndColumnsUnlessItIsKnown() throws {
    var places = try SyntheticPoints(seed: 4, townCount: 5)
    let rows = try places.rows(count: 20_000)
    let textBytes = rows.reduce(0) { $0 + $1.draft.textBytes + ($1.draft.origin?.sourceID.utf8.count ?? 0) }
    var new = ImportStage(against: PointSnapshot(), ids: DerivedIDs())
    var known = ImportStage(against: try Self.snapshot(of: rows), ids: DerivedIDs())

    new.append(rows)
    known.append(rows)

    let bytes = Double(new.byteCount - textBytes) / Double(new.count)
    #expect((84...130).contains(bytes), "\(bytes)")
    #expect(known.byteCount <= 48 * known.count, "\(known.byteCount)")
  }

  @Test(arguments: ["category", "source"])
  func memoryOfTextsThatRowsShareIsCounted(field: String) throws {
    var stage = ImportStage(against: PointSnapshot(), ids: DerivedIDs())
    let text = String(repeating: "x", count: 90)

    stage.append(
      try (1...5_000).map { number in
        try field == "source"
          ? .sample("a", 1, 1, source: "\(text)\(number)", sourceID: "1", number: number)
          : .sample("a", 1, 1, category: "\(text)\(number)", number: number)
      })

    #expect(stage.byteCount >= 5_000 * 174, "\(stage.byteCount)")
  }

  @Test func rowsThatAlternateBetweenKnownAndNewAreHeldOnce() throws {
    let base = try Self.snapshot(of: try (0..<10).map { try row($0, "known", origin: $0) })
    var stage = ImportStage(against: base, ids: DerivedIDs())

    for turn in 0..<50 {
      stage.append(try (0..<10).map { try row(turn * 10 + $0, turn % 2 == 0 ? "known" : "new", origin: $0) })

      #expect((stage.count, stage.heldCount) == (10, turn % 2 == 0 ? 0 : 10))
    }

    #expect(try Self.plan(stage, into: base).report.updated == 10)
  }

  @Test func planComparesRowsWithThePlacesAtTheEndOfTheImport() throws {
    let known = try row(1, "known", origin: 1)
    let base = try Self.snapshot(of: [known])
    let elsewhere = try Self.snapshot(of: [try row(1, "changed meanwhile", origin: 1)])
    var stage = ImportStage(against: base, ids: DerivedIDs())

    stage.append([known])

    let changed = try Self.plan(stage, into: elsewhere)
    let gone = try Self.plan(stage, into: PointSnapshot())
    #expect(changed.report.updated == 1)
    #expect(changed.puts.points.map(\.draft.name) == ["known"])
    #expect(gone.report.created == 1)
  }

  @Test(arguments: 0..<20)
  func rowsThatAreReplacedOnArrivalChangeNothing(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let base = try Self.snapshot(of: try (1...6).map { try row($0, "old", id: $0, origin: $0) })
    let rows = try (1...400).map { number in
      let name = "name \(Int.random(in: 0..<3, using: &random))"
      return try row(
        number, Int.random(in: 0..<8, using: &random) == 0 ? "old" : name,
        id: Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil,
        origin: Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil)
    }
    let expected = Outcome(of: rows, among: base)
    var stage = ImportStage(against: base, ids: DerivedIDs())

    for start in stride(from: 0, to: rows.count, by: 10) { stage.append(Array(rows[start..<start + 10])) }

    let plan = try Self.plan(stage, into: base)
    #expect(stage.count < rows.count)
    #expect(plan.report.rejected == expected.rejected.count)
    #expect(plan.report.rejections.map(\.number) == Array(expected.rejected.prefix(100)))
    let puts = plan.puts.points
    #expect(
      puts.map { "\($0.draft)" }.sorted() == expected.puts.map { "\($0.draft)" }.sorted(), "in any order")
    #expect(
      expected.puts.allSatisfy { put in
        put.id == nil || puts.contains { $0.id == put.id && $0.draft == put.draft }
      })
    #expect(Set(puts.map(\.id)).count == puts.count)
    #expect(plan.puts.points.allSatisfy { $0.version == Self.version && $0.updatedAt == Self.time })
    #expect(puts.count { $0.createdAt == Self.time } == expected.created)
    #expect(plan.report.created == expected.created)
    #expect(plan.report.updated == expected.puts.count - expected.created)
    #expect(plan.report.unchanged == expected.unchanged)
  }

  /// The effects of rows, found by comparing each with all that follow: the plain reading of the contract.
  private struct Outcome {
    /// The numbers of the rejected rows.
    private(set) var rejected: [Int] = []
    private(set) var puts: [(id: PointID?, draft: PointDraft)] = []
    private(set) var created = 0
    private(set) var unchanged = 0

    init(of all: [ImportRow], among base: PointSnapshot) {
      // A row is an exact duplicate if the next one with its id and source reference has the same values.
      let rows = all.indices.filter { index in
        guard all[index].id != nil || all[index].draft.origin != nil else { return true }
        let next = all[(index + 1)...].first {
          $0.id == all[index].id && $0.draft.origin == all[index].draft.origin
        }
        return next?.draft != all[index].draft
      }.map { all[$0] }
      unchanged = all.count - rows.count
      var counting: [(id: PointID?, origin: SourceReference?)] = []
      for row in rows.reversed() {
        let origin = row.draft.origin
        let owner = origin.flatMap { base.location(of: $0) }.map { base.id(at: $0) }
        let id = row.id ?? owner
        if counting.contains(where: { (id != nil && $0.id == id) || (origin != nil && $0.origin == origin) }) {
          rejected.append(row.number)
          continue
        }
        counting.append((id, origin))
        let former = id.flatMap { base.point(id: $0) }
        if let owner, owner != id {
          rejected.append(row.number)
        } else if let former, former.draft == row.draft {
          unchanged += 1
        } else {
          puts.append((id, row.draft))
          if former == nil { created += 1 }
        }
      }
      rejected.reverse()
      puts.reverse()
    }
  }

  /// The version and the time of the planned imports; those of the places before them are lower.
  private static let version: Int64 = 2
  private static let time = Timestamp(microsecondsSinceEpoch: 1_000_000)

  private static func plan(
    _ stage: ImportStage, into snapshot: PointSnapshot, version: Int64 = version, at time: Timestamp = time
  ) throws -> ImportPlan {
    try ImportPlan(
      stage, options: ImportOptions(), into: snapshot, edits: EditTable(), version: version, at: time)
  }

  private static func snapshot(of rows: [ImportRow]) throws -> PointSnapshot {
    var stage = ImportStage(against: PointSnapshot(), ids: DerivedIDs())
    stage.append(rows)
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return PointSnapshot(try plan(stage, into: PointSnapshot(), version: 1, at: time).puts)
  }

  private func row(_ number: Int, _ name: String, id: Int? = nil, origin: Int?) throws -> ImportRow {
    try .sample(
      name, 1, 1, source: origin == nil ? nil : "s", sourceID: origin.map(String.init),
      id: id.map { .sample(UInt64($0)) },
      number: number)
  }
}
