import Basics
import JSONText

/// The outcome of a request with an idempotency key, which a repeat of the request gets again.
public struct IdempotencyRecord: Hashable, Sendable {
  /// The key, with the hash of the request and the client.
  package let key: IdempotencyKey

  /// The time of the request, which is the creation time of a place that it created.
  package let time: Timestamp

  package let outcome: Outcome

  /// The outcome of a request.
  public enum Outcome: Hashable, Sendable {
    /// A place was created, with its first version; or a record of another collection, without a version, because a
    /// repeat gets its state at the time of the repeat.
    case created(PointID, version: Int64?)

    case imported(ImportReport)

    /// A batch was applied.
    case applied([PointOperationResult])
  }

  package init(key: IdempotencyKey, time: Timestamp, outcome: Outcome) {
    (self.key, self.time, self.outcome) = (key, time, outcome)
  }
}

extension IdempotencyRecord {
  /// Returns what a closure takes from the record for a repeat of the request.
  ///
  /// - Throws: ``PointWriteError/keyReused`` for another request, which has another hash or gets another outcome, for
  ///   which the closure returns `nil`.
  package func repeated<Value>(
    by key: IdempotencyKey, _ value: (IdempotencyRecord) -> Value?
  ) throws(PointWriteError) -> Value {
    guard key.requestHash == self.key.requestHash, let value = value(self) else { throw .keyReused }
    return value
  }

  /// Returns the place as it was created, from the values in the request; `nil` for another outcome.
  package func point(_ draft: PointDraft) -> PointOfInterest? {
    guard case .created(let id, let version?) = outcome else { return nil }
    return PointOfInterest(id: id, draft: draft, version: version, createdAt: time, updatedAt: time)
  }

  /// The report of an import; `nil` for another outcome.
  package var report: ImportReport? {
    if case .imported(let report) = outcome { report } else { nil }
  }

  /// The results of a batch; `nil` for another outcome.
  package var results: [PointOperationResult]? {
    if case .applied(let results) = outcome { results } else { nil }
  }
}

extension IdempotencyKey {
  /// Returns the key of the same text for requests to a collection other than the places. It never equals the key of
  /// another collection, since the keys that clients send have no space.
  package func scoped(to collection: String) -> IdempotencyKey {
    IdempotencyKey(text: "\(text) \(collection)", requestHash: requestHash, client: client)
  }

  /// Returns the time of requests whose records, and all older ones, have expired at the given time.
  package static func expiry(at now: Timestamp) -> Timestamp { now.adding(.zero - lifetime) }
}

extension IdempotencyRecord.Outcome {
  /// The maximum number of bytes of the outcome of a creation.
  package static let creationBytes = 100

  /// The maximum number of bytes of the result of an operation of a batch, but for rare long ones.
  package static let resultBytes = 300

  /// The maximum number of bytes of the report of an import, but for rare long details.
  package static let reportBytes = 16 << 10

  /// The outcome as a JSON object, for stores that keep it: `{"created":"<id>","version":7}`, without the version for
  /// records of other collections than the places; `{"imported":[1,0,0,2],"deleted":3,"rejected":[[5,"<detail>"]]}`,
  /// with the numbers of created, updated, unchanged and rejected rows, the number of deletions if there may be any, and
  /// if there are any, as `kept` that of places kept for rejected rows, as `keptEdits` that of places that keep edits
  /// and as `conflicts` that of places with a new conflict;
  /// `{"applied":["<text of a result>"]}`.
  package var json: String {
    var json = JSONWriter()
    json.beginObject()
    switch self {
    case .created(let id, let version):
      json.write(member: "created", "\(id)")
      if let version { json.write(member: "version", Int(version)) }
    case .imported(let report):
      json.write(name: "imported")
      json.beginArray()
      for count in [report.created, report.updated, report.unchanged, report.rejected] { json.write(integer: count) }
      json.endArray()
      if let deleted = report.deleted { json.write(member: "deleted", deleted) }
      let others: [(name: StaticString, count: Int)] = [
        ("kept", report.kept), ("keptEdits", report.keptEdits), ("conflicts", report.conflicts),
      ]
      for (name, count) in others where count > 0 { json.write(member: name, count) }
      json.write(name: "rejected")
      json.beginArray()
      for row in report.rejections {
        json.beginArray()
        json.write(integer: row.number)
        json.write(string: row.detail)
        json.endArray()
      }
      json.endArray()
    case .applied(let results):
      json.write(name: "applied")
      json.beginArray()
      for result in results { json.write(string: result.text) }
      json.endArray()
    }
    json.endObject()
    return String(decoding: json.sink, as: UTF8.self)
  }

  /// Creates an outcome from its ``json``; `nil` for another text.
  package init?(json: String) {
    guard let value = try? JSONReader.value(of: json.utf8) else { return nil }
    if case .string(let text)? = value["created"], let id = PointID(text) {
      let version = value["version"].map(\.integer)
      if let version, version ?? 0 < 1 { return nil }
      self = .created(id, version: version ?? nil)
    } else if case .array(let counts)? = value["imported"], case .array(let rows)? = value["rejected"] {
      let rejections = rows.compactMap { row -> RejectedRow? in
        guard case .array(let parts) = row, parts.count == 2, let number = parts[0].integer,
          case .string(let detail) = parts[1]
        else { return nil }
        return RejectedRow(number: Int(number), detail: detail)
      }
      let (numbers, deleted) = (counts.compactMap(\.integer).map { Int($0) }, value["deleted"].map(\.integer))
      let others = ["kept", "keptEdits", "conflicts"].compactMap { name -> Int? in
        value[name].map { $0.integer.map { Int($0) } } ?? 0
      }
      guard counts.count == 4, numbers.count == 4, rejections.count == rows.count, deleted != .some(nil),
        others.count == 3,
        let report = ImportReport(
          created: numbers[0], updated: numbers[1], unchanged: numbers[2], deleted: (deleted ?? nil).map { Int($0) },
          kept: others[0], keptEdits: others[1], conflicts: others[2], rejected: numbers[3], rejections: rejections)
      else { return nil }
      self = .imported(report)
    } else if case .array(let texts)? = value["applied"] {
      let results = texts.compactMap { text -> PointOperationResult? in
        if case .string(let text) = text { PointOperationResult(text: text) } else { nil }
      }
      guard results.count == texts.count else { return nil }
      self = .applied(results)
    } else {
      return nil
    }
  }
}

extension JSONValue {
  /// The number, if it is a whole one in the range of 64 bits.
  fileprivate var integer: Int64? {
    if case .number(let text) = self { Int64(text) } else { nil }
  }
}
