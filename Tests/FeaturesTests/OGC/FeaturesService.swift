import Basics
import CQL2
import Foundation
import Geo
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// A service with places for the tests of OGC API Features.
struct FeaturesService {
  let store: MemoryStore
  let driver: ServiceDriver

  static let items = "/ogc/collections/places/items"

  /// The types of tags.
  static let types: [ExactText: FilterType] = [
    "population": .integer, "cuisine": .stringArray, "opened": .date, "limit": .string,
  ]

  /// Creates a service of these places, with ids in their order.
  init(
    _ places: [PointDraft], types: [ExactText: FilterType] = [:], collections: String = "", hasIndex: Bool = true,
    address: PublicAddress = PublicAddress()
  ) async throws {
    store = MemoryStore.countingFromOne()
    let rows = places.enumerated().map {
      ImportRow(number: $0.offset + 1, id: .sample(UInt64($0.offset + 1)), draft: $0.element)
    }
    _ = try await store.load(AsyncStream([rows]))
    let api = LocationsAPI(
      .init(
        service: PointsService(store: hasIndex ? store : UnindexedStore(store: store)),
        filtering: Filtering(queryables: Queryables(types: types), timeLimit: .seconds(600)), address: address,
        version: "1.2.3"))
    driver = ServiceDriver(api, features: FeatureCalls(collections: try #require(PointCollections(collections))))
  }

  /// Some places: cafés and museums from west to east, named by their longitudes.
  static func places(_ count: Int) throws -> [PointDraft] {
    try (1...count).map { number in
      try .at(
        10, Double(number) / 100, name: "p\(number)", category: number.isMultiple(of: 3) ? "museum" : "cafe",
        sourceID: number.isMultiple(of: 2) ? "\(number)" : nil)
    }
  }

  func get(_ target: String, headers: HTTPHeaders = [:]) async throws -> ServiceDriver.Response {
    try await driver.send(.GET, target, headers: headers)
  }

  /// Returns the features of a page.
  func features(_ target: String) async throws -> [[String: Any]] {
    let response = try await get(target)
    try #require(response.status == 200, "\(target): \(response.text.prefix(300))")
    return try #require(try response.object["features"] as? [[String: Any]])
  }

  /// Returns the names of the features of a page.
  func names(_ target: String) async throws -> [String] { try await features(target).map(\.name) }
}

extension [String: Any] {
  /// The properties of a feature.
  var properties: [String: Any] { self["properties"] as? [String: Any] ?? [:] }

  /// The name of a feature.
  var name: String { properties["name"] as? String ?? "" }

  /// The coordinates of a feature.
  var coordinates: [Double] { (self["geometry"] as? [String: Any])?["coordinates"] as? [Double] ?? [] }

  /// The edges of the extent of a collection.
  var box: [Double]? {
    let spatial = (self["extent"] as? [String: Any])?["spatial"] as? [String: Any]
    return (spatial?["bbox"] as? [[Double]])?.first
  }

  /// The links of a resource.
  var links: [[String: String]] { self["links"] as? [[String: String]] ?? [] }

  /// Returns the target of the first link of a relation and a media type.
  func target(_ relation: String, type: String? = nil) -> String? {
    links.first { $0["rel"] == relation && (type == nil || $0["type"] == type) }?["href"]
  }
}

extension String {
  /// The text percent-encoded for a query.
  var encoded: String { addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
}
