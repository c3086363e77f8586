import CZlib
import Foundation

/// The outline of a PBF file: its header and the positions of its blobs.
struct PBFFile {
  private static let features = ["OsmSchema-V0.6", "DenseNodes"]

  let file: FileReader
  private(set) var entries: [BlockEntry] = []
  private(set) var replicationSequence: Int64?
  private(set) var replicationTimestamp: Int64?

  /// Reads the header and the lengths of all blobs.
  ///
  /// - Throws: ``OSMError`` if the file is truncated, is not PBF, or requires a feature that is not supported.
  init(_ file: FileReader) throws(OSMError) {
    self.file = file
    guard file.count > 0 else { throw .malformed(offset: 0, "the file is empty") }
    var offset = 0
    while offset < file.count {
      let isFirst = offset == 0
      let (type, entry) = try PBFFile.blob(in: file, at: offset)
      switch (isFirst, type) {
      case (true, "OSMHeader"):
        try readHeader(Blob.decoded(try file.read(entry.count, at: entry.offset, label: offset)))
      case (false, "OSMData"): entries.append(entry)
      default:
        throw .malformed(
          offset: offset, "the blob has the type '\(type.prefix(40))', expected \(isFirst ? "OSMHeader" : "OSMData")")
      }
      offset = entry.offset + entry.count
    }
  }

  private static func blob(in file: FileReader, at offset: Int) throws(OSMError) -> (type: String, BlockEntry) {
    let prefix = try file.read(4, at: offset, label: offset)
    let length = withExtendedLifetime(prefix) { prefix.bytes.reduce(0) { $0 << 8 | Int($1) } }
    guard length <= Blob.maximumHeaderBytes else {
      guard offset > 0 else { throw .malformed(offset: 0, "the file does not begin with a PBF blob header") }
      throw .tooLarge("the blob header", bytes: length, limit: Blob.maximumHeaderBytes, offset: offset)
    }
    let header = try file.read(length, at: offset + 4, label: offset)
    // The reader does not keep the bytes alive.
    defer { withExtendedLifetime(header) {} }
    var type = ""
    var count: UInt64?
    var reader = WireReader(header.bytes, offset: offset)
    while let tag = try reader.tag() {
      switch tag {
      case 0x0A: type = String(decoding: try reader.message().bytes, as: UTF8.self)
      case 0x18: count = try reader.varint()
      default: try reader.skip(tag)
      }
    }
    guard let count else { throw reader.malformed("a blob header has no size") }
    guard count <= UInt64(Blob.maximumBytes) else {
      throw .tooLarge("the blob", bytes: Int(clamping: count), limit: Blob.maximumBytes, offset: offset)
    }
    let start = offset + 4 + length
    guard Int(count) <= file.count - start else { throw .truncated(offset: offset) }
    return (type, BlockEntry(offset: start, count: Int(count), kinds: .all, action: nil, label: offset))
  }

  private mutating func readHeader(_ block: RawBlock) throws(OSMError) {
    defer { withExtendedLifetime(block) {} }
    var reader = WireReader(block.bytes, offset: 0)
    while let tag = try reader.tag() {
      switch tag {
      case 4 << 3 | 2:
        let feature = String(decoding: try reader.message().bytes, as: UTF8.self)
        guard PBFFile.features.contains(feature) else { throw .unsupportedFeature(String(feature.prefix(80))) }
      case 32 << 3: replicationTimestamp = Int64(bitPattern: try reader.varint())
      case 33 << 3: replicationSequence = Int64(bitPattern: try reader.varint())
      default: try reader.skip(tag)
      }
    }
  }
}

/// The bytes of a decompressed block. ``bytes`` are valid as long as the block is.
final class RawBlock: @unchecked Sendable {
  // Nothing writes to the bytes after the initializer's closure has returned, so threads may share them.
  private let storage: UnsafeMutableBufferPointer<UInt8>

  /// The position of the blob in the file, for errors.
  let offset: Int

  init(count: Int, offset: Int, _ fill: (UnsafeMutableBufferPointer<UInt8>) throws(OSMError) -> Void) throws(OSMError) {
    storage = .allocate(capacity: count)
    self.offset = offset
    try fill(storage)
  }

  deinit { storage.deallocate() }

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(storage) }
}

/// A blob of a PBF file.
enum Blob {
  /// The maximum bytes of a blob's header.
  static let maximumHeaderBytes = 64 << 10

  /// The maximum bytes of a blob, compressed and not.
  static let maximumBytes = 32 << 20

  /// The maximum ratio of the lengths of a block and its blob, beyond ``freeBytes``. Extracts have up to 10.
  static let maximumRatio = 100

  /// The number of bytes that a block may have whatever the length of its blob.
  static let freeBytes = 4 << 20

  private static let compressions: [UInt64: String] = [0x22: "LZMA", 0x2A: "BZIP2", 0x32: "LZ4", 0x3A: "ZSTD"]

