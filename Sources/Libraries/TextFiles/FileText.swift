import Gzip

/// The text of a file in chunks, unpacked if the file is compressed with gzip or is a ZIP archive with one table.
package struct FileText {
  /// The maximum number of bytes of an unpacked chunk.
  private static let chunkBytes = 1 << 18

  private let path: String
  private let archives: ZipArchiveReader?
  private var chunks: FileChunks.AsyncIterator
  private var decoder: GzipDecoder?
  private var packed: ArraySlice<UInt8> = []
  private var entry: ZipArchiveReader.Entry?
  private var checksum = CRC32()
  private var unpackedBytes = 0

  /// The number of bytes of the file that have been read.
  package private(set) var bytesRead = 0

  /// Creates the text of a file, which is opened for the first chunk.
  ///
  /// - Parameters:
  ///   - path: the path of the file; `-` for the standard input.
  ///   - archives: the reader of ZIP archives; `nil` if they are not unpacked.
  package init(path: String, archives: ZipArchiveReader? = nil) {
    self.path = path
    self.archives = archives
    chunks = FileChunks(path: path).makeAsyncIterator()
  }

  /// The size of the file in bytes, once a chunk was read; `nil` if it has none, such as a pipe.
  package var byteCount: Int? {
    get async { await chunks.byteCount }
  }

  /// Returns the next chunk; `nil` at the file's end.
  ///
  /// - Throws: ``FileError`` if the file can't be read, `GzipError` if it can't be unpacked.
  package mutating func next() async throws -> [UInt8]? {
    guard let text = try await nextText() else {
      if let entry, checksum.value != entry.checksum || unpackedBytes != entry.bytes {
        throw FileError(path: path, reason: "'\(entry.name.prefix(100))' in the archive is damaged")
      }
      return nil
    }
    if entry != nil {
      text.withUnsafeBytes { checksum.add($0) }
      unpackedBytes += text.count
    }
    return text
  }

  private mutating func nextText() async throws -> [UInt8]? {
    while true {
      if let decoder {
        let (taken, text) = try packed.withUnsafeBytes { bytes throws(GzipError) in
          try decoder.decode(bytes, atMost: Self.chunkBytes)
        }
        packed = packed.dropFirst(taken)
        if !text.isEmpty { return text }
      }
      guard let chunk = try await chunks.next() else {
        try decoder?.finish()
        return nil
      }
      if bytesRead == 0, entry == nil {
        if chunk.starts(with: [0x1F, 0x8B]) {
          decoder = try GzipDecoder()
        } else if let table = try archives?.table(at: path, beginningWith: chunk) {
          entry = table.entry
          if table.entry.method == 8 { decoder = try GzipDecoder(isRaw: true) }
          chunks = FileChunks(path: path, range: table.bytes).makeAsyncIterator()
          continue
        }
      }
      bytesRead += chunk.count
      guard decoder != nil else { return chunk }
      packed += chunk
    }
  }
}
