import Dispatch

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
  private let queue = DispatchQueue(label: "text-files.reading")
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
