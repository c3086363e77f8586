#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// How often this program has asked malloc for memory, where it runs with the library of `Benchmarks/allocations`.
enum AllocationCount {
  /// The count since the program began; `nil` where nothing counts.
  static var value: UInt64? { counter?() }

  private static let counter: (@convention(c) () -> UInt64)? = {
    // A library that was loaded before the program has its functions among the program's own.
    guard let program = dlopen(nil, RTLD_NOW), let function = dlsym(program, "allocation_count") else { return nil }
    return unsafeBitCast(function, to: (@convention(c) () -> UInt64).self)
  }()
}
