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
/// One chunk is read at a time, when it is asked for. A read that waits (for a pipe, say) is not broken off when its
/// task is cancelled.
public struct FileChunks: AsyncSequence, Sendable {
  /// A part of the file, never empty.
  public typealias Element = [UInt8]

  /// The path that means the standard input.
  public static let standardInputPath = "-"

  private let path: String
  private let chunkSize: Int

  /// Creates the chunks of a file, which is opened when the first is asked for.
  ///
  /// - Parameters:
  ///   - path: where the file is; `-` for the standard input.
  ///   - chunkSize: how many bytes a chunk has at most.
  public init(path: String, chunkSize: Int = 1 << 18) {
    self.path = path
    self.chunkSize = chunkSize
  }

  /// Starts at the file's beginning.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(reader: FileReader(path: path, chunkSize: chunkSize))
  }

  /// Reads chunk after chunk.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let reader: FileReader

    fileprivate init(reader: FileReader) {
      self.reader = reader
    }

    /// The next chunk; `nil` at the file's end.
    ///
    /// - Throws: ``FileError`` when the file can't be opened or read.
    public mutating func next() async throws(FileError) -> [UInt8]? {
      try await reader.next()
    }

    /// How many bytes the file has, once a chunk was read; `nil` where that can't be told, as of a pipe.
    public var byteCount: Int? {
      get async { await reader.byteCount }
    }
  }
}

/// Why a file was not read.
public struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file's path as it was given.
  public let path: String

  /// What went wrong, for a user.
  public let reason: String

  /// Creates the error.
  public init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  /// What a user is told.
  public var description: String {
    "\(path == FileChunks.standardInputPath ? "standard input" : path): \(reason)"
  }
}

/// An open file.
///
/// Unchecked: what may change is touched on the serial queue alone, and once more in `deinit`, when nobody else is left.
private final class FileReader: @unchecked Sendable {
  private let path: String
  private let chunkSize: Int
  private let queue = DispatchQueue(label: "waymark.file-reading")
  private var descriptor: CInt?
  private var size: Int?

  init(path: String, chunkSize: Int) {
    self.path = path
    self.chunkSize = chunkSize
  }

  deinit {
    if let descriptor, descriptor != STDIN_FILENO { close(descriptor) }
  }

  func next() async throws(FileError) -> [UInt8]? {
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[UInt8], FileError>, Never>) in
      queue.async {
        continuation.resume(returning: Result { () throws(FileError) in try self.read() })
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

  private func read() throws(FileError) -> [UInt8] {
    let descriptor = try open()
    var failure: CInt = 0
    let chunk = [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
      while true {
        #if canImport(Darwin)
          let result = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
        #elseif canImport(Musl)
          let result = Musl.read(descriptor, buffer.baseAddress, buffer.count)
        #else
          let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        #endif
        if result >= 0 {
          count = result
          return
        }
        switch errno {
        case EINTR: continue
        case EAGAIN:
          // The standard input may have been made non-blocking by whoever shares it.
          var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          _ = poll(&event, 1, -1)
        default:
          failure = errno
          return
        }
      }
    }
    guard failure == 0 else { throw error(failure) }
    return chunk
  }

  private func open() throws(FileError) -> CInt {
    if let descriptor { return descriptor }
    let descriptor: CInt
    if path == FileChunks.standardInputPath {
      descriptor = STDIN_FILENO
    } else {
      #if canImport(Darwin)
        descriptor = Darwin.open(path, O_RDONLY | O_CLOEXEC)
      #elseif canImport(Musl)
        descriptor = Musl.open(path, O_RDONLY | O_CLOEXEC)
      #else
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
      #endif
      guard descriptor >= 0 else { throw error(errno) }
    }
    self.descriptor = descriptor
    var status = stat()
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG { size = Int(status.st_size) }
    return descriptor
  }

  private func error(_ number: CInt) -> FileError {
    FileError(path: path, reason: String(cString: strerror(number)))
  }
}
