/// A store whose reads may be older than its writes, and positions in its history that relate the two.
public protocol PositionedStore: Sendable {
  /// Returns the position of everything that was committed before the call, as an opaque text of printable ASCII
  /// characters; `nil` where none can be determined.
  func currentPosition() async -> String?

  /// Returns when all later reads contain everything up to a position.
  ///
  /// - Returns: `false` for a text that is not a position.
  /// - Throws: ``PointStoreError`` where the reads can't be brought up to the position.
  func waitUntilReads(contain position: String) async throws(PointStoreError) -> Bool

  /// The state of the index that reads come from, for operators: a word, and the number of places that it has.
  var indexState: (phase: String, points: Int) { get }

  /// A Boolean value that indicates whether the server should not be ready yet, because the index is not complete.
  var awaitsIndex: Bool { get }

  /// The reads from the last confirmed state; `nil` where there are never any.
  var staleReads: StaleReads? { get }
}

/// The position that the reads of a task must contain.
public enum RequiredPosition {
  /// The text of the position; `nil` where none is required.
  @TaskLocal public static var text: String?
}

/// The reads of a store from its last confirmed state, which writes may have followed.
public struct StaleReads: Hashable, Sendable {
  /// The number of them so far.
  public var count: Int

  /// The latest moment at which the last of them is known to have contained everything that was committed; `nil` before
  /// the first.
  public var confirmedAt: ContinuousClock.Instant?

  public init(count: Int = 0, confirmedAt: ContinuousClock.Instant? = nil) {
    self.count = count
    self.confirmedAt = confirmedAt
  }
}
