import Basics
import Foundation
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import SuggestedEdits

/// Suggestions in each store that keeps records.
@Suite struct SuggestionTests {
  @Test(arguments: KeptRecords.allCases, SuggestionContract.all)
  func contractIsKept(_ kind: KeptRecords, _ behaviour: SuggestionContract) async throws {
    try await kind.with { try await behaviour.check($0) }
  }

  private static let records = RecordCollection("suggestions")

  /// Replaces the documents of suggestions by one that can't be decoded.
  private func damage(_ suggestions: ArraySlice<Suggestion>, in store: any KeptRecords.Store) async throws {
    for suggestion in suggestions {
      var record = try #require(try await store.record(ExactText(suggestion.id.description), in: Self.records))
      record.document = "{}"
      #expect(try await store.commit([.replace(record)]).isCommitted)
    }
  }

  @Test(arguments: [KeptRecords.journal, .postgres])
  func suggestionsThatCannotBeDecodedAreLoggedOnceAndPreventNoOthers(_ kind: KeptRecords) async throws {
    let log = LogRecorder()
    try await kind.with(DamagedRows(logger: log.logger)) { store in
      let suggestions = Suggestions(store)
      let all = (1...6).map { Suggestion.sample($0) }
      for suggestion in all { _ = try await suggestions.add(suggestion) }
      try await damage(all[1...3], in: store)
      let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)

      let pages = [
        try await suggestions.page(matching: SuggestionQuery(limit: 3, now: start)),
        try await suggestions.page(matching: SuggestionQuery(limit: 2, after: all[0].id, now: start)),
        try await suggestions.page(matching: SuggestionQuery(limit: 9, now: start)),
      ]

      let rest = [all[0], all[4], all[5]].map(\.id)
      #expect(pages.map { $0.suggestions.map(\.id) } == [rest, Array(rest.dropFirst()), rest])
      #expect(pages.allSatisfy { !$0.hasMore })
      #expect(try await suggestions.suggestion(id: all[1].id) == nil)
      #expect(log.lines.count == 3 && log.lines.allSatisfy { $0.contains("suggestions") })
      // Whoever suggested them is erased with the others.
      #expect(try await suggestions.prune(at: start.adding(.seconds(30 * 86_400))) == 6)
      let erased = try await store.records(matching: RecordQuery(Self.records)).map(\.fields)
      #expect(erased == Array(repeating: ["state": "open"], count: 6))
      #expect(try await suggestions.prune(at: start.adding(.seconds(60 * 86_400))) == 6)
    }
  }

  @Test(arguments: KeptRecords.allCases)
  func damagedSuggestionIsNeitherAddedAgainNorDecided(_ kind: KeptRecords) async throws {
    try await kind.with { store in
      let suggestions = Suggestions(store)
      let key = IdempotencyKey(text: "client:1", requestHash: 1)
      let suggestion = Suggestion.sample(1)
      _ = try await suggestions.add(suggestion, once: key)
      try await damage([suggestion], in: store)
      let decision = Suggestion.Decision(isAccepted: true, reason: nil, time: suggestion.createdAt)

      let addition = try await suggestions.add(.sample(2), once: key)
      let outcome = try await suggestions.decide(suggestion.id, decision, changing: nil)

      if case .keyReused = addition {} else { Issue.record("\(addition)") }
      if case .unknown = outcome {} else { Issue.record("\(outcome)") }
      #expect(try await store.records(matching: RecordQuery(Self.records)).count == 1)
    }
  }

  @Test(arguments: KeptRecords.allCases)
  func concurrentRequestsWithOneKeyAddOneSuggestion(_ kind: KeptRecords) async throws {
    try await kind.with { store in
      let suggestions = Suggestions(store)
      let key = IdempotencyKey(text: "client:1", requestHash: 1)
      let ids = try await withThrowingTaskGroup(of: PointID?.self) { group in
        for number in 0..<8 {
          group.addTask {
            switch try await suggestions.add(.sample(number), once: key) {
            case .added: Suggestion.sample(number).id
            case .repeated(let known): known.id
            case .keyReused, .refused: nil
            }
          }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }

      #expect(ids.count == 1 && !ids.contains(nil))
      #expect(try await store.records(matching: RecordQuery(Self.records)).count == 1)
    }
  }
}

/// A behaviour that suggestions must have in every store; ``all`` of them are the contract.
struct SuggestionContract: Sendable, CustomTestStringConvertible {
  typealias Store = RecordStore & PointStore

