import CZlib
import Dispatch
import Synchronization

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

  /// Advises the system to read a range soon.
  func willRead(_ range: Range<Int>) {
    #if os(Linux)
      _ = posix_fadvise(descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_WILLNEED)
    #endif
  }

  /// Returns when everything that was written is on disk.
  func synchronize() throws(IndexFileError) {
    guard fsync(descriptor) == 0 else { throw IndexFileError(call: "fsync") }
  }
}

/// The blocks of a file, mapped read-only into memory until the last reference ends.
///
/// Replacing or removing the file is harmless: the mapping keeps the one that was opened. If that is made shorter, or the
/// disk can't read a page, the read of a missing page raises SIGBUS, which ends the process.
final class MappedFile: @unchecked Sendable {
  // Sendable: the memory is never written.

  /// The size of a block, the last one of a file excepted.
  static let blockSize = 64 << 10

  /// The number of blocks that one processor verifies at a time.
  private static let blocksPerUnit = 16

  let start: UnsafeRawPointer
  let count: Int

  /// Verifies blocks and maps them.
  ///
  /// - Parameters:
  ///   - file: the file, open for reading.
  ///   - offset: the offset of the first block, a multiple of ``blockSize``.
  ///   - count: the number of bytes, at least 1.
  ///   - checksums: the checksums of the blocks; `nil` if this process has written the file.
  init(
    _ file: OpenFile, offset: Int, count: Int, checksums: ContiguousArray<UInt32>?
  ) throws(IndexFileError) {
    if let checksums { try Self.verify(file, offset: offset, count: count, checksums) }
    guard let start = mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor, off_t(offset)), start != MAP_FAILED
    else { throw IndexFileError(call: "mmap") }
    self.start = UnsafeRawPointer(start)
    self.count = count
  }

  deinit { munmap(UnsafeMutableRawPointer(mutating: start), count) }

  /// Compares all blocks with their checksums, on all processors.
  ///
  /// They are read from the file rather than from the mapping: a page that the disk can't read is an error then, and not
  /// a signal.
  private static func verify(
    _ file: OpenFile, offset: Int, count: Int, _ checksums: ContiguousArray<UInt32>
  ) throws(IndexFileError) {
    let failure = Mutex<IndexFileError?>(nil)
    let unitCount = (checksums.count + blocksPerUnit - 1) / blocksPerUnit
    DispatchQueue.concurrentPerform(iterations: unitCount) { unit in
      guard failure.withLock({ $0 == nil }) else { return }
      let start = unit * blocksPerUnit * blockSize
      let unitChecksums = checksums[(unit * blocksPerUnit)...].prefix(blocksPerUnit)
      do throws(IndexFileError) {
        try verify(file, offset: offset + start, count: min(blocksPerUnit * blockSize, count - start), unitChecksums)
      } catch {
        failure.withLock { $0 = error }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private static func verify(
    _ file: OpenFile, offset: Int, count: Int, _ checksums: ContiguousArray<UInt32>.SubSequence
  ) throws(IndexFileError) {
    file.willRead(offset..<offset + count)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 1)
    defer { memory.deallocate() }
    for (block, checksum) in checksums.enumerated() {
      let start = block * blockSize
      let bytes = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(count - start))
      guard try file.read(bytes, at: offset + start) == bytes.count else {
        throw IndexFileError("the file is shorter than when it was written")
      }
      guard Checksum.of(UnsafeRawBufferPointer(bytes)) == checksum else {
        throw IndexFileError("the file is damaged")
      }
    }
  }

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
