import Geo
import HTTPServer
import NIOCore
import NIOHTTP1
import Points
import Testing

@testable import LocationsAPI

@Suite struct TileCacheTests {
  private static func tile(_ column: Int) throws -> TileAddress {
    try #require(TileAddress(zoom: 10, x: column, y: 3))
  }

  private static func version(_ number: UInt64) -> ContentVersion { ContentVersion(count: 1, high: number, low: 0) }

  /// Versions of a tile whose own is known.
  private static func versions(_ number: UInt64) -> TileVersions {
    TileVersions(own: version(number), enclosing: version(number))
  }

  private static func response(_ count: Int = 2_000, coding: String? = nil) -> HTTPResponse {
    var response = HTTPResponse(contentType: "text/plain", bytes: ByteBuffer(repeating: 7, count: count))
    if let coding { response.headers.add(name: "content-encoding", value: coding) }
    return response
  }

  @Test func tileIsReturnedOnlyForItsVersionAndCoding() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)

    cache.insert(Self.response(), of: tile, Self.version(1), enclosing: Self.version(1))

    #expect(cache.response(of: tile, Self.versions(1), (.identity, false))?.response.byteCount == 2_000)
    #expect(cache.response(of: tile, Self.versions(2), (.identity, false)) == nil)
    #expect(cache.response(of: tile, Self.versions(1), (.gzip, false)) == nil)
    #expect(cache.response(of: try Self.tile(2), Self.versions(1), (.identity, false)) == nil)
  }

  @Test func tileIsReturnedWhileTheEnclosingPlacesOrItsOwnAreTheSame() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)
    func found(own: UInt64?, enclosing: UInt64) -> ContentVersion? {
      let versions = TileVersions(own: own.map(Self.version), enclosing: Self.version(enclosing))
      return cache.response(of: tile, versions, (.identity, false))?.version
    }

    cache.insert(Self.response(), of: tile, Self.version(1), enclosing: Self.version(10))

    #expect(found(own: nil, enclosing: 10) == Self.version(1))
    #expect(found(own: nil, enclosing: 11) == nil)
    #expect(found(own: 2, enclosing: 11) == nil)
    // A neighbour has changed: the tile is still the same, and known by the new version too from now on.
    #expect(found(own: 1, enclosing: 11) == Self.version(1))
    #expect(found(own: nil, enclosing: 11) == Self.version(1))
    #expect(found(own: nil, enclosing: 10) == nil)
  }

  @Test func compressedTileIsMarkedAsSuch() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)

    cache.insert(Self.response(coding: "gzip"), of: tile, Self.version(1), enclosing: Self.version(1))

    #expect(cache.response(of: tile, Self.versions(1), (.gzip, true))?.response.headers["content-encoding"] == ["gzip"])
    #expect(cache.response(of: tile, Self.versions(1), (.identity, false)) == nil)
  }

  @Test func shortTileIsSentUncompressedUnlessGzipIsRequired() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)

    cache.insert(Self.response(500), of: tile, Self.version(1), enclosing: Self.version(1))

    #expect(cache.response(of: tile, Self.versions(1), (.gzip, false))?.response.headers["content-encoding"] == [])
    #expect(cache.response(of: tile, Self.versions(1), (.gzip, true)) == nil)
  }

  @Test func laterVersionReplacesTheFormer() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)

    cache.insert(Self.response(), of: tile, Self.version(1), enclosing: Self.version(1))
    cache.insert(Self.response(10), of: tile, Self.version(2), enclosing: Self.version(2))

    #expect(cache.response(of: tile, Self.versions(1), (.identity, false)) == nil)
    #expect(cache.response(of: tile, Self.versions(2), (.identity, false))?.response.byteCount == 10)
    #expect(cache.byteCount < 1_000)
  }

  @Test(arguments: [1_000, 10_000, 24_000])
  func cacheKeepsTheTilesLastUsedWithinItsLimit(length: Int) throws {
    let limit = 200_000
    let cache = TileCache(byteLimit: limit)
    let first = try Self.tile(0)
    cache.insert(Self.response(length), of: first, Self.version(0), enclosing: Self.version(0))

    for column in 1..<1_000 {
      cache.insert(Self.response(length), of: try Self.tile(column), Self.version(0), enclosing: Self.version(0))
      #expect(cache.response(of: first, Self.versions(0), (.identity, false)) != nil, "\(column)")
      #expect(cache.byteCount <= limit)
    }

    #expect(cache.response(of: try Self.tile(999), Self.versions(0), (.identity, false)) != nil)
    #expect(cache.response(of: try Self.tile(500), Self.versions(0), (.identity, false)) == nil)
  }

  @Test func tileThatIsTooLargeIsNotKept() throws {
    let cache = TileCache(byteLimit: 4_000)

    cache.insert(Self.response(), of: try Self.tile(1), Self.version(0), enclosing: Self.version(0))

    #expect(cache.byteCount == 0)
    #expect(!TileCache(byteLimit: 0).isOn)
  }
}

extension HTTPResponse {
  fileprivate var byteCount: Int? {
    guard case .bytes(let bytes) = body else { return nil }
    return bytes.readableBytes
  }
}
