/// One part of what the service does, measured by itself.
struct MicroBenchmark: Sendable {
  /// How long it takes, and how often it asks for memory.
  struct Figures: Sendable {
    /// The mean of the quickest batch, in nanoseconds: what the code costs where nothing else is going on.
    let best: Double

    /// The mean of the batch in the middle, in nanoseconds.
    let median: Double

    /// How many allocations there are on average; `nil` where nothing counts them.
    let allocations: Double?
  }

  /// What is measured did nothing, so that its figures are worth nothing.
  struct FoundNothing: Error {
    let name: String
  }

  /// How many inputs there are: what is counted is each of them once.
  static let inputCount = 1000

  /// What it is called in tables and thresholds.
  let name: String

  private let timesPerCall: Int
  private let operation: @Sendable (_ input: Int) async throws -> Int

  /// Creates a benchmark.
  ///
  /// - Parameters:
  ///   - name: what it is called.
  ///   - timesPerCall: how often a call does what is measured, for what takes no longer than a call.
  ///   - operation: does it with an input of ``inputCount``, and returns how much came of it: the sum must not be 0.
  init(_ name: String, timesPerCall: Int = 1, _ operation: @escaping @Sendable (_ input: Int) async throws -> Int) {
    self.name = name
    self.timesPerCall = timesPerCall
    self.operation = operation
  }

  /// Measures, after a batch that nobody looks at.
  ///
  /// - Parameters:
  ///   - batches: how many batches are timed.
  ///   - length: how long a batch takes, about.
  /// - Throws: ``FoundNothing``, or what the operation throws.
  func figures(batches: Int, lasting length: Duration) async throws -> Figures {
    var calls = Self.inputCount
    var took = try await time(calls)
    while took < length / 2 {
      calls *= 2
      took = try await time(calls)
    }
    var nanoseconds: [Double] = []
    for _ in 0..<batches {
      nanoseconds.append(try await time(calls) / .nanoseconds(1) / Double(calls * timesPerCall))
    }
    nanoseconds.sort()
    return Figures(best: nanoseconds[0], median: nanoseconds[batches / 2], allocations: try await allocations())
  }

  /// How many allocations there are on average; the least of some rounds, for what else goes on can only add to it.
  private func allocations() async throws -> Double? {
    var least: UInt64?
    for _ in 0..<5 {
      guard let before = AllocationCount.value else { return nil }
      try await call(Self.inputCount)
      guard let after = AllocationCount.value else { return nil }
      least = min(least ?? .max, after - before)
    }
    return least.map { Double($0) / Double(Self.inputCount * timesPerCall) }
  }

  private func time(_ calls: Int) async throws -> Duration {
    let start = ContinuousClock.now
    try await call(calls)
    return ContinuousClock.now - start
  }

  private func call(_ times: Int) async throws {
    var sum = 0
    for number in 0..<times { sum &+= try await operation(number % Self.inputCount) }
    if sum == 0 { throw FoundNothing(name: name) }
  }
}
