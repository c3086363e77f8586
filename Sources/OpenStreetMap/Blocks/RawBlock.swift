import CZlib

/// The bytes of a decompressed block. ``bytes`` are valid as long as the block is.
final class RawBlock: @unchecked Sendable {
  // Nothing writes to the bytes after the initializer's closure has returned, so threads may share them.
  private let storage: UnsafeMutableBufferPointer<UInt8>

  /// The position of the blob in the file, for errors.
  let offset: Int

  /// Creates a block of so many bytes.
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
