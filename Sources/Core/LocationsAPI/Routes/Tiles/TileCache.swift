import Geo
import HTTPServer
import NIOCore
import NIOHTTP1
import Points
import Synchronization
import VectorTiles

/// Drawn tiles of all places, each with the version of the places that it was drawn of.
///
/// A tile is returned only where its version, or that of the part of the map around it, is the present one, which the
/// caller takes from the places of the moment: it is never stale. The cache keeps the tiles that were last used in two
/// generations: when another tile would give the young one more than half of the bytes, the old one is dropped and the
/// young one becomes old.
final class TileCache: Sendable {
  private struct Key: Hashable {
    let tile: TileAddress
    let coding: ContentCoding
  }

  private struct Entry {
    let response: HTTPResponse
    let version: ContentVersion
    var enclosing: ContentVersion
    let byteCount: Int

    /// The estimated number of bytes that an entry takes beside its body.
    static let ownBytes = 768

    init(_ response: HTTPResponse, bodyBytes: Int, _ version: ContentVersion, enclosing: ContentVersion) {
      self.response = response
      self.version = version
      self.enclosing = enclosing
      byteCount = bodyBytes + Self.ownBytes
    }

    var versions: TileVersions { TileVersions(own: version, enclosing: enclosing) }
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

  /// Returns the response with the tile of a version, and that version; `nil` if it is not kept.
  ///
  /// - Parameters:
  ///   - versions: the versions of the tile at the moment.
  ///   - coding: the coding that the client prefers, and a Boolean value that indicates whether it accepts no other.
  func response(
    of tile: TileAddress, _ versions: TileVersions, _ coding: (coding: ContentCoding, isRequired: Bool)
  ) -> (response: HTTPResponse, version: ContentVersion)? {
    if coding.coding == .gzip, let entry = entry(of: Key(tile: tile, coding: .gzip), versions) {
      return (entry.response, entry.version)
    }
    guard !coding.isRequired, let entry = entry(of: Key(tile: tile, coding: .identity), versions),
      // A short tile is not compressed.
      coding.coding == .identity || entry.response.body.length ?? 0 < ContentCoding.leastLength
    else { return nil }
    return (entry.response, entry.version)
  }

  private func entry(of key: Key, _ versions: TileVersions) -> Entry? {
    generations.withLock { generations in
      let young = generations.young[key]
      guard var entry = young ?? generations.old[key], entry.versions.haveSamePlaces(as: versions) else { return nil }
      guard young == nil || entry.enclosing != versions.enclosing else { return entry }
      entry.enclosing = versions.enclosing
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
      return entry
    }
  }

  /// Keeps the response with a tile; one of more than a quarter of the bytes is not kept.
  ///
  /// - Parameters:
  ///   - version: the version of the places of the tile.
  ///   - enclosing: that of the places of a part of the map that contains it, at the same moment.
  func insert(
    _ response: HTTPResponse, of tile: TileAddress, _ version: ContentVersion, enclosing: ContentVersion
  ) {
    guard case .bytes(let body) = response.body else { return }
    let entry = Entry(response, bodyBytes: body.storageCapacity, version, enclosing: enclosing)
    guard entry.byteCount <= generationLimit / 2 else { return }
    let isCompressed = response.headers.contains(name: "content-encoding")
    let key = Key(tile: tile, coding: isCompressed ? .gzip : .identity)
    generations.withLock { generations in
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
    }
  }
}
