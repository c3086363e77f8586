import Points
import SyntheticData
import TestSupport
import Testing

import MemoryStore

@Suite struct DerivedIDsTests {
  @Test func storesThatLoadTheSameRowsGiveTheSameIDs() async throws {
    var places = try SyntheticPoints(seed: 9, townCount: 3)
    let rows = try places.rows(count: 50) + SyntheticPoints.hardCases()
    let (one, other) = (MemoryStore(), MemoryStore())

    _ = try await one.load(rows.inOneBatch)
    _ = try await other.load(rows.inOneBatch)

    let ids = try await one.allPoints().map(\.id)
    #expect(try await other.allPoints().map(\.id) == ids)
    #expect(Set(ids).count == rows.count)
  }

  @Test func identicalPlacesGetDifferentIDs() async throws {
    let row = try ImportRow.sample("twin", 1, 1)
    let store = MemoryStore()

    for _ in 0..<3 { _ = try await store.load(Array(repeating: row, count: 400).inOneBatch) }

    let points = try await store.allPoints()
    #expect(points.count == 1_200)
    #expect(Set(points.map(\.id)).count == 1_200)
  }

  @Test func idDependsOnTheSourceReferenceAlone() throws {
    let ids = DerivedIDs()

    let one = ids.id(for: try .sample("a", 1, 1, source: "s", sourceID: "1"), attempt: 0)
    let same = ids.id(for: try .sample("b", 2, 2, source: "s", sourceID: "1"), attempt: 0)
    let other = ids.id(for: try .sample("a", 1, 1, source: "s1", sourceID: "1"), attempt: 0)

    #expect(one == same)
    #expect(one != other)
    #expect(one != ids.id(for: try .sample("a", 1, 1, source: "s", sourceID: "1"), attempt: 1))
  }

  @Test func derivedIDThatAnotherRowNamesIsNotGiven() async throws {
    let place = try PointDraft.sample("new", 1, 1, source: "s", sourceID: "1")
    let taken = DerivedIDs().id(for: place, attempt: 0)
    let store = MemoryStore()

    let rows = [ImportRow(number: 1, id: nil, draft: place), try .sample("asks", 2, 2, id: taken, number: 2)]
    let report = try await store.load(rows.inOneBatch)

    #expect(report.created == 2)
    #expect(try await store.point(id: taken)?.draft.name == "asks")
    #expect(try await store.allPoints().count == 2)
  }
}

extension PointDraft {
  fileprivate static func sample(
    _ name: String,
    _ latitude: Double,
    _ longitude: Double,
    source: String,
    sourceID: String
  ) throws -> PointDraft {
    try ImportRow.sample(name, latitude, longitude, source: source, sourceID: sourceID).draft
  }
}
