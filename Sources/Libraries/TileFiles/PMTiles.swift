import Foundation
import Geo
import Gzip
import JSONText
import Synchronization

/// Tiles in one file with directories (PMTiles 3).
final class PMTiles: TileFile.Reader {
  /// The compressions of the format.
  private enum Compression: UInt8 {
    case none = 1
    case gzip = 2
  }

  private struct Section {
    let offset: UInt64
    let length: UInt64
  }

  /// An entry of a directory.
  private struct Entry {
    var tile: UInt64
    /// The number of tiles from `tile` on that have these bytes; 0 for a directory.
    var runLength: UInt64
    var offset: UInt64
    var length: UInt64
  }

  private static let headerLength = 127

  /// The maximum number of bytes of a directory and of the metadata, decompressed.
  private static let maximumDirectoryBytes = 16 << 20

  /// The maximum number of directories on the way to a tile.
  private static let maximumDepth = 4

  /// The number of directories that are kept.
  private static let keptDirectories = 32

  /// The number of the format's first type of images; 1 are vector tiles.
  private static let rasterTypes: ClosedRange<UInt8> = 2...4

  private let file: FileHandle
  private let fileLength: UInt64
  private let leaves: Section
  private let tiles: Section
  private let internalCompression: Compression
  private let tileCompression: Compression
  private let root: [Entry]
  private let kept = Mutex<[UInt64: [Entry]]>([:])
  let properties: TileFile.Properties

  private init(
    _ file: FileHandle, length: UInt64, leaves: Section, tiles: Section, _ compressions: (Compression, Compression),
    root: [Entry], _ properties: TileFile.Properties
  ) {
    self.file = file
    fileLength = length
    self.leaves = leaves
    self.tiles = tiles
    (internalCompression, tileCompression) = compressions
    self.root = root
    self.properties = properties
  }

  static func open(path: String) throws(TileFileError) -> PMTiles {
    guard let file = FileHandle(forReadingAtPath: path), let length = try? file.seekToEnd() else {
      throw TileFileError("can't be read")
    }
    let header = try read(Section(offset: 0, length: UInt64(headerLength)), of: file, length)
    guard header[7] == 3 else { throw TileFileError("is PMTiles of version \(header[7]), and must be of version 3") }
    func section(_ start: Int) -> Section {
      Section(offset: number(header, start), length: number(header, start + 8))
    }
    guard let compression = Compression(rawValue: header[97]), let tileCompression = Compression(rawValue: header[98])
    else { throw TileFileError("has a compression other than gzip") }
    guard rasterTypes.contains(header[99]) else {
      throw TileFileError(
        header[99] == 1 ? "has vector tiles, and must have raster tiles" : "has tiles other than PNG, JPEG and WebP")
    }
    let (least, greatest) = (Int(header[100]), Int(header[101]))
    guard least <= greatest, TileAddress.zooms.contains(least) else {
      throw TileFileError("has no tiles of zoom levels from 0 to 22")
    }
    var properties = TileFile.Properties()
    properties.zooms = least...min(greatest, TileAddress.zooms.upperBound)
    func degrees(_ start: Int) -> Double {
      Double(Int32(truncatingIfNeeded: number(header, start, bytes: 4))) / 1e7
    }
    properties.bounds = try? BoundingBox(
      west: degrees(102), south: degrees(106), east: degrees(110), north: degrees(114))
    let metadata = try decompressed(read(section(24), of: file, length), compression, atMost: maximumDirectoryBytes)
    if case .string(let attribution)? = (try? JSONReader.value(of: Data(metadata)))?["attribution"] {
      properties.attribution = attribution
    }
    let root = try directory(
      decompressed(read(section(8), of: file, length), compression, atMost: maximumDirectoryBytes))
    return PMTiles(
      file, length: length, leaves: section(40), tiles: section(56), (compression, tileCompression), root: root,
      properties)
  }

  func bytes(of tile: TileAddress) throws(TileFileError) -> [UInt8]? {
    let number = Self.number(of: tile)
    var directory = root
    for _ in 0..<Self.maximumDepth {
      guard let entry = Self.entry(of: number, in: directory) else { return nil }
      if entry.runLength > 0 {
        guard entry.length <= UInt64(TileFile.maximumTileBytes) else { throw TileFileError("has a tile of over 4 MiB") }
        let bytes = try Self.read(try within(tiles, entry), of: file, fileLength)
        return try Self.decompressed(bytes, tileCompression, atMost: TileFile.maximumTileBytes)
      }
      directory = try self.directory(at: entry)
    }
    throw TileFileError("has directories within directories")
  }

  private func within(_ section: Section, _ entry: Entry) throws(TileFileError) -> Section {
    let (end, isOver) = entry.offset.addingReportingOverflow(entry.length)
    let (offset, isFar) = section.offset.addingReportingOverflow(entry.offset)
    guard !isOver, !isFar, end <= section.length else { throw TileFileError("is damaged: an entry is out of range") }
    return Section(offset: offset, length: entry.length)
  }

