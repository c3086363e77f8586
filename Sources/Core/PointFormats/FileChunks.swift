import Dispatch
import Gzip

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file's bytes in chunks, read on a thread of its own queue and never on the pool that tasks share.
///
/// One chunk is read at a time, on demand. Cancelling the task does not interrupt a read that waits, such as one from a
/// pipe.
package struct FileChunks: AsyncSequence, Sendable {
  /// A part of the file, never empty.
  package typealias Element = [UInt8]

  /// The path that means the standard input.
  package static let standardInputPath = "-"

  private let path: String
  private let chunkSize: Int
  private let range: Range<Int>?

  /// Creates the chunks of a file, which is opened for the first of them.
  ///
  /// - Parameters:
  ///   - path: the path of the file; `-` for the standard input.
  ///   - chunkSize: the maximum number of bytes of a chunk.
  ///   - range: the positions of the bytes to read, of a regular file; `nil` for all.
  package init(path: String, chunkSize: Int = 1 << 18, range: Range<Int>? = nil) {
    self.path = path
    self.chunkSize = chunkSize
    self.range = range
  }

  /// Returns an iterator from the beginning of the file.
  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(reader: FileReader(path: path, chunkSize: chunkSize, range: range))
  }

  /// An iterator over the chunks of a file.
  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let reader: FileReader

    /// Returns the next chunk; `nil` at the file's end.
    ///
    /// - Throws: ``FileError`` when the file can't be opened or read.
    package mutating func next() async throws(FileError) -> [UInt8]? {
      try await reader.next()
    }

    /// The size of the file in bytes, once a chunk was read; `nil` if it has none, such as a pipe.
    package var byteCount: Int? {
      get async { await reader.byteCount }
    }
  }
}

/// The reason why a file was not read.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file's path as it was given.
  package let path: String

  /// The reason, for a user.
  package let reason: String

  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  /// The message for a user.
  package var description: String {
    "\(path == FileChunks.standardInputPath ? "standard input" : path): \(reason)"
  }
}

/// An open file.
///
/// Unchecked: the mutable properties are accessed on the serial queue alone, and in `deinit`, after the last of its
/// work.
private final class FileReader: @unchecked Sendable {
  private let path: String
  private let chunkSize: Int
  private let queue = DispatchQueue(label: "waymark.file-reading")
  private var descriptor: CInt?
  private var size: Int?

  /// The positions of the bytes that are yet to be read; `nil` for all.
  private var range: Range<Int>?

  init(path: String, chunkSize: Int, range: Range<Int>?) {
    self.path = path
    self.chunkSize = chunkSize
    self.range = range
  }

  deinit {
    if let descriptor, descriptor != STDIN_FILENO { close(descriptor) }
  }

  func next() async throws(FileError) -> [UInt8]? {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[UInt8], FileError>, Never>) in
      queue.async {
        continuation.resume(returning: Result { () throws(FileError) in try self.readChunk() })
      }
    }
    let chunk = try result.get()
    return chunk.isEmpty ? nil : chunk
  }

  var byteCount: Int? {
    get async {
      await withCheckedContinuation { continuation in
        queue.async { continuation.resume(returning: self.size) }
      }
    }
  }

  private func readChunk() throws(FileError) -> [UInt8] {
    let descriptor = try openFile()
    var failure: CInt = 0
    let limit = min(chunkSize, range?.count ?? chunkSize)
    let chunk = [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
      while true {
        let result = read(descriptor, buffer.baseAddress, limit)
        if result >= 0 {
          count = result
          return
        }
        switch errno {
        case EINTR: continue
        case EAGAIN:
          // Another process that shares the standard input may have made it non-blocking.
          var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          _ = poll(&event, 1, -1)
        default:
          failure = errno
          return
        }
      }
    }
    guard failure == 0 else { throw error(failure) }
    if let range { self.range = range.lowerBound + chunk.count..<range.upperBound }
    return chunk
  }

  private func openFile() throws(FileError) -> CInt {
    if let descriptor { return descriptor }
    let descriptor: CInt
    if path == FileChunks.standardInputPath {
      descriptor = STDIN_FILENO
    } else {
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw error(errno) }
    }
    self.descriptor = descriptor
    if let range, lseek(descriptor, off_t(range.lowerBound), SEEK_SET) < 0 { throw error(errno) }
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { size = Int(status.st_size) }
    return descriptor
  }

  private func error(_ number: CInt) -> FileError {
    FileError(path: path, reason: String(cString: strerror(number)))
  }
}

