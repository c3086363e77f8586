#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A measurement of one operation of the service.
struct MicroBenchmark: Sendable {
  /// The duration and the allocations of an operation.
  struct Figures: Sendable {
    /// The mean of the fastest batch, in nanoseconds: the duration on an idle machine.
    let best: Double

    /// The mean of the median batch, in nanoseconds.
    let median: Double

    /// The mean number of allocations; `nil` where they are not counted.
    let allocations: Double?
  }

  /// The error of an operation without results, whose figures mean nothing.
  struct FoundNothing: Error {
    let name: String
  }

  /// The number of inputs. Allocations are counted over each of them once.
  static let inputCount = 1000

  /// The name in tables and thresholds.
  let name: String

  private let timesPerCall: Int
  private let operation: @Sendable (_ input: Int) async throws -> Int

  /// Creates a benchmark.
  ///
  /// - Parameters:
  ///   - name: the name in tables and thresholds.
  ///   - timesPerCall: the number of times that a call runs what is measured, where that is as short as a call.
  ///   - operation: runs with an input below ``inputCount``, and returns the size of its result: the sum must not be 0.
  init(_ name: String, timesPerCall: Int = 1, _ operation: @escaping @Sendable (_ input: Int) async throws -> Int) {
    self.name = name
    self.timesPerCall = timesPerCall
    self.operation = operation
  }

  /// Returns the figures of the operation, after a batch to warm up.
  ///
  /// - Parameters:
  ///   - batches: the number of batches.
  ///   - length: the approximate duration of a batch.
  /// - Throws: ``FoundNothing``, or the error of the operation.
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

  /// Returns the mean number of allocations: the least of some rounds, because other threads can only add to it.
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

/// The number of allocations of this program, where it runs with the library of `Benchmarks/allocations`.
private enum AllocationCount {
  /// The number since the program started; `nil` without the library.
  static var value: UInt64? { counter?() }

  private static let counter: (@convention(c) () -> UInt64)? = {
    // The symbols of a preloaded library are among those of the program.
    guard let program = dlopen(nil, RTLD_NOW), let function = dlsym(program, "allocation_count") else { return nil }
    return unsafeBitCast(function, to: (@convention(c) () -> UInt64).self)
  }()
}
