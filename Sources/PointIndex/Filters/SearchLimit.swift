/// The time limit of a search, and the work that it has done.
final class SearchLimit: @unchecked Sendable {
  // Sendable: a search has one of its own and runs on one thread.

  private let deadline: ContinuousClock.Instant?
  private var steps = 0
  private var nextCheck = SearchLimit.stepsPerCheck

  /// A Boolean value that indicates whether the time limit was exceeded, or the task was cancelled. From then on, no
  /// place matches.
  private(set) var isExpired = false

  /// The number of steps of the evaluation of a short property filter on one place; a step is a few nanoseconds.
  static let stepsPerEvaluation = 128

  /// The number of steps of a predicate or operand of a property filter, where it has many.
  static let stepsPerTerm = 16

  /// The number of steps after which the time and the task are checked.
  private static let stepsPerCheck = 64 * stepsPerEvaluation

  /// Creates the limit at the start of a search.
  ///
  /// - Parameter timeLimit: the longest time of the search; `nil` for any time.
  init(_ timeLimit: Duration?) {
    deadline = timeLimit.map { .now + $0 }
  }

  /// Adds steps, and returns a Boolean value that indicates whether there is time left.
  @inline(__always)
  func spend(_ count: Int) -> Bool {
    steps &+= count
    if steps >= nextCheck { check() }
    return !isExpired
  }

  @inline(never)
  private func check() {
    nextCheck = steps &+ Self.stepsPerCheck
    if Task.isCancelled { isExpired = true }
    if let deadline, ContinuousClock.now > deadline { isExpired = true }
  }
}
