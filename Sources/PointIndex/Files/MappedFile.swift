import CVerifiedMap
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

/// The blocks of a file, mapped read-only into memory until the last reference ends.
///
/// A block is compared with its checksum before any of it can be read. One that is damaged when it is first read, or that
/// is missing because the file was made shorter, ends the process; the file is removed then, so that the next start does
/// not use it. Replacing or removing the file is harmless: the mapping keeps the one that was opened.
final class MappedFile: @unchecked Sendable {
  // Sendable: the memory is never written, and the map may be verified by several threads.

  /// The size of a block, the last one of a file excepted.
  static let blockSize = Int(waymark_map_block_size)

  /// A Boolean value that indicates whether blocks are verified when they are first read. Elsewhere ``verify(unit:)`` has to
  /// be called for all of them.
  static let verifiesWhenRead = waymark_map_protects

  let start: UnsafeRawPointer
  let count: Int

  private let map: OpaquePointer

  /// Open, so that blocks are verified.
  private let file: OpenFile

  /// Maps blocks.
  ///
  /// - Parameters:
  ///   - file: the file, open for reading.
  ///   - path: its path.
  ///   - offset: the offset of the first block, a multiple of ``blockSize``.
  ///   - count: the number of bytes, at least 1.
  ///   - checksums: the checksums of the blocks; `nil` if this process has written the file.
  init(
    _ file: OpenFile, path: String, offset: Int, count: Int, checksums: ContiguousArray<UInt32>?
  ) throws(IndexFileError) {
    let map =
      checksums.map {
        $0.withUnsafeBufferPointer { waymark_map_create(file.descriptor, path, offset, count, $0.baseAddress) }
      }
      ?? waymark_map_create(file.descriptor, path, offset, count, nil)
    guard let map, let start = waymark_map_start(map) else { throw IndexFileError(call: "mmap") }
    (self.map, self.start) = (map, start)
    self.count = count
    self.file = file
  }

  deinit { waymark_map_destroy(map) }

  /// The number of units, which are the blocks that are verified at a time.
  var unitCount: Int { waymark_map_unit_count(map) }

  /// Verifies the blocks of a unit, and has them readable.
  func verify(unit: Int) throws(IndexFileError) {
    if let reason = waymark_map_verify(map, unit) { throw IndexFileError("the file \(String(cString: reason))") }
  }

  /// Verifies the blocks that were not read yet. A damaged one ends the process.
  func verifyRest() { waymark_map_verify_rest(map) }

  /// Advises the system that a range is read at random places.
  func adviseRandomReads(_ range: Range<Int>) {
    let pageSize = Int(sysconf(CInt(_SC_PAGESIZE)))
    let first = range.lowerBound / pageSize * pageSize
    _ = madvise(UnsafeMutableRawPointer(mutating: start + first), range.upperBound - first, CInt(MADV_RANDOM))
  }
}

/// The checksum of a file's head, blocks or manifest, which finds damage.
enum Checksum {
  /// Returns the CRC-32 of some bytes (ITU-T V.42).
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_z(0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
  }
}
