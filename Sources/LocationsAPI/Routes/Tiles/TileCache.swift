import Geo
import NIOCore
import Points
import Synchronization

/// Drawn tiles of all places, each with the version of the places that it was drawn of.
///
/// A tile is returned only for the version that it has, which the caller takes from the places of the moment: it is
/// never stale. The cache keeps the tiles that were last used in two generations: when the young one has half of the
/// bytes, the old one is dropped and the young one becomes old.
final class TileCache: Sendable {
  private struct Key: Hashable {
    let tile: TileAddress
    let isCompressed: Bool
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
      if let former = young.updateValue(entry, forKey: key) { youngBytes -= former.byteCount }
      youngBytes += entry.byteCount
      guard youngBytes > generationLimit else { return }
      old = young
      young = [:]
      youngBytes = 0
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

  /// Returns the encoded tile of a version; `nil` where it is not kept.
  func body(of tile: TileAddress, _ version: ContentVersion, isCompressed: Bool) -> ByteBuffer? {
    let key = Key(tile: tile, isCompressed: isCompressed)
    return generations.withLock { generations in
      if let entry = generations.young[key] { return entry.version == version ? entry.body : nil }
      guard let entry = generations.old[key], entry.version == version else { return nil }
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
      return entry.body
    }
  }

  /// Keeps an encoded tile; one of more than a quarter of the bytes is not kept.
  func insert(_ body: ByteBuffer, of tile: TileAddress, _ version: ContentVersion, isCompressed: Bool) {
    let entry = Entry(version: version, body: body)
    guard entry.byteCount <= generationLimit / 2 else { return }
    let key = Key(tile: tile, isCompressed: isCompressed)
    generations.withLock { generations in
      generations.old[key] = nil
      generations.insert(entry, for: key, generationLimit: generationLimit)
    }
  }
}
