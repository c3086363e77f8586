import CZlib

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A reason why files of an index can't be used or written.
package struct IndexFileError: Error, Hashable, CustomStringConvertible {
  package let description: String

  /// The code of the call of the system that failed; `nil` if none did.
  let code: CInt?

  init(_ description: String) {
    self.description = description
    code = nil
  }

  /// Creates the error of the last call of the system.
  init(call: String) {
    let code = errno
    description = "\(call): \(String(cString: strerror(code)))"
    self.code = code
  }
}

/// A descriptor of an open file, which is closed with the last reference.
final class OpenFile: Sendable {
  let descriptor: CInt

  /// Opens a file.
  init(_ path: String, _ flags: CInt) throws(IndexFileError) {
    descriptor = open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw IndexFileError(call: "open \(path)") }
  }

  deinit { close(descriptor) }

  /// Returns the size in bytes.
  func size() throws(IndexFileError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw IndexFileError(call: "fstat") }
    return Int(status.st_size)
  }

  /// Writes bytes at an offset.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(IndexFileError) {
    var written = 0
    while written < bytes.count {
      let count = pwrite(
        descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written, off_t(offset + written))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw IndexFileError(call: "write") }
      written += count
    }
  }

  /// Reads bytes from an offset on.
  ///
  /// - Returns: the number of bytes, less than the size of the buffer only at the end of the file.
  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(IndexFileError) -> Int {
    var filled = 0
    while filled < bytes.count {
      let count = pread(
        descriptor, bytes.baseAddress.map { $0 + filled }, bytes.count - filled, off_t(offset + filled))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw IndexFileError(call: "read") }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// Returns when everything that was written is on disk.
  func synchronize() throws(IndexFileError) {
    guard fsync(descriptor) == 0 else { throw IndexFileError(call: "fsync") }
  }
}

/// A file that is mapped read-only into memory, until the last reference ends.
///
/// A file that is made shorter meanwhile ends the process with SIGBUS when the missing part is read. Replacing or
/// removing it is harmless: the mapping keeps the file that was opened.
final class MappedFile: @unchecked Sendable {
  // Sendable: the memory is never written.

  let start: UnsafeRawPointer
  let count: Int

  /// Maps an open file of at least one byte.
  init(_ file: OpenFile, count: Int) throws(IndexFileError) {
    guard let memory = mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor, 0), memory != MAP_FAILED else {
      throw IndexFileError(call: "mmap")
    }
    start = UnsafeRawPointer(memory)
    self.count = count
  }

  deinit { munmap(UnsafeMutableRawPointer(mutating: start), count) }

  /// Advises the system that a range will be read soon, or at random places.
  func advise(_ range: Range<Int>, _ advice: CInt) {
    let pageSize = 4096
    let first = range.lowerBound / pageSize * pageSize
    _ = madvise(UnsafeMutableRawPointer(mutating: start + first), range.upperBound - first, advice)
  }
}

/// Checksums of blocks of bytes, so that reading a part of a file finds damage in it.
enum Checksum {
  /// The number of bytes of a block.
  static let blockSize = 64 << 10

  /// Returns the CRC-32 of some bytes (ITU-T V.42).
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_z(0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
  }
}
