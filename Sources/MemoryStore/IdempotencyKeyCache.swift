import Basics
import Points

/// The limits of the memory for idempotency keys, and of the outcomes that are kept for them, in bytes.
enum IdempotencyKeyLimits {
  /// The maximum of the keys of places.
  static let bytes = 64 << 20

  /// The maximum of the keys of areas.
  static let areaBytes = 8 << 20

  /// The maximum of the outcome of a creation.
  static let creationBytes = 0

  /// The maximum of the result of an operation of a batch.
  static let resultBytes = 300

  /// The maximum of the report of an import, but for rare long details.
  static let reportBytes = 16 << 10
}

/// The outcomes of recent requests with idempotency keys, bounded in size for each client and for all clients.
///
/// No outcome is evicted before it expires, so that no client loses one because of another: a client whose share is
/// full gets no new key. The share of each client is a part of what is free (the dynamic thresholds of Choudhury and
/// Hahne, 1998): one client alone gets a fifth of the size, and each further one that takes what it can get a fifth of
/// what is left.
///
/// Finding an outcome and adding one are O(1) on average, as is removing one that has expired.
struct IdempotencyKeyCache<Outcome: Sendable>: Sendable {
  /// The part of the free bytes that the share of each client is.
  private static var share: Int { 4 }

  private let maximumBytes: Int
  private var records: [ExactText: KeptRecord<Outcome>] = [:]
  private var byAge: ContiguousArray<(key: String, time: Timestamp)> = []
  private var oldest = 0
  private var bytes = 0
  private var bytesOfClients: [ExactText: Int] = [:]

  /// Creates an empty cache.
  ///
  /// - Parameter maximumBytes: the approximate maximum number of bytes of all records.
  init(bytes maximumBytes: Int) {
    self.maximumBytes = maximumBytes
  }

  var count: Int { records.count }

  /// Returns the record of a key, unless it has expired at the given time.
  func record(of key: String, at time: Timestamp) -> KeptRecord<Outcome>? {
    records[ExactText(key)].flatMap { Self.isExpired($0.time, at: time) ? nil : $0 }
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
    let used = (bytesOfClients[ExactText(client)] ?? 0) + ownBytes + KeptRecord<Outcome>.headBytes + outcomeBytes
    return used <= (maximumBytes - bytes - allBytes) / Self.share
  }

  /// Adds a record, also beyond the limits: what was promised is kept. A former record of the key is replaced.
  mutating func insert(_ record: KeptRecord<Outcome>) {
    let key = ExactText(record.key)
    remove(key)
    byAge.append((record.key, record.time))
    records[key] = record
    bytes += record.bytes
    bytesOfClients[ExactText(record.client), default: 0] += record.bytes
  }

  /// Removes the records that have expired, and returns their keys.
  mutating func removeExpired(at time: Timestamp) -> [String] {
    var expired: [String] = []
    while oldest < byAge.count, Self.isExpired(byAge[oldest].time, at: time) {
      let first = byAge[oldest]
      // The key may have been used again since.
      if let record = records[ExactText(first.key)], record.time == first.time {
        remove(ExactText(first.key))
        expired.append(first.key)
      }
      oldest += 1
    }
    if oldest > byAge.count / 2 {
      byAge.removeFirst(oldest)
      oldest = 0
    }
    return expired
  }

  private mutating func remove(_ key: ExactText) {
    guard let record = records.removeValue(forKey: key) else { return }
    bytes -= record.bytes
    let client = ExactText(record.client)
    let rest = (bytesOfClients[client] ?? 0) - record.bytes
    bytesOfClients[client] = rest > 0 ? rest : nil
  }

  private static func isExpired(_ start: Timestamp, at time: Timestamp) -> Bool {
    let age = time.microsecondsSinceEpoch - start.microsecondsSinceEpoch
    return age >= IdempotencyKey.lifetime.components.seconds * 1_000_000
  }
}

/// A record of a request with an idempotency key, as it is kept in memory.
struct KeptRecord<Outcome: Sendable>: Sendable {
  /// The owner of the key and the key.
  let key: String

  let requestHash: UInt64

  /// The client to whose share it counts.
  let client: String

  let time: Timestamp
  let outcome: Outcome

  /// The approximate number of bytes in memory.
  let bytes: Int

  /// The approximate number of bytes of a record without those of its outcome, the key being as long as allowed.
  static var headBytes: Int { 800 }

  /// Creates a record.
  ///
  /// - Parameter outcomeBytes: the approximate number of bytes of the outcome.
  init(_ key: IdempotencyKey, at time: Timestamp, _ outcome: Outcome, bytes outcomeBytes: Int) {
    self.key = key.text
    requestHash = key.requestHash
    client = key.client
    self.time = time
    self.outcome = outcome
    // The key stands in three collections, which share its text.
    bytes = 250 + key.text.utf8.count + key.client.utf8.count + outcomeBytes
  }
}

/// The outcome of a request with an idempotency key, as it is kept in memory: a repeat has the place of a creation again.
enum KeptOutcome: Sendable {
  case created(PointID, version: Int64)
  case imported(ImportReport)
  case applied([PointOperationResult])
}

extension IdempotencyRecord {
  /// The record as it is kept in memory.
  var kept: KeptRecord<KeptOutcome> {
    switch outcome {
    case .created(let point):
      KeptRecord(key, at: time, .created(point.id, version: point.version), bytes: IdempotencyKeyLimits.creationBytes)
    case .applied(let results):
      KeptRecord(key, at: time, .applied(results), bytes: results.reduce(0) { $0 + $1.keptBytes })
    case .imported(let report):
      KeptRecord(key, at: time, .imported(report), bytes: report.keptBytes)
    }
  }
}

extension TimedAreaRecord {
  /// The record as it is kept in memory.
  var kept: KeptRecord<AreaRecord.Outcome> {
    let bytes =
      switch record.outcome {
      case .created: IdempotencyKeyLimits.creationBytes
      case .imported(let report): report.keptBytes
      case .unreadable: 0
      }
    return KeptRecord(record.key, at: time, record.outcome, bytes: bytes)
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