  let testDescription: String
  private let body: @Sendable (any Store, Suggestions) async throws -> Void

  private init(_ behaviour: String, _ body: @escaping @Sendable (any Store, Suggestions) async throws -> Void) {
    testDescription = behaviour
    self.body = body
  }

  /// Records an issue for each deviation in a store.
  func check(_ store: any Store) async throws { try await body(store, Suggestions(store)) }

  private static let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)

  private static func time(afterDays days: Int) -> Timestamp { start.adding(.seconds(86_400 * days)) }

  private static func accepted(_ reason: String? = nil) -> Suggestion.Decision {
    Suggestion.Decision(isAccepted: true, reason: reason, time: time(afterDays: 1))
  }

  private static func ids(_ suggestions: Suggestions, _ query: SuggestionQuery) async throws -> [PointID] {
    try await suggestions.page(matching: query).suggestions.map(\.id)
  }

  static let all = [
    SuggestionContract("a suggestion is read as it was added, and by its state and place in pages") { _, suggestions in
      let added = (1...4).map { Suggestion.sample($0, place: $0 > 2 ? PointID(high: 7, low: 7) : nil) }
      for suggestion in added { _ = try await suggestions.add(suggestion) }
      _ = try await suggestions.decide(added[0].id, accepted(), changing: nil)
      let now = time(afterDays: 2)

      let read = try #require(try await suggestions.suggestion(id: added[3].id))
      #expect(read.change.hasSameBytes(as: added[3].change) && read.difference.hasSameBytes(as: added[3].difference))
      #expect(read.contact?.hasSameBytes(as: "a@example.com") == true && read.createdAt == start)
      #expect(try await suggestions.suggestion(id: PointID(high: 1, low: 1)) == nil)
      let all = added.map(\.id)
      #expect(try await ids(suggestions, SuggestionQuery(limit: 10, now: now)) == all)
      let open = try await suggestions.open(at: now)
      let later = try await suggestions.open(at: time(afterDays: 3))
      #expect(open.count == 3 && open.mark == later.mark)
      #expect(try await suggestions.open(at: time(afterDays: 31)).count == 0)
      #expect(try await ids(suggestions, SuggestionQuery(state: .open, limit: 2, now: now)) == Array(all[1...2]))
      #expect(try await ids(suggestions, SuggestionQuery(state: .open, limit: 2, after: all[2], now: now)) == [all[3]])
      #expect(try await ids(suggestions, SuggestionQuery(state: .accepted, limit: 9, now: now)) == [all[0]])
      let ofPlace = SuggestionQuery(place: PointID(high: 7, low: 7), limit: 9, now: now)
      #expect(try await ids(suggestions, ofPlace) == Array(all[2...]))
      let late = time(afterDays: 31)
      #expect(try await ids(suggestions, SuggestionQuery(state: .open, limit: 9, now: late)).isEmpty)
      #expect(try await ids(suggestions, SuggestionQuery(state: .expired, limit: 9, now: late)) == Array(all[1...]))
      #expect(try await ids(suggestions, SuggestionQuery(state: .accepted, limit: 9, now: late)) == [all[0]])
    },
    SuggestionContract("a page ends at its bytes, but not without a suggestion") { _, suggestions in
      let added = (1...4).map { Suggestion.sample($0) }
      for suggestion in added { _ = try await suggestions.add(suggestion) }
      var query = SuggestionQuery(limit: 10, now: start)
      query.maximumBytes = 1
      #expect(try await ids(suggestions, query) == [added[0].id])
      query.after = added[0].id
      #expect(try await ids(suggestions, query) == [added[1].id])
    },
    SuggestionContract("an acceptance changes the place and closes the suggestion together") { store, suggestions in
      let place = try await store.create(.sample("former"), once: nil)
      let (edit, creation) = (Suggestion.sample(1, place: place.id), Suggestion.sample(2))
      for suggestion in [edit, creation] { _ = try await suggestions.add(suggestion) }

      let change = PointOperation.put(try .sample("present"), id: place.id, if: .versions([place.version]))
      guard case .decided(let changed) = try await suggestions.decide(edit.id, accepted("seen"), changing: change)
      else {
        Issue.record("the suggestion was not accepted")
        return
      }
      let creating = PointOperation.create(try .sample("new"))
      guard case .decided(let created) = try await suggestions.decide(creation.id, accepted(), changing: creating)
      else {
        Issue.record("the suggestion was not accepted")
        return
      }

      let present = try #require(try await store.committedPoint(id: place.id))
      #expect(present.draft.name.hasSameBytes(as: "present"))
      #expect(changed.decision?.version == present.version && changed.decision?.place == place.id)
      let read = try #require(try await suggestions.suggestion(id: edit.id)?.decision)
      #expect(read.isAccepted && read.version == present.version && read.reason?.hasSameBytes(as: "seen") == true)
      let new = try #require(created.decision?.place)
      #expect(try await store.committedPoint(id: new)?.draft.name.hasSameBytes(as: "new") == true)
    },
    SuggestionContract("a change that fails leaves the suggestion open, and a closed one makes no change") {
      store, suggestions in
      let place = try await store.create(.sample("former"), once: nil)
      let suggestion = Suggestion.sample(1, place: place.id)
      _ = try await suggestions.add(suggestion)
      let stale = PointOperation.put(try .sample("present"), id: place.id, if: .versions([place.version + 1]))

      guard case .failed(.conditionFailed) = try await suggestions.decide(suggestion.id, accepted(), changing: stale)
      else {
        Issue.record("the change did not fail")
        return
      }
      #expect(try await suggestions.suggestion(id: suggestion.id)?.decision == nil)
      let rejection = Suggestion.Decision(isAccepted: false, reason: nil, time: time(afterDays: 1))
      guard case .decided = try await suggestions.decide(suggestion.id, rejection, changing: nil) else {
        Issue.record("the suggestion was not rejected")
        return
      }
      let change = PointOperation.put(try .sample("present"), id: place.id, if: .none)
      guard case .closed(let closed) = try await suggestions.decide(suggestion.id, accepted(), changing: change) else {
        Issue.record("the suggestion was decided twice")
        return
      }
      #expect(closed.decision?.isAccepted == false)
      #expect(try await store.committedPoint(id: place.id) == place)
      guard case .unknown = try await suggestions.decide(PointID(high: 1, low: 1), accepted(), changing: nil) else {
        Issue.record("an unknown suggestion was decided")
        return
      }
    },
    SuggestionContract("of concurrent acceptances exactly one makes the change, and the others find it made") {
      store, suggestions in
      let suggestion = Suggestion.sample(1)
      _ = try await suggestions.add(suggestion)
      // Only one place may have the origin.
      let creating = PointOperation.create(try .sample("new", sourceID: "1"))

      let outcomes = try await withThrowingTaskGroup(of: SuggestionOutcome.self) { group in
        for _ in 0..<6 {
          group.addTask { try await suggestions.decide(suggestion.id, accepted(), changing: creating) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(outcomes.count { if case .decided = $0 { true } else { false } } == 1)
      #expect(outcomes.count { if case .closed = $0 { true } else { false } } == 5)
      #expect(try await store.count(matching: PointQuery(limit: 1)) == 1)
    },
    SuggestionContract("a repeat with an idempotency key adds nothing") { _, suggestions in
      let key = IdempotencyKey(text: "a:1", requestHash: .max)
      _ = try await suggestions.add(.sample(1), once: key)

      guard case .repeated(let known)? = try await suggestions.addition(of: key, at: start) else {
        Issue.record("the key is not known")
        return
      }
      let other = IdempotencyKey(text: "another", requestHash: .max)
      if let addition = try await suggestions.addition(of: other, at: start) { Issue.record("\(addition)") }
      guard case .repeated(let first) = try await suggestions.add(.sample(2), once: key) else {
        Issue.record("the repeat was added")
        return
      }

      #expect(first.id == Suggestion.sample(1).id && known.id == first.id)
      #expect(try await ids(suggestions, SuggestionQuery(limit: 9, now: start)).count == 1)
    },
    SuggestionContract("an idempotency key is free as soon as its suggestion has expired") { _, suggestions in
      let first = IdempotencyKey(text: "a:1", requestHash: 1)
      let second = IdempotencyKey(text: "a:1", requestHash: 2)
      _ = try await suggestions.add(.sample(1), once: first)
      guard
        case .keyReused = try await suggestions.add(.sample(2, createdAt: time(afterDays: 29)), once: second),
        case .keyReused? = try await suggestions.addition(of: second, at: time(afterDays: 29))
      else {
        Issue.record("the key was free before the expiry")
        return
      }
      if let addition = try await suggestions.addition(of: first, at: time(afterDays: 30)) {
        Issue.record("\(addition)")
      }

      let later = Suggestion.sample(3, createdAt: time(afterDays: 30))
      guard case .added = try await suggestions.add(later, once: second) else {
        Issue.record("the key was not free after the expiry")
        return
      }

      guard
        case .repeated(let repeated) = try await suggestions.add(
          .sample(4, createdAt: time(afterDays: 31)), once: second)
      else {
        Issue.record("the repeat was added")
        return
      }
      #expect(repeated.id == later.id)
      #expect(try await suggestions.suggestion(id: Suggestion.sample(1).id) != nil)
      #expect(try await ids(suggestions, SuggestionQuery(limit: 9, now: start)).count == 2)
    },
    SuggestionContract("the open suggestions of a key and from an address are limited") { store, suggestions in
      for number in 0..<Suggestion.maximumOpenCountOfAddress { _ = try await suggestions.add(.sample(number)) }

      guard case .refused(.tooManyOfAddress) = try await suggestions.add(.sample(500)) else {
        Issue.record("one more was added")
        return
      }
      guard case .added = try await suggestions.add(.sample(500, address: "192.0.2.2")) else {
        Issue.record("a suggestion from another address was refused")
        return
      }
      _ = try await suggestions.decide(Suggestion.sample(0).id, accepted(), changing: nil)
      guard case .added = try await suggestions.add(.sample(501)) else {
        Issue.record("a suggestion was refused after one was closed")
        return
      }
      func open(_ count: Int, key: ExactText) -> [RecordChange] {
        (0..<count).map { number in
          let fields: [ExactText: ExactText] = ["state": "open", "key": key]
          let id = ExactText("\(key) \(number)")
          return .insert(Record(RecordCollection("suggestions"), id: id, fields: fields, document: "{}"))
        }
      }
      #expect(try await store.commit(open(Suggestion.maximumOpenCountOfKey, key: "other")).isCommitted)
      guard case .refused(.tooManyOfKey) = try await suggestions.add(.sample(502, address: "192.0.2.3", key: "other"))
      else {
        Issue.record("one more of a key was added")
        return
      }
      #expect(try await store.commit(open(Suggestion.maximumOpenCount, key: "third")).isCommitted)
      guard case .refused(.full) = try await suggestions.add(.sample(503, address: "192.0.2.4", key: "fourth")) else {
        Issue.record("one more was added")
        return
      }
    },
    SuggestionContract("senders are erased at expiry, and suggestions are removed as long after") {
      store, suggestions in
      let key = IdempotencyKey(text: "a:1", requestHash: 1)
      _ = try await suggestions.add(.sample(1), once: key)
      _ = try await suggestions.add(.sample(2))
      _ = try await suggestions.decide(Suggestion.sample(2).id, accepted(), changing: nil)

      #expect(try await suggestions.prune(at: time(afterDays: 29)) == 0)
      #expect(try await suggestions.suggestion(id: Suggestion.sample(2).id)?.contact != nil)
      #expect(try await suggestions.prune(at: time(afterDays: 30)) == 2)
      #expect(try await suggestions.prune(at: time(afterDays: 30)) == 0)
      for number in 1...2 {
        let erased = try #require(try await suggestions.suggestion(id: Suggestion.sample(number).id))
        #expect(erased.contact == nil && erased.key == nil && erased.address == nil)
        #expect((erased.decision != nil) == (number == 2))
      }
      #expect(try await store.records(matching: RecordQuery(RecordCollection("suggestion-keys"))).isEmpty)
      let late = Suggestion.Decision(isAccepted: false, reason: nil, time: time(afterDays: 30))
      guard case .closed = try await suggestions.decide(Suggestion.sample(1).id, late, changing: nil) else {
        Issue.record("an expired suggestion was decided")
        return
      }
      #expect(try await suggestions.prune(at: time(afterDays: 60)) == 2)
      #expect(try await ids(suggestions, SuggestionQuery(limit: 9, now: start)).isEmpty)
    },
  ]
}

extension Suggestion {
  /// Returns a suggestion with the id of a number, which expires after 30 days.
  static func sample(
    _ number: Int, place: PointID? = nil, address: String = "192.0.2.1", key: String? = "app",
    createdAt: Timestamp = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)
  ) -> Suggestion {
    Suggestion(
      id: PointID(high: 0x0199_0000_0000_7000, low: UInt64(number)), place: place, version: place.map { _ in 1 },
      change: #"{"name":"é \u0000 \"x\""}"#, difference: #"[{"field":"/name","before":null,"after":"x"}]"#,
      comment: "seen\nthere", contact: "a@example.com", key: key, address: address,
      createdAt: createdAt, lifetime: .seconds(30 * 86_400))
  }
}
