import Foundation
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

@Suite struct TilesetTests {
  private static let tileset = "/ogc/collections/places/tiles/WebMercatorQuad"

  private func service() async throws -> FeaturesService {
    try await FeaturesService(try FeaturesService.places(30), collections: "culture=museum;none=nothing")
  }

  private func read(_ response: ServiceDriver.Response) throws -> VectorTileReader {
    #expect(response.status == 200, "\(response.text.prefix(300))")
    #expect(response.headers.first(name: "content-type") == "application/vnd.mapbox-vector-tile")
    return try VectorTileReader(response.body)
  }

  @Test func linksLeadFromTheLandingPageAndTheCollectionToTheTiles() async throws {
    let service = try await service()
    let landing = try await service.get("/ogc").object
    let collection = try await service.get("/ogc/collections/culture").object
    let relation = "http://www.opengis.net/def/rel/ogc/1.0/"

    let schemes = try #require(landing.target(relation + "tiling-schemes"))
    let sets = try await service.get(schemes.pathAndQuery).object
    let tilesets = try await service.get(
      try #require(collection.target(relation + "tilesets-vector")).pathAndQuery
    ).object

    let set = try #require((sets["tileMatrixSets"] as? [[String: Any]])?.first)
    #expect(set["id"] as? String == "WebMercatorQuad")
    let summary = try #require((tilesets["tilesets"] as? [[String: Any]])?.first)
    #expect(summary["dataType"] as? String == "vector")
    #expect(summary["crs"] as? String == "http://www.opengis.net/def/crs/EPSG/0/3857")
    let tileset = try await service.get(try #require(summary.target("self")).pathAndQuery).object
    #expect(tileset["tileMatrixSetURI"] as? String == set["uri"] as? String)
    let links = try #require(tileset["links"] as? [[String: Any]])
    let scheme = try #require(links.first { $0["rel"] as? String == relation + "tiling-scheme" })
    #expect(scheme["href"] as? String == set.target("self"))
    let item = try #require(links.first { $0["rel"] as? String == "item" })
    #expect(item["templated"] as? Bool == true && item["type"] as? String == "application/vnd.mapbox-vector-tile")
    let template = try #require(item["href"] as? String)
    let address = template.replacing("{tileMatrix}", with: "0").replacing("{tileRow}", with: "0")
      .replacing("{tileCol}", with: "0")
    #expect(try read(try await service.get(address.pathAndQuery)).placeCount == 10)
  }

  @Test func matricesAreThoseOfTheStandard() async throws {
    let service = try await service()

    let definition = try await service.get("/ogc/tileMatrixSets/WebMercatorQuad").object

    let matrices = try #require(definition["tileMatrices"] as? [[String: Any]])
    #expect(matrices.map { $0["id"] as? String } == (0...24).map { "\($0)" })
    // The numbers of OGC 17-083r4, table D.1.
    for (level, scale, size) in [
      (0, 559_082_264.028_717_8, 156_543.033_928_041), (24, 33.323_899_747_7, 0.009_330_692),
    ] {
      #expect(abs(try #require(matrices[level]["scaleDenominator"] as? Double) / scale - 1) < 1e-6)
      #expect(abs(try #require(matrices[level]["cellSize"] as? Double) / size - 1) < 1e-6)
      #expect(matrices[level]["matrixWidth"] as? Int == 1 << level)
    }
    let origin = try #require(matrices[7]["pointOfOrigin"] as? [Double])
    #expect(abs(origin[0] + 20_037_508.342_789_2) < 1e-6 && origin[0] == -origin[1])
  }

  @Test func tileIsThatOfTheOtherPathWithRowsBeforeColumns() async throws {
    let service = try await service()

    for query in ["", "?category=cafe&tags=cuisine", "?q=p6", "?filter=name%3D%27p7%27"] {
      let (own, other) = (
        try await service.get("\(Self.tileset)/8/120/128\(query)"),
        try await service.get("/tiles/8/128/120.mvt\(query)")
      )
      #expect(own.body == other.body && !own.body.isEmpty, "\(query)")
      #expect(own.headers["etag"] == other.headers["etag"])
      let tag = try #require(own.headers.first(name: "etag"))
      let again = try await service.get("\(Self.tileset)/8/120/128\(query)", headers: ["if-none-match": tag])
      #expect(again.status == 304)
    }
  }

  @Test func tileOfACollectionHasItsCategories() async throws {
    let service = try await service()
    func tile(_ path: String) async throws -> VectorTileReader {
      try read(try await service.get("/ogc/collections/\(path)"))
    }

    #expect(try await tile("culture/tiles/WebMercatorQuad/8/120/128").placeCount == 10)
    #expect(try await tile("culture/tiles/WebMercatorQuad/8/120/128?category=museum").placeCount == 10)
    #expect(try await tile("culture/tiles/WebMercatorQuad/8/120/128?category=cafe").placeCount == 0)
    #expect(try await tile("none/tiles/WebMercatorQuad/8/120/128").placeCount == 0)
    #expect(try await tile("places/tiles/WebMercatorQuad/8/120/128?f=mvt").placeCount == 30)
    let tags = try await [Self.tileset, "/ogc/collections/culture/tiles/WebMercatorQuad"].asyncMap {
      try await service.get($0 + "/8/120/128").headers.first(name: "etag")
    }
    #expect(tags[0] != tags[1])
  }

  @Test(arguments: [
    ("/ogc/collections/places/tiles/WebMercatorQuad/23/0/0", 404),
    ("/ogc/collections/places/tiles/WebMercatorQuad/1/2/0", 404),
    ("/ogc/collections/places/tiles/WebMercatorQuad/a/0/0", 404),
    ("/ogc/collections/places/tiles/WorldCRS84Quad/0/0/0", 404),
    ("/ogc/collections/nowhere/tiles/WebMercatorQuad/0/0/0", 404),
    ("/ogc/collections/nowhere/tiles", 404), ("/ogc/collections/nowhere/tiles/WebMercatorQuad", 404),
    ("/ogc/tileMatrixSets/WorldCRS84Quad", 404), ("/ogc/tileMatrixSets?f=html", 400),
    ("/ogc/collections/places/tiles?x=1", 400),
    ("/ogc/collections/places/tiles/WebMercatorQuad/0/0/0?f=png", 400),
    ("/ogc/collections/places/tiles/WebMercatorQuad/0/0/0?bbox=1,1,2,2", 400),
  ])
  func unknownResourceOrParameterIsRejected(target: String, status: Int) async throws {
    #expect(try await service().get(target).status == status)
  }

  @Test func classesAreDeclaredWhereThereIsAnIndex() async throws {
    let driver = ServiceDriver(store: StubStore())
    let without = try await driver.send(.GET, "/ogc/conformance").text
    let with = try await service().get("/ogc/conformance").text

    #expect(with.contains("ogcapi-tiles-1") && !without.contains("ogcapi-tiles-1"))
  }
}

extension [String] {
  fileprivate func asyncMap<Value>(_ transform: (String) async throws -> Value) async throws -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
