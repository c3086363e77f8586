import Geo
import HTTPServer
import NIOCore
import NIOHTTP1
import Points
import Synchronization
import VectorTiles

/// Drawn tiles of all places, each with the version of the places that it was drawn of.
///
/// A tile is returned only for the version that it has, which the caller takes from the places of the moment: it is
/// never stale. The cache keeps the tiles that were last used in two generations: when another tile would give the young
/// one more than half of the bytes, the old one is dropped and the young one becomes old.
final class TileCache: Sendable {
  private struct Key: Hashable {
    let tile: TileAddress
    let coding: ContentCoding
  }

  private struct Entry {
    let version: ContentVersion
    let body: ByteBuffer

    /// The estimated number of bytes that an entry takes beside its body.
    static let ownBytes = 256

    var byteCount: Int { body.storageCapacity + Self.ownBytes }
  }

  private struct Generations {
    var young: [Key: Entry] = [:]
    var old: [Key: Entry] = [:]
    var youngBytes = 0

    mutating func insert(_ entry: Entry, for key: Key, generationLimit: Int) {
      if let former = young.removeValue(forKey: key) { youngBytes -= former.byteCount }
      if youngBytes + entry.byteCount > generationLimit {
        old = young
        young = [:]
        youngBytes = 0
      }
      young[key] = entry
      youngBytes += entry.byteCount
    }
  }

  private let generationLimit: Int
  private let generations = Mutex(Generations())

  /// Creates a cache.
  ///
  /// - Parameter byteLimit: the maximum number of bytes; 0 for no cache.
  init(byteLimit: Int) {
    generationLimit = byteLimit / 2
  }

  /// A Boolean value that indicates whether tiles are kept at all.
  var isOn: Bool { generationLimit > 0 }

  /// The number of bytes that the tiles take.
  var byteCount: Int {
    generations.withLock { generations in
      generations.youngBytes + generations.old.values.reduce(0) { $0 + $1.byteCount }
    }
  }

  /// Returns the response with the tile of a version; `nil` where it is not kept.
  ///
  /// - Parameter coding: the coding that the client prefers, and a Boolean value that indicates whether it accepts no
  ///   other.
  func response(
    of tile: TileAddress, _ version: ContentVersion, _ coding: (coding: ContentCoding, isRequired: Bool)
  ) -> HTTPResponse? {
    if coding.coding == .gzip, let body = body(of: Key(tile: tile, coding: .gzip), version) {
      var response = HTTPResponse(contentType: VectorTile.mediaType, bytes: body)
      response.headers.add(name: "content-encoding", value: "gzip")
      return response
    }
    guard !coding.isRequired, let body = body(of: Key(tile: tile, coding: .identity), version),
      // A short tile is not compressed.
      coding.coding == .identity || body.readableBytes < ContentCoding.leastLength
    else { return nil }
    return HTTPResponse(contentType: VectorTile.mediaType, bytes: body)
  }

  private func body(of key: Key, _ version: ContentVersion) -> ByteBuffer? {
    generations.withLock { generations in
      if let entry = generations.young[key] { return entry.version == version ? entry.body : nil }
      guard let entry = generations.old[key], entry.version == version else { return nil }
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
      return entry.body
    }
  }

  /// Keeps the tile of a response; one of more than a quarter of the bytes is not kept.
  func insert(_ response: HTTPResponse, of tile: TileAddress, _ version: ContentVersion) {
    guard case .bytes(let body) = response.body else { return }
    let entry = Entry(version: version, body: body)
    guard entry.byteCount <= generationLimit / 2 else { return }
    let isCompressed = response.headers.contains(name: "content-encoding")
    let key = Key(tile: tile, coding: isCompressed ? .gzip : .identity)
    generations.withLock { generations in
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
    }
  }
}
