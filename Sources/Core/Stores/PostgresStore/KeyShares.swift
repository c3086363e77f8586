import Basics
import Points
import Synchronization

/// The bytes that clients have written into the table of idempotency keys in the last day to day and a half, as far as
/// this instance has seen since its start.
///
/// The share of each client is a part of what is free, as in the memory store. Nothing is counted in the database, where
/// that would cost each write. Requests in progress may exceed a share.
struct KeyShares: Sendable {
  /// The maximum number of bytes of all clients.
  static let maximumBytes = 1 << 30

  /// The part of the free bytes that the share of each client is.
  private static let share = 4

  /// The approximate number of bytes of a row and its index entries, without the key and the outcome.
  private static let rowBytes = 200

  /// The time after which bytes count for the next period, and the number of periods that count.
  private static let period = Duration.seconds(12 * 60 * 60)
  private static let periodCount = 3

  private struct Period {
    var bytesOfClients: [ExactText: Int] = [:]
    var bytes = 0
  }

  private let maximumBytes: Int
  private var periods = [Period()]
  private var start: ContinuousClock.Instant

  init(bytes maximumBytes: Int = Self.maximumBytes, at now: ContinuousClock.Instant = .now) {
    self.maximumBytes = maximumBytes
    start = now
  }

  /// Returns the approximate number of bytes of the row of a key.
  static func bytes(ofKey text: String, outcome: Int) -> Int { rowBytes + text.utf8.count + outcome }

  /// Returns a Boolean value that indicates whether a client may write so many bytes more.
  mutating func hasRoom(for bytes: Int, of client: String, at now: ContinuousClock.Instant = .now) -> Bool {
    advance(to: now)
    let client = ExactText(client)
    let used = periods.reduce(bytes) { $0 + ($1.bytesOfClients[client] ?? 0) }
    return used <= (maximumBytes - periods.reduce(0) { $0 + $1.bytes }) / Self.share
  }

  /// Counts bytes that a client has written.
  mutating func add(_ bytes: Int, of client: String, at now: ContinuousClock.Instant = .now) {
    advance(to: now)
    let last = periods.count - 1
    periods[last].bytesOfClients[ExactText(client), default: 0] += bytes
    periods[last].bytes += bytes
  }

  private mutating func advance(to now: ContinuousClock.Instant) {
    let passed = (now - start) / Self.period
    guard passed >= 1 else { return }
    let count = min(Int(passed), Self.periodCount)
    periods = Array((periods + Array(repeating: Period(), count: count)).suffix(Self.periodCount))
    start = passed < Double(Self.periodCount) ? start + Self.period * count : now
  }
}

extension PostgresStore {
  /// Returns a Boolean value that indicates whether a client may add a key.
  ///
  /// - Parameter outcome: the maximum number of bytes of the outcome.
  func hasRoom(forKey text: String, of client: String, outcome: Int) -> Bool {
    keyShares.withLock { $0.hasRoom(for: KeyShares.bytes(ofKey: text, outcome: outcome), of: client) }
  }

  /// Counts a key that a client has added.
  func count(key text: String, of client: String, outcome: Int) {
    keyShares.withLock { $0.add(KeyShares.bytes(ofKey: text, outcome: outcome), of: client) }
  }
}
