import Basics
import Points

/// The time limit and the step limit of a search, and the work that it has done.
final class SearchLimit: @unchecked Sendable {
  // Sendable: a search has one of its own and runs on one thread.

  private let deadline: ContinuousClock.Instant?
  private let maximumSteps: Int

  /// The steps so far. A step is a few nanoseconds.
  private(set) var steps = 0

  private var nextCheck: Int

  /// A Boolean value that indicates whether a limit was exceeded, or the task was cancelled. From then on, no place
  /// matches.
  private(set) var isExpired = false

  /// The number of steps of the evaluation of a short property filter on one place.
  static let stepsPerEvaluation = 128

  /// The number of steps of a predicate or operand of a property filter, where it has many.
  static let stepsPerTerm = 16

  /// The number of steps after which the time and the task are checked.
  private static let stepsPerCheck = 64 * stepsPerEvaluation

  /// Creates the limit at the start of a search. A search that has waited for a processor must end by
  /// ``Basics/ComputationDeadline``, if that is earlier.
  ///
  /// - Parameters:
  ///   - timeLimit: the longest time of the search; `nil` for any time.
  ///   - maximumSteps: the number of steps after which the search ends; `nil` for any number.
  convenience init(_ timeLimit: Duration?, maximumSteps: Int? = nil) {
    let deadline = timeLimit.map { timeLimit in
      let latest = ContinuousClock.now + timeLimit
      return min(latest, ComputationDeadline.current ?? latest)
    }
    self.init(deadline: deadline, maximumSteps: maximumSteps)
  }

  private init(deadline: ContinuousClock.Instant?, maximumSteps: Int? = nil) {
    self.deadline = deadline
    self.maximumSteps = maximumSteps ?? .max
    nextCheck = min(Self.stepsPerCheck, self.maximumSteps)
  }

  /// Creates the limit of a query. A search without conditions that need an index has no time limit of its own.
  convenience init(_ query: PointQuery) {
    if query.needsIndex { self.init(query.timeLimit) } else { self.init(deadline: ComputationDeadline.current) }
  }

  /// The error of a search that has expired.
  var error: PointStoreError { steps >= maximumSteps ? .stepLimit : .filterTimeout }

  /// Adds steps, and returns a Boolean value that indicates whether no limit is exceeded.
  @inline(__always)
  @discardableResult
  func spend(_ count: Int) -> Bool {
    steps &+= count
    if steps >= nextCheck { check() }
    return !isExpired
  }

  /// Checks the limits and the task.
  @inline(never)
  func check() {
    nextCheck = min(steps &+ Self.stepsPerCheck, max(maximumSteps, steps + 1))
    if steps >= maximumSteps || Task.isCancelled { isExpired = true }
    if let deadline, ContinuousClock.now > deadline { isExpired = true }
  }
}
