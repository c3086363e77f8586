import Basics
import Geo
import JSONText
import Points
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of the batches of an export.
@Suite(.timeLimit(.minutes(5))) struct ExportPageTests {
  @Test(arguments: [(1, 8), (4, 8), (125, 250), (499, 998), (500, 1000), (1000, 1000)])
  func fewPlacesAreMeasuredAfterAShortPage(pageCount: Int, count: Int) {
    #expect(ExportPages.count(after: pageCount) == count)
  }

  /// libpq buffers a whole batch.
  @Test(arguments: [false, true]) func batchesOfLongPlacesAreShort(isFiltered: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let long = try Tags((0..<500).map { (key: "key \($0)", value: String(repeating: "x", count: 1990)) })
    let short = try Tags([])
    var rows: [ImportRow] = []
    for number in 0..<1500 {
      let coordinate = try Coordinate(latitude: 1, longitude: Double(number) / 100)
      let place = try PointDraft(
        name: "place \(number)", category: "cafe", coordinate: coordinate,
        tags: (700..<740).contains(number) ? long : short, source: nil, sourceID: nil)
      rows.append(ImportRow(number: number + 1, id: .sample(UInt64(number + 1)), draft: place))
    }
    try await store.importRows(rows)
    let batches = Mutex<[[PointOfInterest]]>([])

    try await store.exportPoints(matching: PointQuery(categories: isFiltered ? ["cafe"] : [])) { points in
      batches.withLock { $0.append(points) }
    }

    let found = batches.withLock(\.self)
    #expect(found.joined().map(\.id) == rows.map { $0.id })
    for batch in found where batch.count > 1 {
      let bytes = batch.map { $0.draft.name.utf8.count + $0.draft.tags.json.utf8.count }.reduce(0, +)
      #expect(bytes <= PointPage.maximumTextBytes)
    }
    #expect(found.map(\.count).max() ?? 0 >= 100)
  }
}
