@testable import MemoryStore
import Points
import SyntheticData
import TestSupport
import Testing

@Suite struct ImportStageTests {
  @Test func rowsThatRepeatAFewPlacesAreHeldAFewTimes() throws {
    var stage = ImportStage<StagedPlace>(base: Snapshot(), limit: 2_000)
    var rehearsal = ImportStage<StagedIdentity>(base: Snapshot(), limit: 2_000)

    for batch in 0..<300 {
      let rows = try (1...500).map { try row(batch * 500 + $0, "name \(batch)", origin: $0 % 100) }
      stage.append(rows)
      rehearsal.append(rows)

      #expect(stage.count < 2_500 && stage.entryCount < 2_500)
      #expect(rehearsal.count < 2_500)
    }

    let plan = ImportPlan(stage, mode: .partial, into: Snapshot(), ids: DerivedIDs(), version: 2, at: .zero)
    #expect((plan.report.created, plan.report.rejected) == (100, 149_900))
    #expect(plan.report.rejections.map(\.number) == Array(1...100))
    #expect(plan.report.rejections.map(\.detail).first?.contains("row 149901,") == true)
    #expect(plan.changes.additions.allSatisfy { $0.place.name == "name 299" })
    #expect(ImportRehearsal(rehearsal, mode: .partial).report == plan.report)
  }

  @Test func rowsThatSayWhatIsThereAreHeldWithoutTheirPlaces() throws {
    var places = try SyntheticPlaces(seed: 4, townCount: 5)
    let rows = try places.rows(count: 3_000)
    let base = try Self.snapshot(of: rows)
    var stage = ImportStage<StagedPlace>(base: base)

    stage.append(rows)
    stage.append([try row(3_001, "new", origin: 1)])

    #expect((stage.count, stage.entryCount) == (3_001, 1))
    let plan = ImportPlan(stage, mode: .partial, into: base, ids: DerivedIDs(), version: 2, at: .zero)
    #expect((plan.report.created, plan.report.unchanged) == (1, 3_000))
    #expect(plan.changes.removals.isEmpty)
  }

  @Test func rowsAreHeldAgainstThePlacesThatThereAreWhenTheLastHasCome() throws {
    let known = try row(1, "known", origin: 1)
    let base = try Self.snapshot(of: [known])
    let elsewhere = try Self.snapshot(of: [try row(1, "changed meanwhile", origin: 1)])
    var stage = ImportStage<StagedPlace>(base: base)

    stage.append([known])

    let changed = ImportPlan(stage, mode: .partial, into: elsewhere, ids: DerivedIDs(), version: 2, at: .zero)
    let gone = ImportPlan(stage, mode: .partial, into: Snapshot(), ids: DerivedIDs(), version: 2, at: .zero)
    #expect(changed.report.updated == 1)
    #expect(changed.changes.additions.map(\.place.name) == ["known"])
    #expect(gone.report.created == 1)
  }

  @Test(arguments: 0..<20)
  func whatIsLetGoEarlyChangesNothing(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let base = try Self.snapshot(of: try (1...6).map { try row($0, "old", id: $0, origin: $0) })
    let rows = try (1...400).map { number in
      try row(
        number, "name \(Int.random(in: 0..<3, using: &random))",
        id: Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil,
        origin: Bool.random(using: &random) ? Int.random(in: 1...9, using: &random) : nil)
    }
    let expected = Self.rejected(rows, among: base)
    var whole = ImportStage<StagedPlace>(base: base)
    var stage = ImportStage<StagedPlace>(base: base, limit: 8)
    var rehearsal = ImportStage<StagedIdentity>(base: base, limit: 8)

    whole.append(rows)
    for start in stride(from: 0, to: rows.count, by: 10) {
      stage.append(Array(rows[start..<start + 10]))
      rehearsal.append(Array(rows[start..<start + 10]))
    }

    let reference = ImportPlan(whole, mode: .partial, into: base, ids: DerivedIDs(), version: 2, at: .zero)
    let plan = ImportPlan(stage, mode: .partial, into: base, ids: DerivedIDs(), version: 2, at: .zero)
    let report = ImportRehearsal(rehearsal, mode: .partial).report
    #expect(stage.count < rows.count)
    #expect(reference.report.rejected == expected.count)
    #expect(plan.report.rejections.map(\.number) == Array(expected.prefix(100)))
    #expect(plan.changes.additions == reference.changes.additions)
    for counted in [plan.report, report] {
      #expect(counted.created == reference.report.created)
      #expect(counted.updated == reference.report.updated)
      #expect(counted.unchanged == reference.report.unchanged)
      #expect(counted.rejections.map(\.number) == plan.report.rejections.map(\.number))
      #expect(counted.rejected == expected.count)
    }
  }

  /// The numbers of the rows that don't go in, found by looking at all that follow: the plain reading of the contract.
  private static func rejected(_ rows: [ImportRow], among base: Snapshot) -> [Int] {
    var counting: [(id: PointID?, origin: Place.Origin?)] = []
    var rejected: [Int] = []
    for row in rows.reversed() {
      let origin = row.place.origin
      let owner = origin.flatMap { base.location(of: $0) }.map { base.id(at: $0) }
      let id = row.id ?? owner
      if counting.contains(where: { (id != nil && $0.id == id) || (origin != nil && $0.origin == origin) }) {
        rejected.append(row.number)
      } else {
        counting.append((id, origin))
        if let owner, owner != id { rejected.append(row.number) }
      }
    }
    return rejected.reversed()
  }

  private static func snapshot(of rows: [ImportRow]) throws -> Snapshot {
    var stage = ImportStage<StagedPlace>(base: Snapshot())
    stage.append(rows)
    let plan = ImportPlan(stage, mode: .partial, into: Snapshot(), ids: DerivedIDs(), version: 2, at: .zero)
    return Snapshot().applying(plan.changes)
  }

  private func row(_ number: Int, _ name: String, id: Int? = nil, origin: Int?) throws -> ImportRow {
    try .sample(
      name, 1, 1, source: origin == nil ? nil : "s", sourceID: origin.map(String.init),
      id: id.map { .sample(UInt64($0)) },
      number: number)
  }
}

extension Timestamp {
  fileprivate static var zero: Timestamp { Timestamp(microsecondsSinceEpoch: 0) }
}
