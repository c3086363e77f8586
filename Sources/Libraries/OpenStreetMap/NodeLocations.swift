import Foundation
import Geo
import Synchronization

/// The positions of the nodes that kept ways and relations need.
final class NodeLocations: Sendable {
  let ids: SortedIDs
  // Written by the reader's thread while nodes are read; other threads read it after that.
  private let positions: SpillableBuffer<FixedPosition>

  /// Creates the set of needed nodes, which must be sorted, with no positions.
  init(ids: SortedIDs, budget: MemoryBudget, folder: String?) throws(OSMError) {
    self.ids = ids
    positions = SpillableBuffer(budget: budget, folder: folder)
    try positions.fill(.unknown, count: ids.count)
  }

  func set(_ hits: [NodeHit]) {
    let positions = positions.elements
    for hit in hits { positions[hit.index] = hit.position }
  }

  /// Returns a closure-free view for lookups.
  func lookup() -> Lookup { Lookup(cursor: ids.cursor(), positions: UnsafeBufferPointer(positions.elements)) }

  struct Lookup {
    fileprivate var cursor: SortedIDs.Cursor
    fileprivate let positions: UnsafeBufferPointer<FixedPosition>

    /// Returns the position of a node, or nil if the node is not in the file.
    mutating func position(of id: Int64) -> FixedPosition? {
      guard let index = cursor.index(of: id), positions[index].isKnown else { return nil }
      return positions[index]
    }
  }
}

/// The position of a needed node.
struct NodeHit: Sendable {
  let index: Int
  let position: FixedPosition
}

/// The positions of the nodes of the ways that relations need.
final class WayGeometries: Sendable {
  let ids: SortedIDs
  // Written by the reader's thread while ways are read; other threads read them after that.
  private let ranges: SpillableBuffer<WayRange>
  private let positions: SpillableBuffer<FixedPosition>

  struct WayRange: BitwiseCopyable {
    let start: Int
    let count: Int32
    let isComplete: Bool
  }

  /// Creates the set of needed ways, which must be sorted, with no positions.
  init(ids: SortedIDs, budget: MemoryBudget, folder: String?) throws(OSMError) {
    self.ids = ids
    ranges = SpillableBuffer(budget: budget, folder: folder)
    positions = SpillableBuffer(budget: budget, folder: folder)
    try ranges.fill(WayRange(start: 0, count: 0, isComplete: false), count: ids.count)
  }

  var positionCount: Int { positions.count }

  func set(_ geometry: WayGeometry) throws(OSMError) {
    ranges.elements[geometry.index] = WayRange(
      start: positions.count, count: Int32(geometry.positions.count), isComplete: geometry.isComplete)
    if !geometry.positions.isEmpty { try positions.append(contentsOf: geometry.positions) }
  }

  func lookup() -> Lookup {
    Lookup(
      cursor: ids.cursor(), ranges: UnsafeBufferPointer(ranges.elements),
      positions: UnsafeBufferPointer(positions.elements))
  }

  struct Lookup {
    fileprivate var cursor: SortedIDs.Cursor
    fileprivate let ranges: UnsafeBufferPointer<WayRange>
    fileprivate let positions: UnsafeBufferPointer<FixedPosition>

    var positionCount: Int { positions.count }

    /// Returns the positions of a way's nodes, none if the way is not in the file, and whether all are known.
    mutating func way(_ id: Int64) -> (positions: Slice<UnsafeBufferPointer<FixedPosition>>, isComplete: Bool) {
      guard let index = cursor.index(of: id) else { return (positions[0..<0], false) }
      let range = ranges[index]
      return (positions[range.start..<range.start + Int(range.count)], range.isComplete)
    }
  }
}

/// The positions of a needed way's nodes.
struct WayGeometry: Sendable {
  let index: Int
  let positions: [FixedPosition]
  let isComplete: Bool
}

/// A position in units of 10⁻⁷ degrees, the resolution of OpenStreetMap.
struct FixedPosition: Hashable, Sendable, BitwiseCopyable {
  /// The value of a node whose position is not known. It is in no range.
  static let unknown = FixedPosition(latitude: .max, longitude: .max)

  let latitude: Int32
  let longitude: Int32

  var isKnown: Bool { latitude != .max }