/// The text of a file in chunks, unpacked where the file is compressed with gzip or is a ZIP archive with one table.
package struct FileText {
  /// The maximum number of bytes of an unpacked chunk.
  private static let chunkBytes = 1 << 18

  private let path: String
  private var chunks: FileChunks.AsyncIterator
  private var decoder: GzipDecoder?
  private var packed: ArraySlice<UInt8> = []
  private var entry: ZipArchive.Entry?
  private var checksum = CRC32()
  private var unpackedBytes = 0

  /// The number of bytes of the file that have been read.
  package private(set) var bytesRead = 0

  /// Creates the text of a file, which is opened for the first chunk.
  package init(path: String) {
    self.path = path
    chunks = FileChunks(path: path).makeAsyncIterator()
  }

  /// The size of the file in bytes, once a chunk was read; `nil` if it has none, such as a pipe.
  var byteCount: Int? {
    get async { await chunks.byteCount }
  }

  /// Returns the next chunk; `nil` at the file's end.
  ///
  /// - Throws: ``FileError`` when the file can't be read, `GzipError` when it can't be unpacked.
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
        } else if ZipArchive.mayBegin(with: chunk), let table = try ZipArchive.table(at: path) {
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

/// The first bytes of a file, which determine how it is read, with the reading of the others.
package struct FileStart: Sendable {
  /// The format of the file's text.
  package let format: PointFormat

  /// A Boolean value that indicates whether the file is compressed with gzip.
  package let isCompressed: Bool

  /// A Boolean value that indicates whether the file is a ZIP archive with a table.
  package let isArchive: Bool

  /// The chunks that have been read.
  package private(set) var chunks: [[UInt8]]

  /// The chunks that follow.
  package private(set) var rest: FileChunks.AsyncIterator

  private let path: String

  /// Goes back to the beginning of the file.
  package mutating func rewind() {
    chunks = []
    rest = FileChunks(path: path).makeAsyncIterator()
  }

  /// Reads the first bytes of a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - format: the format of the file's text; `nil` if the text determines it.
  ///   - charset: the encoding of the file's text; `nil` if the text determines it.
  /// - Throws: ``FileError`` when the file can't be read or is not of a format of places, `GzipError` when it can't be
  ///   unpacked.
  package init(of path: String, format: PointFormat?, charset: TextCharset? = nil) async throws {
    var rest = FileChunks(path: path).makeAsyncIterator()
    var chunks: [[UInt8]] = []
    var parser = PointParser(format: format, charset: charset)
    var rows: [PointParser.Row] = []
    var decoder: GzipDecoder?
    var archive: FileText?
    do {
      while chunks.isEmpty || parser.format == nil, let chunk = try await rest.next() {
        if chunks.isEmpty, ZipArchive.mayBegin(with: chunk), try ZipArchive.table(at: path) != nil {
          archive = FileText(path: path)
          break
        }
        if chunks.isEmpty, chunk.starts(with: [0x1F, 0x8B]) { decoder = try GzipDecoder() }
        chunks.append(chunk)
        // Of a chunk that unpacks to more, the beginning is enough.
        let text = try chunk.withUnsafeBytes { bytes in try decoder?.decode(bytes, atMost: 1 << 18).output } ?? chunk
        try parser.consume(text, into: &rows)
        rows.removeAll()
      }
      while parser.format == nil, let text = try await archive?.next() { try parser.consume(text, into: &rows) }
      if parser.format == nil { try parser.finish(into: &rows) }
    } catch let error as FormatError {
      // Any other error is that of a header or a row, which is reported when the text is parsed.
      if let file = error.foreignFile { throw FileError(path: path, reason: file.explanation(path: path)) }
    }
    self.format = parser.format ?? .csv
    isCompressed = decoder != nil
    isArchive = archive != nil
    self.chunks = chunks
    self.rest = rest
    self.path = path
  }
}
