import Basics
import Points

/// The outcomes of recent requests with idempotency keys, bounded in size for each client and for all clients.
///
/// No outcome is evicted before it expires, so that no client loses one because of another: a client whose share is
/// full gets no new key. The share of each client is a part of what is free (the dynamic thresholds of Choudhury and
/// Hahne, 1998): one client alone gets a fifth of the size, and each further one that takes what it can get a fifth of
/// what is left.
///
/// Finding an outcome and adding one are O(1) on average, as is removing one that has expired.
struct IdempotencyKeyCache: Sendable {
  /// The maximum number of bytes of a store.
  static let maximumBytes = 64 << 20

  /// The part of the free bytes that the share of each client is.
  private static let share = 4

  private let maximumBytes: Int
  private var records: [ExactText: IdempotencyRecord] = [:]
  private var byAge: ContiguousArray<(key: String, time: Timestamp)> = []
  private var oldest = 0
  private var bytes = 0
  private var bytesOfClients: [ExactText: Int] = [:]

  /// Creates an empty cache.
  ///
  /// - Parameter maximumBytes: the approximate maximum number of bytes of all records.
  init(bytes maximumBytes: Int = Self.maximumBytes) {
    self.maximumBytes = maximumBytes
  }

  var count: Int { records.count }

  /// Returns the record of a key, unless it has expired at the given time.
  func record(of key: String, at time: Timestamp) -> IdempotencyRecord? {
    records[ExactText(key)].flatMap { $0.time > IdempotencyKey.expiry(at: time) ? $0 : nil }
  }

  /// Returns a Boolean value that indicates whether a record of a client may be added.
  ///
  /// - Parameters:
  ///   - outcomeBytes: the maximum number of bytes of its outcome.
  ///   - ownBytes: the bytes of other records of the client that are about to be added.
  ///   - allBytes: the bytes of all records that are about to be added.
  func hasRoom(
    for outcomeBytes: Int, of client: String, beside ownBytes: Int = 0, inAll allBytes: Int = 0
  ) -> Bool {
    let used = (bytesOfClients[ExactText(client)] ?? 0) + ownBytes + IdempotencyRecord.headBytes + outcomeBytes
    return used <= (maximumBytes - bytes - allBytes) / Self.share
  }

  /// Adds a record, also beyond the limits: what was promised is kept. A former record of the key is replaced.
  mutating func insert(_ record: IdempotencyRecord) {
    let key = ExactText(record.key.text)
    remove(key)
    byAge.append((record.key.text, record.time))
    records[key] = record
    let recordBytes = record.keptBytes
    bytes += recordBytes
    bytesOfClients[ExactText(record.key.client), default: 0] += recordBytes
  }

  /// Removes the records that have expired.
  mutating func removeExpired(at time: Timestamp) {
    let expiry = IdempotencyKey.expiry(at: time)
    while oldest < byAge.count, byAge[oldest].time <= expiry {
      let first = byAge[oldest]
      // The key may have been used again since.
      if let record = records[ExactText(first.key)], record.time == first.time { remove(ExactText(first.key)) }
      oldest += 1
    }
    if oldest > byAge.count / 2 {
      byAge.removeFirst(oldest)
      oldest = 0
    }
  }

  private mutating func remove(_ key: ExactText) {
    guard let record = records.removeValue(forKey: key) else { return }
    let recordBytes = record.keptBytes
    bytes -= recordBytes
    let client = ExactText(record.key.client)
    let rest = (bytesOfClients[client] ?? 0) - recordBytes
    bytesOfClients[client] = rest > 0 ? rest : nil
  }
}

extension IdempotencyRecord {
  /// The approximate number of bytes of a record without those of its outcome, the key being as long as allowed.
  fileprivate static let headBytes = 800

  /// The approximate number of bytes in memory.
  var keptBytes: Int {
    let outcomeBytes =
      switch outcome {
      case .created: 0
      case .applied(let results): results.reduce(0) { $0 + $1.keptBytes }
      case .imported(let report): report.keptBytes
      }
    // The key stands in three collections, which share its text.
    return 250 + key.text.utf8.count + key.client.utf8.count + outcomeBytes
  }
}

extension ImportReport {
  /// The approximate number of bytes in memory.
  fileprivate var keptBytes: Int { 100 + rejections.reduce(0) { $0 + 100 + $1.detail.utf8.count } }
}

extension PointOperationResult {
  /// The approximate number of bytes in memory.
  fileprivate var keptBytes: Int {
    switch self {
    case .rejected(let rejection): 80 + rejection.text.utf8.count
    case .created, .changed, .deleted, .originTaken, .notFound, .conditionFailed, .forbidden: 48
    }
  }
}
