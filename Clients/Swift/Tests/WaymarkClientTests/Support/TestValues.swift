import Foundation
import WaymarkClient

/// A folder for one test's cache, removed with this object; the cache creates it.
final class CacheFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(path: "waymark-client-\(UUID().uuidString)")

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}

extension URL {
  /// Creates a URL from a text.
  init(text: String) throws {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    self = url
  }
}

/// A number that many tasks increment.
final class Counter: Sendable {
  private let count = Locked(0)

  /// Creates a counter at zero.
  init() {}

  /// The current number.
  var value: Int { count.withLock { $0 } }

  /// Adds a number and returns the sum.
  @discardableResult
  func add(_ number: Int = 1) -> Int {
    count.withLock { count in
      count += number
      return count
    }
  }
}

/// A deterministic random number generator: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
