import Foundation
import Geo
import Points
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

/// Tests of both stores with the same real places, queried over HTTP and compared with the reference implementation.
@Suite(.enabled(if: SharedData.isThere, Comment(rawValue: SharedData.absence)))
struct RealPlacesTests {
  @Test(arguments: StoreKind.allCases)
  func theNearestPlacesAreThoseOfTheReference(kind: StoreKind) async throws {
    let (server, expected) = try await server(of: kind)
    let driver = ServerDriver(port: try await server.port())
    var random = SeededGenerator(seed: 20)
    let centers = try (0..<2000).map { _ in try Self.center(&random) }

    try await forEach(centers) { center in
      let (lat, long) = (center.latitude, center.longitude)
      let response = try await driver.get("/locations?lat=\(lat)&long=\(long)&limit=20&fields=distance,source,sourceId")
      let found = try response.origins
      let reference = expected.nearest(20, to: center)
      #expect(found.count == 20)
      for (place, neighbour) in zip(found, reference) {
        let distance = try #require(place.distance)
        #expect(abs(distance - neighbour.metres) < 0.1, "\(lat),\(long): \(place) for \(neighbour)")
      }
      // Places at one distance may have a different order in the reference, which has no ids.
      let ties = Dictionary(grouping: reference, by: \.metres).values.filter { $0.count > 1 }.flatMap { $0 }.map(
        \.origin)
      for (place, neighbour) in zip(found, reference.dropLast()) where !ties.contains(neighbour.origin) {
        #expect(place.origin == neighbour.origin, "\(lat),\(long)")
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func radiusAndBoxFindThoseOfTheReference(kind: StoreKind) async throws {
    let (server, expected) = try await server(of: kind)
    let driver = ServerDriver(port: try await server.port())
    var random = SeededGenerator(seed: 21)
    let questions = try (0..<300).map { _ in
      (center: try Self.center(&random), radius: Double(Int.random(in: 0...300_000, using: &random)))
    }

    try await forEach(questions) { question in
      let (lat, long) = (question.center.latitude, question.center.longitude)
      let inRadius = try await driver.all("/locations?lat=\(lat)&long=\(long)&radius=\(question.radius)")
      #expect(inRadius.count == Set(inRadius).count)
      #expect(Set(inRadius) == expected.within(question.radius, of: question.center))

      let east = long + 3 > 180 ? long - 357 : long + 3
      let box = try BoundingBox(west: long, south: max(-90, lat - 2), east: east, north: min(90, lat + 2))
      let inBox = try await driver.all("/locations?bbox=\(box.west),\(box.south),\(box.east),\(box.north)")
      #expect(inBox.count == Set(inBox).count)
      #expect(Set(inBox) == expected.within(box))
    }
  }

  @Test(arguments: StoreKind.allCases, ["/locations?", "/locations?lat=89.9&long=-179.9&"])
  func cursorVisitsEveryPlaceOnce(kind: StoreKind, target: String) async throws {
    let (server, _) = try await server(of: kind)
    let driver = ServerDriver(port: try await server.port())

    let places = try await driver.all(target)

    #expect(places.count == 21_368)
    #expect(Set(places).count == 21_368)
  }

  @Test func secondImportChangesNothing() async throws {
    let database = try await TemporaryDatabase.make()
    let environment = ["DATABASE_URL": database.url]
    let migrated = try await WaymarkProcess.run(["migrate"], environment: environment)

    let first = try await WaymarkProcess.run(["import"] + SharedData.files, environment: environment)
    let second = try await WaymarkProcess.run(["import"] + SharedData.files, environment: environment)

    #expect(migrated.status == 0)
    #expect(first.status == 0)
    #expect(first.output == "21368 rows: 21368 created, 0 updated, 0 unchanged, 0 rejected\n")
    #expect(second.output == "21368 rows: 0 created, 0 updated, 21368 unchanged, 0 rejected\n")
  }

  private func server(of kind: StoreKind) async throws -> (WaymarkProcess, ExpectedPoints) {
    let expected = ExpectedPoints(try await SharedData.places())
    switch kind {
    case .memory:
      let files = SharedData.files.joined(separator: ",")
      return (try await WaymarkProcess(["serve", "--http-port", "0", "--data-file", files]), expected)
    case .postgres:
      let environment = ["DATABASE_URL": try await TemporaryDatabase.make().url]
      try #require(try await WaymarkProcess.run(["migrate"], environment: environment).status == 0)
      try #require(try await WaymarkProcess.run(["import"] + SharedData.files, environment: environment).status == 0)
      return (try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment), expected)
    }
  }

  /// Returns a centre: anywhere, near a pole, or near the antimeridian.
  private static func center(_ random: inout SeededGenerator) throws -> Coordinate {
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      let latitude = Double.random(in: 85...90, using: &random)
      return try Coordinate(
        latitude: Bool.random(using: &random) ? latitude : -latitude,
        longitude: Double.random(in: -180...180, using: &random))
    case 1:
      let longitude = Double.random(in: 179...180, using: &random)
      return try Coordinate(
        latitude: Double.random(in: -70...70, using: &random),
        longitude: Bool.random(using: &random) ? longitude : -longitude)
    default:
      return try Coordinate(
        latitude: Double.random(in: -90...90, using: &random), longitude: Double.random(in: -180...180, using: &random))
    }
  }

  /// Performs an operation for each element, several at a time.
  private func forEach<Element: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<4 {
        group.addTask {
          for index in stride(from: lane, to: elements.count, by: 4) { try await body(elements[index]) }
        }
      }
      try await group.waitForAll()
    }
  }
}

/// A decoded place: its origin and distance.
private struct OriginResponse: Decodable {
  let source: String
  let sourceId: String
  let distance: Double?
  var origin: SourceReference { .init(source: source, sourceID: sourceId) }
}

extension ServerDriver.Response {
  fileprivate var origins: [OriginResponse] {
    get throws { try JSONDecoder().decode([OriginResponse].self, from: body) }
  }
}

extension ServerDriver {
  /// Returns the origins of all matches, over all pages.
  fileprivate func all(_ target: String) async throws -> [SourceReference] {
    var origins: [SourceReference] = []
    var next: String? =
      target + (target.hasSuffix("?") || target.hasSuffix("&") ? "" : "&")
      + "limit=1000&fields=source,sourceId"
    while let page = next {
      let response = try await get(page)
      #expect(response.status == 200)
      origins += try response.origins.map(\.origin)
      next = response.next.map { "/locations" + $0 }
    }
    return origins
  }
}
