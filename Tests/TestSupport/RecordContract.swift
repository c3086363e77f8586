import Basics
package import Points
import Testing

/// A behaviour that every store of records must have; ``all`` of them are the contract.
package struct RecordContract: Sendable, CustomTestStringConvertible {
  package typealias Store = RecordStore & PointStore

  package let testDescription: String
  private let body: @Sendable (any Store) async throws -> Void

  private init(_ behaviour: String, _ body: @escaping @Sendable (any Store) async throws -> Void) {
    testDescription = behaviour
    self.body = body
  }

  /// Records an issue for each deviation of a store.
  package func check(_ store: any Store) async throws { try await body(store) }

  private static let notes = RecordCollection("notes")
  private static let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_123_456)

  private static func time(afterDays days: Int) -> Timestamp { start.adding(.seconds(86_400 * days)) }

  private static func note(
    _ id: ExactText, in collection: RecordCollection = notes, revision: Int64 = 1,
    fields: [ExactText: ExactText] = [:], expiresAt: Timestamp? = nil, keptUntil: Timestamp? = nil,
    _ document: String = "1"
  ) -> Record {
    Record(
      collection, id: id, revision: revision, fields: fields, expiresAt: expiresAt, keptUntil: keptUntil,
      document: document)
  }

  private static func ids(_ store: any Store, _ query: RecordQuery) async throws -> [ExactText] {
    try await store.records(matching: query).map(\.id)
  }

  /// Expects a number of places, which no earlier behaviour has written.
  private static func expectPlaces(_ count: Int, in store: any Store) async throws {
    #expect(try await store.count(matching: PointQuery(limit: 1)) == count)
  }

  package static let all = [
    RecordContract("a record is read as it was written, and by its id, its fields and its expiry") {
      store async throws in
      let document = #"{ "a" : "é \u0000 \"x\"" }"#
      let first = note(
        "b", fields: ["state": "open", "key": "caf\u{E9} \"\\ \u{1}"], expiresAt: time(afterDays: 1),
        keptUntil: time(afterDays: 2), document)
      let second = note("a", fields: ["state": "open"], "[]")
      let other = note("b", in: RecordCollection("other"), fields: ["state": "open"])
      #expect(try await store.commit([.insert(first), .insert(second), .insert(other)]).isCommitted)

      #expect(try await store.record("b", in: notes) == first)
      #expect(try await store.record("c", in: notes) == nil)
      #expect(try await store.records(matching: RecordQuery(notes)) == [second, first])
      #expect(try await store.records(matching: RecordQuery(other.collection)) == [other])
      #expect(try await ids(store, RecordQuery(notes, fields: ["state": "open"])) == ["a", "b"])
      #expect(
        try await ids(store, RecordQuery(notes, fields: ["state": "open", "key": first.fields["key"]!])) == ["b"])
      // The same text with other bytes.
      #expect(try await ids(store, RecordQuery(notes, fields: ["key": "cafe\u{301} \"\\ \u{1}"])).isEmpty)
      let (before, at) = (start.adding(.seconds(86_399)), time(afterDays: 1))
      #expect(try await ids(store, RecordQuery(notes, .unexpired(at: before))) == ["a", "b"])
      #expect(try await ids(store, RecordQuery(notes, .unexpired(at: at))) == ["a"])
      #expect(try await ids(store, RecordQuery(notes, .expired(at: before))).isEmpty)
      #expect(try await ids(store, RecordQuery(notes, id: "b", .expired(at: at))) == ["b"])
    },
    RecordContract("a list continues after an id, and ends at its limit or above its bytes") { store async throws in
      let documents = (1...5).map { note(ExactText("\($0)"), #""\#(String(repeating: "x", count: 98))""#) }
      _ = try await store.commit(documents.map { .insert($0) })

      #expect(try await ids(store, RecordQuery(notes, limit: 2)) == ["1", "2"])
      #expect(try await ids(store, RecordQuery(notes, after: "2", limit: 2)) == ["3", "4"])
      #expect(try await ids(store, RecordQuery(notes, after: "5", limit: 2)).isEmpty)
      #expect(try await ids(store, RecordQuery(notes, maximumBytes: 1)) == ["1"])
      #expect(try await ids(store, RecordQuery(notes, after: "1", maximumBytes: 199)) == ["2", "3"])
      #expect(try await ids(store, RecordQuery(notes, maximumBytes: 500)).count == 5)
    },
    RecordContract("a record is inserted once, replaced by its revision, and removed once") { store async throws in
      let first = note("a", fields: ["n": "1"], expiresAt: time(afterDays: 1))
      #expect(try await store.commit([.insert(first)]).isCommitted)
      guard case .conflict = try await store.commit([.insert(note("a"))]) else {
        Issue.record("a record was inserted twice")
        return
      }

      #expect(try await store.commit([.replace(note("a", fields: ["n": "2"], "2"))]).isCommitted)
      let replaced = note("a", revision: 2, fields: ["n": "2"], "2")
      #expect(try await store.record("a", in: notes) == replaced)
      #expect(try await ids(store, RecordQuery(notes, fields: ["n": "1"])).isEmpty)
      #expect(try await !store.commit([.replace(note("a", "3"))]).isCommitted, "of the first revision")
      #expect(try await !store.commit([.replace(note("b", "3"))]).isCommitted, "there is none")
      #expect(try await store.record("a", in: notes) == replaced)

      #expect(try await store.commit([.remove(notes, id: "a")]).isCommitted)
      #expect(try await !store.commit([.remove(notes, id: "a")]).isCommitted)
      #expect(try await store.records(matching: RecordQuery(notes)).isEmpty)
    },
    RecordContract("a commit one of whose records has changed changes no other") { store async throws in
      _ = try await store.commit([.insert(note("a")), .insert(note("b")), .insert(note("c"))])

      let changes: [RecordChange] = [
        .insert(note("d")), .replace(note("a", "2")), .remove(notes, id: "b"), .replace(note("c", revision: 7, "2")),
      ]
      #expect(try await !store.commit(changes).isCommitted)
      #expect(try await store.records(matching: RecordQuery(notes)) == [note("a"), note("b"), note("c")])

      #expect(try await store.commit(Array(changes.dropLast())).isCommitted)
      #expect(
        try await store.records(matching: RecordQuery(notes)) == [note("a", revision: 2, "2"), note("c"), note("d")])
    },
    RecordContract("records and places are committed together, with what became of the places") { store async throws in
      let batch = PointBatch([.create(try .sample("new"))], isAtomic: true)

      let outcome = try await store.commit(applying: batch, within: nil) { results in
        guard case .created(let id, let version)? = results.first else { return [] }
        return [.insert(note(ExactText(id.description), "\(version)"))]
      }

      guard case .committed(let results) = outcome, case .created(let id, let version)? = results.first else {
        Issue.record("\(outcome)")
        return
      }
      #expect(try await store.committedPoint(id: id)?.version == version)
      #expect(try await store.record(ExactText(id.description), in: notes)?.document == "\(version)")
    },
    RecordContract("an operation on a place that fails leaves neither places nor records") { store async throws in
      let place = try await store.create(.sample("former"), once: nil)
      let change = PointOperation.put(try .sample("present"), id: place.id, if: .versions([place.version + 1]))
      let batch = PointBatch([.create(try .sample("new")), change], isAtomic: true)

      let outcome = try await store.commit(applying: batch, within: nil) { _ in [.insert(note("a"))] }

      guard case .failed(.conditionFailed) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(try await store.records(matching: RecordQuery(notes)).isEmpty)
      #expect(try await store.committedPoint(id: place.id) == place)
      try await expectPlaces(1, in: store)
    },
    RecordContract("a stale revision, a limit or an error leaves neither places nor records") { store async throws in
      _ = try await store.commit([.insert(note("a"))])
      let batch = PointBatch([.create(try .sample("new"))], isAtomic: true)

      let stale = try await store.commit(applying: batch, within: nil) { _ in
        [.insert(note("b")), .replace(note("a", revision: 2, "2"))]
      }
      let full = try await store.commit(
        applying: batch, within: RecordLimits(of: notes, at: start, [.init(1)])
      ) { _ in [.insert(note("b"))] }
      await #expect(throws: PointWriteError.store(.timeout)) {
        _ = try await store.commit(applying: batch, within: nil) { _ throws(PointStoreError) in throw .timeout }
      }

      guard case .conflict = stale, case .full(0) = full else {
        Issue.record("\(stale), \(full)")
        return
      }
      #expect(try await store.records(matching: RecordQuery(notes)) == [note("a")])
      try await expectPlaces(0, in: store)
    },
    RecordContract("of concurrent commits of one revision exactly one is made, with its places") { store async throws in
      _ = try await store.commit([.insert(note("a"))])
      let batch = PointBatch([.create(try .sample("new"))], isAtomic: true)

      let count = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<6 {
          group.addTask {
            try await store.commit(applying: batch, within: nil) { _ in [.replace(note("a", "\(number)"))] }.isCommitted
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }

      #expect(count == 1)
      #expect(try await store.record("a", in: notes)?.revision == 2)
      try await expectPlaces(1, in: store)
    },
    RecordContract("of concurrent insertions of one id exactly one is made, and of others all") { store async throws in
      let count = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask {
            try await store.commit([.insert(note("a")), .insert(note(ExactText("\(number)")))]).isCommitted
          }
        }
        for number in 10..<14 {
          group.addTask { try await store.commit([.insert(note(ExactText("\(number)")))]).isCommitted }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }

      #expect(count == 5)
      #expect(try await store.records(matching: RecordQuery(notes)).count == 6)
    },
    RecordContract("the first maximum that is reached prevents a commit, and expired records do not count") {
      store async throws in
      let mine = RecordLimits.Count(2, fields: ["key": "é"])
      func add(
        _ id: ExactText, _ key: ExactText, afterDays days: Int = 0, in collection: RecordCollection = notes
      ) async throws -> RecordOutcome {
        let limits = RecordLimits(of: notes, at: time(afterDays: days), [mine, .init(3)])
        let expiry = time(afterDays: days + 1)
        let record = note(id, in: collection, fields: ["key": key, "state": "open"], expiresAt: expiry)
        return try await store.commit([.insert(record)], within: limits)
      }
      for id: ExactText in ["1", "2"] { #expect(try await add(id, "é").isCommitted) }

      guard case .full(0) = try await add("3", "é") else {
        Issue.record("the maximum of the key was exceeded")
        return
      }
      #expect(try await add("3", "e").isCommitted == false, "a maximum holds whoever adds")
      #expect(try await add("3", "é", in: RecordCollection("other")).isCommitted == false)
      #expect(try await add("1", "x", afterDays: 1, in: RecordCollection("another")).isCommitted)
      #expect(try await add("4", "é", afterDays: 1).isCommitted)
      guard case .conflict = try await add("4", "é", afterDays: 0) else {
        Issue.record("a conflict is found first")
        return
      }
      #expect(try await store.records(matching: RecordQuery(notes)).map(\.id) == ["1", "2", "4"])
    },
    RecordContract("concurrent insertions reach a maximum, and those after them do not exceed it") {
      store async throws in
      let limits = RecordLimits(of: notes, at: start, [.init(3)])
      let count = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<8 {
          group.addTask { try await store.commit([.insert(note(ExactText("\(number)")))], within: limits).isCommitted }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }

      #expect((3...8).contains(count))
      #expect(try await store.records(matching: RecordQuery(notes)).count == count)
      guard case .full(0) = try await store.commit([.insert(note("9"))], within: limits) else {
        Issue.record("one more was inserted")
        return
      }
    },
    RecordContract("the mark of a summary changes with the ids, and with nothing else") { store async throws in
      let query = RecordQuery(notes, fields: ["state": "open"], .unexpired(at: start))
      let empty = try await store.summary(of: query)
      func add(_ id: ExactText, _ state: ExactText, expiresAt: Timestamp? = nil) async throws {
        _ = try await store.commit([.insert(note(id, fields: ["state": state], expiresAt: expiresAt))])
      }
      try await add("1", "open")
      try await add("2", "open", expiresAt: time(afterDays: 1))
      let two = try await store.summary(of: query)
      try await add("3", "closed")
      try await add("4", "open", expiresAt: start)
      _ = try await store.commit([.replace(note("1", fields: ["state": "open"], "2"))])
      let same = try await store.summary(of: query)
      _ = try await store.commit([.remove(notes, id: "1")])
      try await add("5", "open")
      let other = try await store.summary(of: query)

      #expect(empty.count == 0 && two.count == 2 && other.count == 2)
      #expect(same == two && other.mark != two.mark && empty.mark != two.mark)
    },
    RecordContract("records are removed from their time on, those of one collection alone") { store async throws in
      let other = RecordCollection("other")
      let changes: [RecordChange] = [
        .insert(note("1", keptUntil: time(afterDays: 1))), .insert(note("2", keptUntil: time(afterDays: 2))),
        .insert(note("3", expiresAt: start)), .insert(note("1", in: other, keptUntil: time(afterDays: 1))),
      ]
      _ = try await store.commit(changes)

      #expect(try await store.removeRecords(of: notes, keptUntil: start) == 0)
      #expect(try await store.removeRecords(of: notes, keptUntil: time(afterDays: 1)) == 1)
      #expect(try await ids(store, RecordQuery(notes)) == ["2", "3"])
      #expect(try await ids(store, RecordQuery(other)) == ["1"])
    },
  ]
}