  /// Decompresses a blob.
  ///
  /// - Throws: ``OSMError`` if the blob is malformed, too large or compressed with anything but zlib.
  static func decoded(_ blob: RawBlock) throws(OSMError) -> RawBlock {
    // The readers do not keep the bytes alive.
    defer { withExtendedLifetime(blob) {} }
    var reader = WireReader(blob.bytes, offset: blob.offset)
    var rawSize: UInt64?
    var raw: WireReader?
    var compressed: WireReader?
    while let tag = try reader.tag() {
      switch tag {
      case 0x0A: raw = try reader.message()
      case 0x10: rawSize = try reader.varint()
      case 0x1A: compressed = try reader.message()
      default:
        if let name = compressions[tag] { throw .unsupportedCompression(name, offset: blob.offset) }
        try reader.skip(tag)
      }
    }
    if let raw {
      return try RawBlock(count: raw.bytes.count, offset: blob.offset) { bytes throws(OSMError) in
        _ = bytes.update(fromContentsOf: raw.bytes)
      }
    }
    guard let compressed, let rawSize else { throw reader.malformed("a blob has no data or no size") }
    guard rawSize <= UInt64(maximumBytes) else {
      throw .tooLarge(
        "the decompressed blob", bytes: Int(clamping: rawSize), limit: maximumBytes, offset: blob.offset)
    }
    let limit = max(freeBytes, maximumRatio * compressed.bytes.count)
    guard rawSize <= UInt64(limit) else {
      throw .tooLarge("the decompressed blob", bytes: Int(rawSize), limit: limit, offset: blob.offset)
    }
    return try RawBlock(count: Int(rawSize), offset: blob.offset) { bytes throws(OSMError) in
      var written = uLong(bytes.count)
      let code = uncompress(bytes.baseAddress, &written, compressed.bytes.baseAddress, uLong(compressed.bytes.count))
      guard code == Z_OK, written == uLong(bytes.count) else {
        throw .malformed(offset: blob.offset, "the zlib data of a blob are invalid or of another length than stated")
      }
    }
  }
}

/// A set of kinds of objects.
struct ObjectKinds: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  static let nodes = ObjectKinds(rawValue: 1)
  static let ways = ObjectKinds(rawValue: 2)
  static let relations = ObjectKinds(rawValue: 4)
  static let all: ObjectKinds = [.nodes, .ways, .relations]

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ kind: OSMKind) {
    self =
      switch kind {
      case .node: .nodes
      case .way: .ways
      case .relation: .relations
      }
  }
}

/// A block of objects in a file.
struct BlockEntry: Sendable {
  let offset: Int
  let count: Int

  /// The kinds of objects that the block contains, or may contain.
  var kinds: ObjectKinds

  /// The action of a change file for all objects of the block; nil in other files.
  var action: OSMChange.Action?

  /// The position in the user's file, for errors.
  var label: Int
}

/// A file of blocks: a PBF file, or the temporary file that XML is written to.
struct BlockSource: Sendable {
  enum Storage: Sendable {
    case pbf(FileReader)
    case temporary(TemporaryFile)
  }

  let storage: Storage
  var entries: [BlockEntry] = []

  /// Reads and decompresses a block.
  func block(_ entry: BlockEntry) throws(OSMError) -> PrimitiveBlock {
    switch storage {
    case .pbf(let file):
      let blob = try file.read(entry.count, at: entry.offset, label: entry.label)
      return try PrimitiveBlock(try Blob.decoded(blob))
    case .temporary(let file):
      return try PrimitiveBlock(
        try file.read(entry.count, at: entry.offset, label: entry.label), idsWrapAround: true)
    }
  }
}

/// A file that several threads read at positions of their own.
final class FileReader: Sendable {
  let descriptor: Int32

  /// The length at the time of opening.
  let count: Int

  /// Opens a file.
  ///
  /// - Throws: ``OSMError/unreadable(_:)`` if the file can't be opened or is not a regular file.
  init(path: String) throws(OSMError) {
    // A pipe would otherwise be waited for.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .unreadable(FileReader.lastError) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw .unreadable("it is not a regular file")
    }
    count = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads bytes at a position. They must all be there. The label is the position for errors.
  func read(_ count: Int, at offset: Int, label: Int) throws(OSMError) -> RawBlock {
    guard count <= self.count - offset else { throw .truncated(offset: label) }
    return try RawBlock(count: count, offset: label) { bytes throws(OSMError) in
      guard try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset) == count else {
        throw .truncated(offset: label)
      }
    }
  }

  /// Reads as many bytes at a position as there are, and returns their number.
  func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(OSMError) -> Int {
    var done = 0
    while done < bytes.count {
      let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .unreadable(FileReader.lastError)
      }
      done += count
    }
    return done
  }

  static var lastError: String { String(cString: strerror(errno)) }
}

/// A file without a name, which ends with its last use.
final class TemporaryFile: Sendable {
  let descriptor: Int32

  /// Creates a file in a folder.
  ///
  /// - Throws: ``OSMError/outOfSpace(_:)`` if the folder can't be written to.
  init(folder: String?) throws(OSMError) {
    let folder = folder ?? FileManager.default.temporaryDirectory.path
    var template = Array("\(folder)/openstreetmap-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw .outOfSpace("\(folder): \(FileReader.lastError)") }
    unlink(template)
  }

  deinit { close(descriptor) }

  /// Writes bytes at a position.
  func write(_ bytes: [UInt8], at offset: Int) throws(OSMError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .outOfSpace("the temporary file can't be written: \(FileReader.lastError)") }
      done += count
    }
  }

  /// Reads bytes that have been written.
  func read(_ count: Int, at offset: Int, label: Int) throws(OSMError) -> RawBlock {
    try RawBlock(count: count, offset: label) { bytes throws(OSMError) in
      var done = 0
      while done < count {
        let read = pread(descriptor, bytes.baseAddress.map { $0 + done }, count - done, off_t(offset + done))
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { throw .unreadable("the temporary file: \(FileReader.lastError)") }
        done += read
      }
    }
  }
}