  private func directory(at entry: Entry) throws(TileFileError) -> [Entry] {
    if let directory = kept.withLock({ $0[entry.offset] }) { return directory }
    let bytes = try Self.read(try within(leaves, entry), of: file, fileLength)
    let directory = try Self.directory(
      Self.decompressed(bytes, internalCompression, atMost: Self.maximumDirectoryBytes))
    kept.withLock { kept in
      if kept.count >= Self.keptDirectories { kept.removeAll(keepingCapacity: true) }
      kept[entry.offset] = directory
    }
    return directory
  }

  /// Returns the last entry that does not begin after a tile, if it has the tile or is a directory.
  private static func entry(of tile: UInt64, in directory: [Entry]) -> Entry? {
    var (low, high) = (0, directory.count)
    while low < high {
      let middle = (low + high) / 2
      if directory[middle].tile <= tile { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let entry = directory[low - 1]
    return entry.runLength == 0 || tile - entry.tile < entry.runLength ? entry : nil
  }

  /// Returns the number of a tile: levels follow one another, and in a level the tiles along Hilbert's curve.
  static func number(of tile: TileAddress) -> UInt64 {
    var number: UInt64 = 0
    for zoom in 0..<tile.zoom { number += 1 << UInt64(2 * zoom) }
    var (x, y) = (tile.x, tile.y)
    for level in (0..<tile.zoom).reversed() {
      let side = 1 << level
      let (isEast, isSouth) = (x & side != 0, y & side != 0)
      let quarter: UInt64 = isEast ? (isSouth ? 2 : 3) : (isSouth ? 1 : 0)
      number += quarter << UInt64(2 * level)
      (x, y) = (x & (side - 1), y & (side - 1))
      if !isSouth {
        if isEast { (x, y) = (side - 1 - x, side - 1 - y) }
        swap(&x, &y)
      }
    }
    return number
  }

  // MARK: Reading

  private static func number(_ bytes: [UInt8], _ start: Int, bytes count: Int = 8) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
  }

  private static func directory(_ bytes: [UInt8]) throws(TileFileError) -> [Entry] {
    var position = 0
    func number() throws(TileFileError) -> UInt64 {
      var (value, shift): (UInt64, UInt64) = (0, 0)
      while position < bytes.count, shift < 64 {
        let byte = bytes[position]
        position += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
      throw TileFileError("is damaged: a directory ends too soon")
    }
    let count = try number()
    // Each entry has at least a byte for each of its numbers.
    guard count <= UInt64(bytes.count / 4) else { throw TileFileError("is damaged: a directory ends too soon") }
    var entries: [Entry] = []
    entries.reserveCapacity(Int(count))
    var tile: UInt64 = 0
    for _ in 0..<count {
      tile = tile &+ (try number())
      entries.append(Entry(tile: tile, runLength: 0, offset: 0, length: 0))
    }
    for index in entries.indices { entries[index].runLength = try number() }
    for index in entries.indices { entries[index].length = try number() }
    for index in entries.indices {
      let value = try number()
      guard value > 0 || index > 0 else { throw TileFileError("is damaged: a directory has no offset") }
      entries[index].offset = value > 0 ? value - 1 : entries[index - 1].offset &+ entries[index - 1].length
    }
    return entries
  }

  private static func read(
    _ section: Section, of file: FileHandle, _ fileLength: UInt64
  ) throws(TileFileError) -> [UInt8] {
    let (end, isOver) = section.offset.addingReportingOverflow(section.length)
    guard !isOver, end <= fileLength, section.length <= UInt64(maximumDirectoryBytes) else {
      throw TileFileError("is cut off or damaged")
    }
    var read = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(section.length)) { buffer, count in
      while read < buffer.count {
        let result = pread(
          file.fileDescriptor, buffer.baseAddress! + read, buffer.count - read, off_t(section.offset) + off_t(read))
        guard result > 0 else { break }
        read += result
      }
      count = read
    }
    guard UInt64(read) == section.length else { throw TileFileError("can't be read") }
    return bytes
  }

  private static func decompressed(
    _ bytes: [UInt8], _ compression: Compression, atMost limit: Int
  ) throws(TileFileError) -> [UInt8] {
    guard compression == .gzip, !bytes.isEmpty else { return bytes }
    do {
      let decoder = try GzipDecoder()
      var output: [UInt8] = []
      var position = 0
      while output.count <= limit {
        let part = try bytes[position...].withUnsafeBytes { try decoder.decode($0, atMost: 1 << 16) }
        position += part.taken
        output += part.output
        if part.output.count < 1 << 16 { break }
      }
      try decoder.finish()
      if output.count <= limit { return output }
    } catch {
      throw TileFileError("is damaged: \(error)")
    }
    throw TileFileError("has a part of over \(limit >> 20) MiB")
  }
}
