import Basics
package import Points
import Testing

/// A behaviour that every store of suggestions must have; ``all`` of them are the contract.
package struct SuggestionContract: Sendable, CustomTestStringConvertible {
  package typealias Store = SuggestionStore & PointStore

  package let testDescription: String
  private let body: @Sendable (any Store) async throws -> Void

  private init(_ behaviour: String, _ body: @escaping @Sendable (any Store) async throws -> Void) {
    testDescription = behaviour
    self.body = body
  }

  /// Records an issue for each deviation of a store.
  package func check(_ store: any Store) async throws { try await body(store) }

  private static let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)

  private static func time(afterDays days: Int) -> Timestamp { start.adding(.seconds(86_400 * days)) }

  private static func accepted(_ reason: String? = nil) -> Suggestion.Decision {
    Suggestion.Decision(isAccepted: true, reason: reason, time: time(afterDays: 1))
  }

  private static func ids(_ store: any Store, _ query: SuggestionQuery) async throws -> [PointID] {
    try await store.suggestions(matching: query).map(\.id)
  }

  package static let all = [
    SuggestionContract("a suggestion is read as it was added, and by its state and place in pages") { store in
      let added = (1...4).map { Suggestion.sample($0, place: $0 > 2 ? PointID(high: 7, low: 7) : nil) }
      for suggestion in added { _ = try await store.add(suggestion) }
      _ = try await store.decide(added[0].id, accepted(), changing: nil)
      let now = time(afterDays: 2)

      let read = try #require(try await store.suggestion(id: added[3].id))
      #expect(read.change.hasSameBytes(as: added[3].change) && read.difference.hasSameBytes(as: added[3].difference))
      #expect(read.contact?.hasSameBytes(as: "a@example.com") == true && read.createdAt == start)
      #expect(try await store.suggestion(id: PointID(high: 1, low: 1)) == nil)
      let all = added.map(\.id)
      #expect(try await ids(store, SuggestionQuery(limit: 10, now: now)) == all)
      let open = try await store.openSuggestions(at: now)
      let later = try await store.openSuggestions(at: time(afterDays: 3))
      #expect(open.count == 3 && open.mark.hasSameBytes(as: later.mark))
      #expect(try await store.openSuggestions(at: time(afterDays: 31)).count == 0)
      #expect(try await ids(store, SuggestionQuery(state: .open, limit: 2, now: now)) == Array(all[1...2]))
      #expect(try await ids(store, SuggestionQuery(state: .open, limit: 2, after: all[2], now: now)) == [all[3]])
      #expect(try await ids(store, SuggestionQuery(state: .accepted, limit: 9, now: now)) == [all[0]])
      let ofPlace = SuggestionQuery(place: PointID(high: 7, low: 7), limit: 9, now: now)
      #expect(try await ids(store, ofPlace) == Array(all[2...]))
      let late = time(afterDays: 31)
      #expect(try await ids(store, SuggestionQuery(state: .open, limit: 9, now: late)).isEmpty)
      #expect(try await ids(store, SuggestionQuery(state: .expired, limit: 9, now: late)) == Array(all[1...]))
      #expect(try await ids(store, SuggestionQuery(state: .accepted, limit: 9, now: late)) == [all[0]])
    },
    SuggestionContract("a list ends above its bytes, with the suggestion that exceeds them") { store in
      let added = (1...4).map { Suggestion.sample($0) }
      for suggestion in added { _ = try await store.add(suggestion) }
      var query = SuggestionQuery(limit: 10, now: start)
      query.maximumTextBytes = 1
      #expect(try await ids(store, query) == [added[0].id])
      query.after = added[0].id
      #expect(try await ids(store, query) == [added[1].id])
    },
    SuggestionContract("an acceptance changes the place and closes the suggestion together") { store in
      let place = try await store.create(.sample("former"), once: nil)
      let (edit, creation) = (Suggestion.sample(1, place: place.id), Suggestion.sample(2))
      for suggestion in [edit, creation] { _ = try await store.add(suggestion) }

      let change = PointOperation.put(try .sample("present"), id: place.id, if: .versions([place.version]))
      guard case .decided(let changed) = try await store.decide(edit.id, accepted("seen"), changing: change) else {
        Issue.record("the suggestion was not accepted")
        return
      }
      let creating = PointOperation.create(try .sample("new"))
      guard case .decided(let created) = try await store.decide(creation.id, accepted(), changing: creating) else {
        Issue.record("the suggestion was not accepted")
        return
      }

      let present = try #require(try await store.committedPoint(id: place.id))
      #expect(present.draft.name.hasSameBytes(as: "present"))
      #expect(changed.decision?.version == present.version && changed.decision?.place == place.id)
      let read = try #require(try await store.suggestion(id: edit.id)?.decision)
      #expect(read.isAccepted && read.version == present.version && read.reason?.hasSameBytes(as: "seen") == true)
      let new = try #require(created.decision?.place)
      #expect(try await store.committedPoint(id: new)?.draft.name.hasSameBytes(as: "new") == true)
    },
    SuggestionContract("a change that fails leaves the suggestion open, and a closed one makes no change") { store in
      let place = try await store.create(.sample("former"), once: nil)
      let suggestion = Suggestion.sample(1, place: place.id)
      _ = try await store.add(suggestion)
      let stale = PointOperation.put(try .sample("present"), id: place.id, if: .versions([place.version + 1]))

      guard case .failed(.conditionFailed) = try await store.decide(suggestion.id, accepted(), changing: stale) else {
        Issue.record("the change did not fail")
        return
      }
      #expect(try await store.suggestion(id: suggestion.id)?.decision == nil)
      let rejection = Suggestion.Decision(isAccepted: false, reason: nil, time: time(afterDays: 1))
      guard case .decided = try await store.decide(suggestion.id, rejection, changing: nil) else {
        Issue.record("the suggestion was not rejected")
        return
      }
      let change = PointOperation.put(try .sample("present"), id: place.id, if: .none)
      guard case .closed(let closed) = try await store.decide(suggestion.id, accepted(), changing: change) else {
        Issue.record("the suggestion was decided twice")
        return
      }
      #expect(closed.decision?.isAccepted == false)
      #expect(try await store.committedPoint(id: place.id) == place)
      guard case .unknown = try await store.decide(PointID(high: 1, low: 1), accepted(), changing: nil) else {
        Issue.record("an unknown suggestion was decided")
        return
      }
    },
    SuggestionContract("of concurrent acceptances exactly one makes the change") { store in
      let suggestion = Suggestion.sample(1)
      _ = try await store.add(suggestion)
      let creating = PointOperation.create(try .sample("new"))

      let count = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<6 {
          group.addTask {
            let outcome = try await store.decide(suggestion.id, accepted(), changing: creating)
            return if case .decided = outcome { true } else { false }
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }

      #expect(count == 1)
      #expect(try await store.count(matching: PointQuery(limit: 1)) == 1)
    },
    SuggestionContract("a repeat with an idempotency key adds nothing") { store in
      let key = IdempotencyKey(text: "a:1", requestHash: .max)
      _ = try await store.add(.sample(1, request: key))

      var query = SuggestionQuery(limit: 2, now: Suggestion.sample(1).createdAt)
      query.requestKey = key.text
      #expect(try await store.suggestions(matching: query).map(\.requestKey) == [key.text])
      query.requestKey = "another"
      #expect(try await store.suggestions(matching: query).isEmpty)
      guard case .repeated(let first) = try await store.add(.sample(2, request: key)) else {
        Issue.record("the repeat was added")
        return
      }

      #expect(first.id == Suggestion.sample(1).id && first.requestHash == .max)
      #expect(try await store.suggestions(matching: SuggestionQuery(limit: 9, now: start)).count == 1)
    },
    SuggestionContract("an idempotency key is free as soon as its suggestion has expired") { store in
      let first = IdempotencyKey(text: "a:1", requestHash: 1)
      let second = IdempotencyKey(text: "a:1", requestHash: 2)
      _ = try await store.add(.sample(1, request: first))
      guard
        case .repeated(let known) = try await store.add(
          .sample(2, request: second, createdAt: time(afterDays: 29)))
      else {
        Issue.record("the key was free before the expiry")
        return
      }
      #expect(known.id == Suggestion.sample(1).id)
      var query = SuggestionQuery(limit: 2, now: time(afterDays: 30))
      query.requestKey = first.text
      #expect(try await ids(store, query).isEmpty)

      let later = Suggestion.sample(3, request: second, createdAt: time(afterDays: 30))
      guard case .added = try await store.add(later) else {
        Issue.record("the key was not free after the expiry")
        return
      }

      #expect(try await ids(store, query) == [later.id])
      guard
        case .repeated(let repeated) = try await store.add(
          .sample(4, request: second, createdAt: time(afterDays: 31)))
      else {
        Issue.record("the repeat was added")
        return
      }
      #expect(repeated.id == later.id)
      #expect(try await store.suggestion(id: Suggestion.sample(1).id) != nil)
    },
    SuggestionContract("the open suggestions of a key and from an address are limited") { store in
      for number in 0..<Suggestion.maximumOpenCountOfAddress { _ = try await store.add(.sample(number)) }

      guard case .refused(.tooManyOfAddress) = try await store.add(.sample(500)) else {
        Issue.record("one more was added")
        return
      }
      guard case .added = try await store.add(.sample(500, address: "192.0.2.2")) else {
        Issue.record("a suggestion from another address was refused")
        return
      }
      _ = try await store.decide(Suggestion.sample(0).id, accepted(), changing: nil)
      guard case .added = try await store.add(.sample(501)) else {
        Issue.record("a suggestion was refused after one was closed")
        return
      }
      #expect(SuggestionRefusal(total: 1, ofKey: Suggestion.maximumOpenCountOfKey, ofAddress: 0) == .tooManyOfKey)
      #expect(SuggestionRefusal(total: Suggestion.maximumOpenCount, ofKey: 0, ofAddress: 0) == .full)
    },
    SuggestionContract("senders are erased at expiry, and suggestions are removed as long after") { store in
      let key = IdempotencyKey(text: "a:1", requestHash: 1)
      for suggestion in [Suggestion.sample(1, request: key), .sample(2)] { _ = try await store.add(suggestion) }
      _ = try await store.decide(Suggestion.sample(2).id, accepted(), changing: nil)

      #expect(try await store.pruneSuggestions(at: time(afterDays: 29)) == 0)
      #expect(try await store.suggestion(id: Suggestion.sample(2).id)?.contact != nil)
      #expect(try await store.pruneSuggestions(at: time(afterDays: 30)) == 2)
      #expect(try await store.pruneSuggestions(at: time(afterDays: 30)) == 0)
      for number in 1...2 {
        let erased = try #require(try await store.suggestion(id: Suggestion.sample(number).id))
        #expect(erased.contact == nil && erased.key == nil && erased.address == nil && erased.requestKey == nil)
        #expect((erased.decision != nil) == (number == 2))
      }
      let late = Suggestion.Decision(isAccepted: false, reason: nil, time: time(afterDays: 30))
      guard case .closed = try await store.decide(Suggestion.sample(1).id, late, changing: nil) else {
        Issue.record("an expired suggestion was decided")
        return
      }
      #expect(try await store.pruneSuggestions(at: time(afterDays: 60)) == 2)
      #expect(try await store.suggestions(matching: SuggestionQuery(limit: 9, now: start)).isEmpty)
    },
  ]
}

extension Suggestion {
  /// Returns a suggestion with the id of a number, which expires after 30 days.
  package static func sample(
    _ number: Int, place: PointID? = nil, address: String = "192.0.2.1", request: IdempotencyKey? = nil,
    key: String? = "app", createdAt: Timestamp = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)
  ) -> Suggestion {
    Suggestion(
      id: PointID(high: 0x0199_0000_0000_7000, low: UInt64(number)), place: place, version: place.map { _ in 1 },
      change: #"{"name":"é \u0000 \"x\""}"#, difference: #"[{"field":"/name","before":null,"after":"x"}]"#,
      comment: "seen\nthere", contact: "a@example.com", key: key, address: address, request: request,
      createdAt: createdAt, lifetime: .seconds(30 * 86_400))
  }
}
