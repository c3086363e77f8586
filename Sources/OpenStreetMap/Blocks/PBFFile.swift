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
