package import Basics
package import Points

/// The name of a record in all collections.
package struct RecordKey: Hashable, Sendable {
  package let collection: RecordCollection
  package let id: ExactText
}

/// The records of a store in memory.
struct RecordTable: Sendable {
  private var all: [RecordCollection: [ExactText: Record]] = [:]
  private let memoryLimit: Int

  /// Creates a table.
  ///
  /// - Parameters:
  ///   - records: those that were kept.
  ///   - memoryLimit: the maximum number of bytes of a collection whose owners have shares.
  init(_ records: [Record] = [], memoryLimit: Int = 64 << 20) {
    self.memoryLimit = memoryLimit
    for record in records { all[record.collection, default: [:]][record.id] = record }
  }

  /// The number of records that are looked at without leaving the thread, in some microseconds.
  private static let shortCount = 100

  /// Returns a Boolean value that indicates whether few records are looked at for a query.
  func isShort(for query: RecordQuery) -> Bool {
    query.id != nil || (all[query.collection]?.count ?? 0) <= Self.shortCount
  }

  /// Returns the records that match, by id. O(n) for n records of the collection, O(1) for an id.
  func matching(_ query: RecordQuery) -> [Record] {
    var found = candidates(for: query).filter { record in
      query.matches(record) && (query.after.map { $0 < record.id } ?? true)
    }
    if found.count > 1 { found.sort { $0.id < $1.id } }
    var bytes = 0
    return Array(
      found.prefix(query.limit ?? .max).prefix { record in
        defer { bytes += record.document.utf8.count }
        return bytes <= query.maximumBytes ?? .max
      })
  }

  private func candidates(for query: RecordQuery) -> [Record] {
    guard let records = all[query.collection] else { return [] }
    guard let id = query.id else { return Array(records.values) }
    return records[id].map { [$0] } ?? []
  }

  /// Returns the number of records that match. O(n) for n records of the collection.
  func summary(of query: RecordQuery) -> RecordSummary {
    let ids = candidates(for: query).filter { query.matches($0) }.map(\.id)
    let hash = ids.reduce(0) { $0 ^ PointID(derivedFrom: Array($1.text.utf8)).shuffleKey }
    return RecordSummary(count: ids.count, mark: "\(ids.count)-\(String(hash, radix: 36))")
  }

  /// Returns the reason for which changes can't be made; `nil` if they can. O(n) with limits.
  func refusal(of changes: [RecordChange], within limits: RecordLimits?) -> RecordOutcome? {
    for change in changes {
      let former = all[change.collection]?[change.id]
      let isCurrent =
        switch change {
        case .insert: former == nil
        case .replace(let record): former?.revision == record.revision
        case .remove: former != nil
        }
      if !isCurrent { return .conflict }
    }
    guard let limits else { return nil }
    let records = all[limits.collection] ?? [:]
    for (index, count) in limits.counts.enumerated() {
      let query = RecordQuery(limits.collection, fields: count.fields, .unexpired(at: limits.now))
      if records.values.count(where: { query.matches($0) }) >= count.maximum { return .full(index) }
    }
    return hasMemory(for: changes, beside: records, limits) ? nil : .noMemory
  }

  /// Returns a Boolean value that indicates whether there is memory for new records beside all others, expired or not.
  /// An owner may have as much as is free beside its own.
  private func hasMemory(
    for changes: [RecordChange], beside records: [ExactText: Record], _ limits: RecordLimits
  ) -> Bool {
    guard let owner = limits.owner else { return true }
    let new = changes.reduce(0) { bytes, change in
      if case .insert(let record) = change { bytes + record.memoryBytes } else { bytes }
    }
    let query = RecordQuery(limits.collection, fields: owner)
    var (total, own) = (new, new)
    for record in records.values {
      total += record.memoryBytes
      if query.matches(record) { own += record.memoryBytes }
    }
    return own <= memoryLimit - total
  }

  /// Applies changes. Returns each changed record as it is then, or `nil` if it was removed.
  mutating func apply(_ changes: [RecordChange]) -> [RecordKey: Record?] {
    var changed: [RecordKey: Record?] = [:]
    for change in changes {
      var record: Record?
      switch change {
      case .insert(let new): record = new
      case .replace(let new):
        record = new
        record?.revision += 1
      case .remove: break
      }
      all[change.collection, default: [:]][change.id] = record
      changed[RecordKey(collection: change.collection, id: change.id)] = .some(record)
    }
    return changed
  }

  /// Returns the removals of the records of a collection whose time has come. O(n) for n records of the collection.
  func removals(in collection: RecordCollection, keptUntil now: Timestamp) -> [RecordChange] {
    (all[collection] ?? [:]).values.filter { $0.keptUntil.map { $0 <= now } ?? false }
      .map { .remove(collection, id: $0.id) }
  }
}

extension RecordQuery {
  /// Returns a Boolean value that indicates whether a record of the collection has the fields and the expiry.
  fileprivate func matches(_ record: Record) -> Bool {
    guard fields.allSatisfy({ record.fields[$0.key] == $0.value }) else { return false }
    return switch expiry {
    case nil: true
    case .unexpired(let now)?: record.expiresAt.map { now < $0 } ?? true
    case .expired(let now)?: record.expiresAt.map { $0 <= now } ?? false
    }
  }
}

extension Record {
  /// The estimated number of bytes that it takes in memory: its texts, and 1 KiB for their heads and the other fields.
  fileprivate var memoryBytes: Int {
    fields.reduce(document.utf8.count + id.text.utf8.count + 1024) {
      $0 + $1.key.text.utf8.count + $1.value.text.utf8.count
    }
  }
}
