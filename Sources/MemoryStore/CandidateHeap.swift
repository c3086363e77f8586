import Points

/// A place that may be in the answer.
struct Candidate: BitwiseCopyable {
  /// Its distance in metres; 0 where the query has no centre.
  var distance: Double

  /// Its id.
  var id: PointID

  /// Which of the snapshot's parts it is in, and where there.
  var part: UInt32
  var slot: UInt32

  /// Whether it comes before another in the answer.
  @inline(__always)
  static func < (left: Candidate, right: Candidate) -> Bool {
    left.distance != right.distance ? left.distance < right.distance : left.id < right.id
  }
}

/// The first few of all candidates offered: a binary heap with the last of them on top.
struct CandidateHeap: ~Copyable {
  /// How many are kept at most.
  let capacity: Int

  /// How many are kept.
  private(set) var count = 0

  private let candidates: UnsafeMutablePointer<Candidate>

  /// Creates a heap that keeps at most that many, at least one.
  init(capacity: Int) {
    self.capacity = capacity
    candidates = .allocate(capacity: capacity)
  }

  deinit { candidates.deallocate() }

  /// Whether one more only gets in by pushing out the last.
  var isFull: Bool { count == capacity }

  /// The last of those kept; there must be one.
  var last: Candidate { candidates[0] }

  /// Takes a candidate if it is among the first; says whether it is.
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

  /// The candidates in no order. The heap is empty afterwards.
  mutating func removeAll() -> [Candidate] {
    defer { count = 0 }
    return Array(UnsafeBufferPointer(start: candidates, count: count))
  }

  /// The candidates in order. The heap is empty afterwards.
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
