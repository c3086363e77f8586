import Basics
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import Duplicates
@testable import LocationsAPI

@Suite struct DuplicateDecisionsTests {
  private func pair(_ one: UInt64, _ other: UInt64) throws -> PlacePair {
    try #require(PlacePair(PointID(high: 1, low: one), PointID(high: 1, low: other)))
  }

  @Test(arguments: KeptRecords.allCases)
  func decisionsAreKeptAndTakenBackByTwoInstances(_ kind: KeptRecords) async throws {
    try await kind.with { store in
      let (first, second) = (DuplicateDecisions(store), DuplicateDecisions(store))
      let (confirmed, refuted, untouched) = (try pair(1, 2), try pair(1, 3), try pair(2, 3))
      #expect(try await first.all().isEmpty)

      try await first.decide(.confirmed, on: confirmed)
      try await first.decide(.refuted, on: refuted)
      try await second.decide(.refuted, on: refuted)
      try await second.decide(.open, on: untouched)
      #expect(try await second.all() == [confirmed: .confirmed, refuted: .refuted])

      try await second.decide(.refuted, on: confirmed)
      try await first.decide(.open, on: refuted)
      #expect(try await first.all() == [confirmed: .refuted])
    }
  }

  @Test(arguments: KeptRecords.allCases)
  func concurrentDecisionsOnOnePairLeaveOneOfThem(_ kind: KeptRecords) async throws {
    try await kind.with { store in
      let (decisions, pair) = (DuplicateDecisions(store), try pair(1, 2))
      try await withThrowingTaskGroup { group in
        for number in 0..<6 {
          let state = number % 2 == 0 ? DuplicateState.confirmed : .refuted
          group.addTask { try await decisions.decide(state, on: pair) }
        }
        try await group.waitForAll()
      }
      let states = try await decisions.all()
      #expect(states.count == 1 && states[pair] != nil)
    }
  }

  @Test(arguments: KeptRecords.allCases)
  func damagedDecisionIsLeftOutAndCanBeReplaced(_ kind: KeptRecords) async throws {
    let log = LogRecorder()
    try await kind.with(DamagedRows(logger: log.logger)) { store in
      let (decisions, damaged, whole) = (DuplicateDecisions(store), try pair(1, 2), try pair(1, 3))
      let collection = RecordCollection("duplicate-decisions")
      let others = [("\(damaged)", "\"else\""), ("\(damaged.upper).\(damaged.lower)", "\"confirmed\"")]
      let changes: [RecordChange] = others.map {
        .insert(Record(collection, id: ExactText($0.0), document: $0.1))
      }
      #expect(try await store.commit(changes).isCommitted)
      try await decisions.decide(.confirmed, on: whole)

      for _ in 0..<2 { #expect(try await decisions.all() == [whole: .confirmed]) }
      try await decisions.decide(.refuted, on: damaged)

      #expect(try await decisions.all() == [damaged: .refuted, whole: .confirmed])
      #expect(log.lines.count == (kind == .memory ? 0 : 2))
      #expect(log.lines.allSatisfy { $0.contains("duplicate-decisions") })
    }
  }
}
