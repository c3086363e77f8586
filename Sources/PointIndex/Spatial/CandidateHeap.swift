import Points

/// A place that may be part of a result.
struct Candidate: BitwiseCopyable {
  /// The distance in metres; 0 where the query has no centre.
  var distance: Double

  var id: PointID

  /// The index of the place's part in the snapshot, and its slot there.
  var part: UInt32
  var slot: UInt32

  /// Returns a Boolean value that indicates whether the left candidate precedes the right one in a result.
  @inline(__always)
  static func < (left: Candidate, right: Candidate) -> Bool {
    left.distance != right.distance ? left.distance < right.distance : left.id < right.id
  }
}

/// The first of all offered candidates, up to a maximum number: a binary heap with the last of them on top.
struct CandidateHeap: ~Copyable {
  /// The maximum number of candidates kept.
  let capacity: Int

  /// The number of candidates kept.
  private(set) var count = 0

  private let candidates: UnsafeMutablePointer<Candidate>

  /// Creates an empty heap.
  ///
  /// - Parameter capacity: at least 1.
  init(capacity: Int) {
    self.capacity = capacity
    candidates = .allocate(capacity: capacity)
  }

  deinit { candidates.deallocate() }

  var isFull: Bool { count == capacity }

  /// The last of the candidates kept; there must be one.
  var last: Candidate { candidates[0] }

  /// Adds a candidate if it is among the first, and returns whether it is.
  @discardableResult
  @inline(__always)
  mutating func offer(_ candidate: Candidate) -> Bool {
    if count < capacity {
      rise(candidate, from: count)
      count += 1
      return true
    }
    guard candidate < candidates[0] else { return false }
    sink(candidate, within: count)
    return true
  }

  /// Removes the candidates and returns them in no order.
  mutating func removeAll() -> [Candidate] {
    defer { count = 0 }
    return Array(UnsafeBufferPointer(start: candidates, count: count))
  }

  /// Removes the candidates and returns them in order.
  mutating func removeAllSorted() -> [Candidate] {
    var candidates = removeAll()
    candidates.sort { $0 < $1 }
    return candidates
  }

  private mutating func rise(_ candidate: Candidate, from start: Int) {
    var hole = start
    while hole > 0 {
      let parent = (hole - 1) / 2
      guard candidates[parent] < candidate else { break }
      candidates[hole] = candidates[parent]
      hole = parent
    }
    candidates[hole] = candidate
  }

  private mutating func sink(_ candidate: Candidate, within end: Int) {
    var hole = 0
    while true {
      var child = 2 * hole + 1
      guard child < end else { break }
      if child + 1 < end, candidates[child] < candidates[child + 1] { child += 1 }
      guard candidate < candidates[child] else { break }
      candidates[hole] = candidates[child]
      hole = child
    }
    candidates[hole] = candidate
  }
}
