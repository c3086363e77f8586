import Foundation
import Synchronization

/// The memory that the buffers of a reader share.
final class MemoryBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) { self.limit = limit }

  /// Takes bytes, and returns a Boolean value that indicates whether they were available.
  func take(_ bytes: Int) -> Bool {
    used.withLock { used in
      guard bytes <= limit - used else { return false }
      used += bytes
      return true
    }
  }

  func giveBack(_ bytes: Int) { used.withLock { $0 -= bytes } }
}

/// A growing array of plain values that moves to a mapped temporary file when the budget is exhausted.
///
/// One thread writes, and only while no other reads.
final class SpillableBuffer<Element: BitwiseCopyable>: @unchecked Sendable {
  // The owner writes in one phase of the reader, and threads read in later ones.
  private var memory: UnsafeMutableRawPointer?
  private var file: TemporaryFile?
  private var capacityBytes = 0
  private(set) var count = 0

  private let budget: MemoryBudget
  private let folder: String?

  init(budget: MemoryBudget, folder: String?) {
    self.budget = budget
    self.folder = folder
  }

  deinit { release() }

  var isOnDisk: Bool { file != nil }

  var elements: UnsafeMutableBufferPointer<Element> {
    UnsafeMutableBufferPointer(start: memory?.assumingMemoryBound(to: Element.self), count: count)
  }

  /// Appends values.
  ///
  /// - Throws: ``OSMError/outOfSpace(_:)``.
  func append(contentsOf values: [Element]) throws(OSMError) {
    try reserve(count + values.count)
    guard let memory else { return }
    values.withUnsafeBytes { bytes in
      (memory + count * MemoryLayout<Element>.stride).copyMemory(
        from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
    }
    count += values.count
  }

  /// Fills the buffer with so many copies of a value.
  func fill(_ value: Element, count newCount: Int) throws(OSMError) {
    try reserve(newCount)
    count = newCount
    elements.update(repeating: value)
  }

  /// Removes the values from the given number on.
  func truncate(to newCount: Int) { count = newCount }

  private func reserve(_ newCount: Int) throws(OSMError) {
    let needed = newCount * MemoryLayout<Element>.stride
    guard needed > capacityBytes else { return }
    let wanted = max(needed, capacityBytes + capacityBytes / 2, 1 << 12)
    if file == nil, budget.take(wanted - capacityBytes) {
      guard let grown = realloc(memory, wanted) else {
        budget.giveBack(wanted - capacityBytes)
        throw .outOfSpace("\(wanted) bytes for node locations")
      }
      memory = grown
      capacityBytes = wanted
    } else {
      try growFile(to: wanted)
    }
  }

  private func growFile(to bytes: Int) throws(OSMError) {
    let file = if let known = self.file { known } else { try TemporaryFile(folder: folder) }
    // Allocated blocks: a full disk is an error here, rather than a signal at a later write.
    #if os(Linux)
      let code = posix_fallocate(file.descriptor, 0, off_t(bytes))
    #else
      let code = ftruncate(file.descriptor, off_t(bytes)) == 0 ? 0 : errno
    #endif
    guard code == 0 else { throw .outOfSpace("\(bytes) bytes on disk: \(String(cString: strerror(code)))") }
    guard let mapped = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0), mapped != MAP_FAILED
    else { throw .outOfSpace("\(bytes) bytes on disk can't be mapped: \(FileReader.lastError)") }
    if self.file == nil, let memory {
      mapped.copyMemory(from: memory, byteCount: count * MemoryLayout<Element>.stride)
    }
    release()
    memory = mapped
    self.file = file
    capacityBytes = bytes
  }

  private func release() {
    if file != nil {
      munmap(memory, capacityBytes)
    } else {
      free(memory)
      budget.giveBack(capacityBytes)
    }
    memory = nil
  }
}