  var degrees: OSMPosition {
    OSMPosition(
      latitude: Double(latitude) / PlanePoint.unitsPerDegree,
      longitude: Double(longitude) / PlanePoint.unitsPerDegree)
  }
}

/// A set of ids as a sorted array: ids are added in batches, and looked up after ``sort()``.
final class SortedIDs: @unchecked Sendable {
  // Written before ``sort()`` by one thread, only read after it.
  private let buffer: SpillableBuffer<Int64>

  init(budget: MemoryBudget, folder: String?) { buffer = SpillableBuffer(budget: budget, folder: folder) }

  var count: Int { buffer.count }

  func insert(_ ids: [Int64]) throws(OSMError) { try buffer.append(contentsOf: ids) }

  /// Sorts the ids and removes duplicates, in place.
  func sort() {
    let ids = buffer.elements
    if !ids.isEmpty, !SortedIDs.isAscending(ids) { SortedIDs.sort(ids, shift: 56) }
    var kept = 0
    for index in ids.indices where kept == 0 || ids[index] != ids[kept - 1] {
      ids[kept] = ids[index]
      kept += 1
    }
    buffer.truncate(to: kept)
  }

  /// Returns a cursor for lookups, which are fast if they are mostly in ascending order.
  func cursor() -> Cursor { Cursor(ids: UnsafeBufferPointer(buffer.elements), owner: self) }

  struct Cursor {
    fileprivate let ids: UnsafeBufferPointer<Int64>
    fileprivate let owner: SortedIDs
    private var position = 0

    fileprivate init(ids: UnsafeBufferPointer<Int64>, owner: SortedIDs) {
      self.ids = ids
      self.owner = owner
    }

    /// Returns the index of an id, or nil. The cursor stays at the first id that is not less.
    @inline(__always)
    mutating func index(of id: Int64) -> Int? {
      if position < ids.count, ids[position] >= id, position == 0 || ids[position - 1] < id {
        return ids[position] == id ? position : nil
      }
      return search(id)
    }

    private mutating func search(_ id: Int64) -> Int? {
      // Gallops from the last position, or from the start if the id is before it.
      var low = position < ids.count && ids[position] < id ? position : 0
      var step = 1
      while low + step < ids.count, ids[low + step] < id {
        low += step
        step *= 2
      }
      var high = min(low + step, ids.count)
      while low < high {
        let middle = (low + high) / 2
        if ids[middle] < id { low = middle + 1 } else { high = middle }
      }
      position = low
      return low < ids.count && ids[low] == id ? low : nil
    }
  }

  private static func isAscending(_ ids: UnsafeMutableBufferPointer<Int64>) -> Bool {
    for index in 1..<ids.count where ids[index] < ids[index - 1] { return false }
    return true
  }

  /// Sorts by the byte at the shift and those below it: a radix sort in place (McIlroy, Bostic and McIlroy, 1993:
  /// American flag sort).
  private static func sort(_ ids: UnsafeMutableBufferPointer<Int64>, shift: UInt64) {
    guard ids.count > 512 else {
      var ids = ids
      return ids.sort()
    }
    // The sign bit is flipped, so that negative ids come first.
    func digit(_ id: Int64) -> Int { Int((UInt64(bitPattern: id) ^ 1 << 63) &>> shift & 0xFF) }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 512) { memory in
      let (next, end) = (memory.baseAddress.unsafelyUnwrapped, memory.baseAddress.unsafelyUnwrapped + 256)
      end.initialize(repeating: 0, count: 256)
      for id in ids { end[digit(id)] += 1 }
      var start = 0
      for bucket in 0..<256 {
        next[bucket] = start
        start += end[bucket]
        end[bucket] = start
      }
      for bucket in 0..<256 {
        while next[bucket] < end[bucket] {
          var id = ids[next[bucket]]
          while digit(id) != bucket {
            let place = next[digit(id)]
            next[digit(id)] += 1
            let other = ids[place]
            ids[place] = id
            id = other
          }
          ids[next[bucket]] = id
          next[bucket] += 1
        }
      }
      guard shift > 0 else { return }
      var from = 0
      for bucket in 0..<256 {
        sort(UnsafeMutableBufferPointer(rebasing: ids[from..<end[bucket]]), shift: shift - 8)
        from = end[bucket]
      }
    }
  }
}

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
