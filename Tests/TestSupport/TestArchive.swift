import Gzip

/// A ZIP archive whose files a test determines.
package enum TestArchive {
  /// A file in an archive, with the values of its header.
  package struct Entry {
    package var name: String
    package var text: [UInt8]
    package var packed: [UInt8]?
    package var flags: UInt16
    package var method: UInt16
    package var size: UInt32?

    package init(name: String, text: [UInt8], packed: [UInt8]? = nil, method: UInt16 = 0) {
      self.name = name
      self.text = text
      self.packed = packed
      flags = 0
      self.method = method
    }
  }

  /// Returns the deflate stream of a text: a gzip without its header of 10 bytes and its trailer of 8.
  package static func deflated(_ text: [UInt8]) throws -> [UInt8] {
    var gzip: [UInt8] = []
    let encoder = try GzipEncoder()
    text.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    return Array(gzip.dropFirst(10).dropLast(8))
  }

  /// Returns the bytes of an archive.
  package static func bytes(of entries: [Entry]) -> [UInt8] {
    func low(_ value: UInt32, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var bytes: [UInt8] = []
    var directory: [UInt8] = []
    for entry in entries {
      var checksum = CRC32()
      entry.text.withUnsafeBytes { checksum.add($0) }
      let packed = entry.packed ?? entry.text
      let shared =
        low(UInt32(entry.flags), 2) + low(UInt32(entry.method), 2) + low(0, 4) + low(checksum.value, 4)
        + low(UInt32(packed.count), 4) + low(entry.size ?? UInt32(entry.text.count), 4)
        + low(UInt32(entry.name.utf8.count), 2) + low(0, 2)
      let offset = UInt32(bytes.count)
      bytes += [0x50, 0x4B, 3, 4, 20, 0] + shared + entry.name.utf8 + packed
      directory += [0x50, 0x4B, 1, 2, 20, 0, 20, 0] + shared + low(0, 2) + low(0, 2) + low(0, 2) + low(0, 4)
      directory += low(offset, 4) + entry.name.utf8
    }
    let count = low(UInt32(entries.count), 2)
    let end = [0x50, 0x4B, 5, 6] + low(0, 4) + count + count + low(UInt32(directory.count), 4)
    return bytes + directory + end + low(UInt32(bytes.count), 4) + low(0, 2)
  }
}
