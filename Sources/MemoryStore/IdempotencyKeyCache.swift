import Basics
import Points

/// The outcomes of recent requests with idempotency keys, bounded in number, size and age.
///
/// Looking one up, adding one and evicting one are O(1) on average.
struct IdempotencyKeyCache: Sendable {
  /// The size of a cache. Beyond it the oldest records are evicted before they expire.
  struct Limits: Sendable {
    /// The maximum number of records.
    var count = 100_000
    /// The approximate maximum number of bytes of the outcomes.
    var bytes = 64 << 20
  }

  private let limits: Limits
  private var records: [ExactText: IdempotencyRecord] = [:]
  private var byAge: ContiguousArray<String> = []
  private var oldest = 0
  private var bytes = 0

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  var count: Int { records.count }

  /// Returns the record of a key, unless it has expired at the given time.
  func record(of key: String, at time: Timestamp) -> IdempotencyRecord? {
    records[ExactText(key)].flatMap { Self.isExpired($0, at: time) ? nil : $0 }
  }

  /// Adds a record, and returns the keys of others that are evicted for it or have expired.
  ///
  /// - Parameter record: the record of a key that has none here, or an expired one.
  mutating func insert(_ record: IdempotencyRecord) -> [String] {
    let key = ExactText(record.key.text)
    remove(key)
    var evicted: [String] = []
    while oldest < byAge.count {
      let first = ExactText(byAge[oldest])
      if let former = records[first] {
        let isNeeded = records.count < limits.count && bytes < limits.bytes && !Self.isExpired(former, at: record.time)
        if isNeeded { break }
        remove(first)
        evicted.append(first.text)
      }
      oldest += 1
    }
    if oldest > byAge.count / 2 {
      byAge.removeFirst(oldest)
      oldest = 0
    }
    byAge.append(key.text)
    records[key] = record
    bytes += Self.size(of: record)
    return evicted
  }

  private mutating func remove(_ key: ExactText) {
    if let record = records.removeValue(forKey: key) { bytes -= Self.size(of: record) }
  }

  private static func isExpired(_ record: IdempotencyRecord, at time: Timestamp) -> Bool {
    let age = time.microsecondsSinceEpoch - record.time.microsecondsSinceEpoch
    return age >= IdempotencyKey.lifetime.components.seconds * 1_000_000
  }

  private static func size(of record: IdempotencyRecord) -> Int {
    let outcome =
      switch record.outcome {
      case .created(let point): point.draft.name.utf8.count + point.draft.tags.json.utf8.count
      case .applied(let results): results.reduce(0) { $0 + $1.keptBytes }
      case .imported(let report): report.rejections.reduce(0) { $0 + 32 + $1.detail.utf8.count }
      }
    return 200 + record.key.text.utf8.count + outcome
  }
}

extension PointOperationResult {
  /// The approximate number of bytes in memory.
  fileprivate var keptBytes: Int {
    guard case .rejected(let rejection) = self else { return 40 }
    return 40 + rejection.text.utf8.count
  }
}
