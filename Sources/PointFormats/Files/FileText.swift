import Gzip

/// The text of a file in chunks, unpacked where the file is compressed with gzip.
struct FileText {
  /// The maximum number of bytes of an unpacked chunk.
  private static let chunkBytes = 1 << 18

  private var chunks: FileChunks.AsyncIterator
  private var decoder: GzipDecoder?
  private var packed: ArraySlice<UInt8> = []

  /// The number of bytes of the file that have been read.
  private(set) var bytesRead = 0

  /// Creates the text of a file, which is opened for the first chunk.
  init(path: String) {
    chunks = FileChunks(path: path).makeAsyncIterator()
  }

  /// The size of the file in bytes, once a chunk was read; `nil` where it has none, such as a pipe.
  var byteCount: Int? {
    get async { await chunks.byteCount }
  }

  /// Returns the next chunk; `nil` at the file's end.
  ///
  /// - Throws: ``FileError`` when the file can't be read, `GzipError` when it can't be unpacked.
  mutating func next() async throws -> [UInt8]? {
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
      if bytesRead == 0, chunk.starts(with: [0x1F, 0x8B]) { decoder = try GzipDecoder() }
      bytesRead += chunk.count
      guard decoder != nil else { return chunk }
      packed += chunk
    }
  }
}
