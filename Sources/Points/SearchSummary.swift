/// What the searches of a while have in common, in as little memory however many they are.
public struct SearchSummary: Hashable, Sendable {
  /// How many cells are counted at most; searches in further ones count in the totals alone.
  static let maximumCells = 10_000

  /// How many searches it tells of.
  public private(set) var searches = 0

  /// How many of them found nothing.
  public private(set) var empty = 0

  /// How many more there were that could not be kept.
  public private(set) var dropped = 0

  private var searchesByCell: [Search.Cell: Int] = [:]
  private var searchesByDurationBit = [Int](repeating: 0, count: 64)

  /// Creates a summary of no searches.
  public init() {}

  /// Counts searches, and those that were dropped before they could be counted.
  public mutating func add(_ more: some Sequence<Search>, dropped: Int = 0) {
    self.dropped += dropped
    for search in more {
      searches += 1
      if search.found == 0 { empty += 1 }
      searchesByDurationBit[Self.bit(of: search.duration)] += 1
      if let cell = search.cell, searchesByCell[cell] != nil || searchesByCell.count < Self.maximumCells {
        searchesByCell[cell, default: 0] += 1
      }
    }
  }

  /// The cell in which most searches were made, ties by the cell; `nil` when none named a centre.
  public var busiestCell: (cell: Search.Cell, searches: Int)? {
    let busiest = searchesByCell.max { ($0.value, $1.key) < ($1.value, $0.key) }
    return busiest.map { ($0.key, $0.value) }
  }

  /// A duration, a power of two of microseconds, within which that share of the searches was answered.
  ///
  /// - Parameter share: from 0 to 1.
  public func duration(ofShare share: Double) -> Duration {
    let wanted = Int((Double(searches) * share).rounded(.up))
    var counted = 0
    for (bit, count) in searchesByDurationBit.enumerated() {
      counted += count
      if counted >= wanted { return .microseconds(Int64(1) << Int64(bit)) }
    }
    return .zero
  }

  /// The number of bits that a duration in whole microseconds takes, 62 at most.
  private static func bit(of duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    let microseconds = max(0, min(seconds, 1 << 40)) * 1_000_000 + attoseconds / 1_000_000_000_000
    return min(62, Int64.bitWidth - max(0, microseconds).leadingZeroBitCount)
  }
}
