import Geo
import NIOCore
import Points
import Testing

@testable import LocationsAPI

@Suite struct TileCacheTests {
  private static func tile(_ column: Int) throws -> TileAddress {
    try #require(TileAddress(zoom: 10, x: column, y: 3))
  }

  private static func version(_ number: UInt64) -> ContentVersion { ContentVersion(count: 1, high: number, low: 0) }

  private static let body = ByteBuffer(repeating: 7, count: 1_000)

  @Test func tileIsReturnedOnlyForItsVersionAndCoding() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)

    cache.insert(Self.body, of: tile, Self.version(1), isCompressed: false)

    #expect(cache.body(of: tile, Self.version(1), isCompressed: false) == Self.body)
    #expect(cache.body(of: tile, Self.version(2), isCompressed: false) == nil)
    #expect(cache.body(of: tile, Self.version(1), isCompressed: true) == nil)
    #expect(cache.body(of: try Self.tile(2), Self.version(1), isCompressed: false) == nil)
  }

  @Test func laterVersionReplacesTheFormer() throws {
    let cache = TileCache(byteLimit: 1 << 20)
    let tile = try Self.tile(1)
    let later = ByteBuffer(repeating: 8, count: 10)

    cache.insert(Self.body, of: tile, Self.version(1), isCompressed: false)
    cache.insert(later, of: tile, Self.version(2), isCompressed: false)

    #expect(cache.body(of: tile, Self.version(1), isCompressed: false) == nil)
    #expect(cache.body(of: tile, Self.version(2), isCompressed: false) == later)
    #expect(cache.byteCount < 1_000)
  }

  @Test func cacheKeepsTheTilesLastUsedWithinItsLimit() throws {
    let limit = 100_000
    let cache = TileCache(byteLimit: limit)
    let first = try Self.tile(0)
    cache.insert(Self.body, of: first, Self.version(0), isCompressed: false)

    for column in 1..<1_000 {
      cache.insert(Self.body, of: try Self.tile(column), Self.version(0), isCompressed: false)
      #expect(cache.body(of: first, Self.version(0), isCompressed: false) != nil, "\(column)")
      #expect(cache.byteCount <= limit)
    }

    #expect(cache.body(of: try Self.tile(999), Self.version(0), isCompressed: false) != nil)
    #expect(cache.body(of: try Self.tile(500), Self.version(0), isCompressed: false) == nil)
  }

  @Test func tileThatIsTooLargeIsNotKept() throws {
    let cache = TileCache(byteLimit: 4_000)

    cache.insert(Self.body, of: try Self.tile(1), Self.version(0), isCompressed: false)

    #expect(cache.byteCount == 0)
    #expect(!TileCache(byteLimit: 0).isOn)
  }
}
