import JSONText
import Points
import PostgresStore
import Synchronization
import TestSupport
import Testing

/// The batches that an export comes in.
@Suite(.timeLimit(.minutes(5))) struct ExportPageTests {
  /// Libpq holds a whole batch.
  @Test(arguments: [false, true]) func batchesOfLongPlacesAreShort(isFiltered: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let long = (0..<500).map { ("key \($0)", String(repeating: "x", count: 1990)) }
    var rows: [ImportRow] = []
    for number in 0..<1500 {
      let isLong = (700..<740).contains(number)
      rows.append(
        try .sample(
          "place \(number)", 1, Double(number) / 100, category: "cafe",
          tags: isLong ? long.map { (key: $0.0, value: $0.1) } : [], id: .sample(UInt64(number + 1)), number: number + 1
        ))
    }
    try await store.importRows(rows)
    let batches = Mutex<[[PointOfInterest]]>([])

    try await store.exportPoints(matching: PointQuery(categories: isFiltered ? ["cafe"] : [])) { points in
      batches.withLock { $0.append(points) }
    }

    let found = batches.withLock(\.self)
    #expect(found.joined().map(\.id) == rows.map { $0.id })
    for batch in found where batch.count > 1 {
      let bytes = batch.map { $0.place.name.utf8.count + $0.place.tags.json.utf8.count }.reduce(0, +)
      #expect(bytes <= PointPage.maximumTextBytes)
    }
    #expect(found.map(\.count).max() ?? 0 >= 100)
  }
}
