import Points

/// A candidate of a search for a text.
struct TextCandidate {
  /// The value of the order, greater is better: the score, or the distance with the opposite sign.
  var value: Double
  let id: PointID
  let score: Double
  let part: UInt32
  let slot: UInt32
  let tier: TextMatch.Tier

  /// Returns a Boolean value that indicates whether the left candidate comes first.
  @inline(__always)
  static func < (left: TextCandidate, right: TextCandidate) -> Bool {
    left.value != right.value ? left.value > right.value : left.id < right.id
  }
}

/// The first candidates of those that were offered: a binary heap with the last of them on top.
struct TopMatches {
  private let capacity: Int
  private var items: ContiguousArray<TextCandidate> = []

  init(capacity: Int) {
    self.capacity = capacity
    items.reserveCapacity(min(capacity, 64))
  }

  /// A Boolean value that indicates whether a candidate only enters in place of another.
  @inline(__always)
  var isFull: Bool { items.count == capacity }

  /// The last candidate; there must be one.
  @inline(__always)
  var last: TextCandidate { items[0] }

  /// Adds a candidate where it is among the first.
  mutating func offer(_ candidate: TextCandidate) {
    if items.count < capacity {
      items.append(candidate)
      var index = items.count - 1
      while index > 0, items[(index - 1) / 2] < items[index] {
        items.swapAt(index, (index - 1) / 2)
        index = (index - 1) / 2
      }
    } else if candidate < items[0] {
      items[0] = candidate
      sink()
    }
  }

  private mutating func sink() {
    var index = 0
    while true {
      var last = index
      for child in [2 * index + 1, 2 * index + 2] where child < items.count && items[last] < items[child] {
        last = child
      }
      if last == index { return }
      items.swapAt(index, last)
      index = last
    }
  }

  /// Returns the candidates in order.
  func sorted() -> ContiguousArray<TextCandidate> { ContiguousArray(items.sorted { $0 < $1 }) }
}
