import Basics
import Geo
package import Points
import Testing

/// A behaviour that the changes of every store must have; ``all`` of them are the contract.
package struct ChangeContract: Sendable {
  /// A store and its changes.
  package struct Subject: Sendable {
    let store: any PointStore
    let changes: any PointFeed

    package init(_ store: any PointStore, _ changes: any PointFeed) {
      self.store = store
      self.changes = changes
    }
  }

  /// The description of the behaviour.
  package let behaviour: String

  private let body: @Sendable (Subject) async throws -> Void

  init(_ behaviour: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
    self.behaviour = behaviour
    self.body = body
  }

  /// Records an issue for each deviation of an empty store.
  ///
  /// - Throws: the store's errors.
  package func check(_ subject: Subject) async throws { try await body(subject) }

  /// The complete contract.
  package static let all = log + [concurrent] + subscriptions

  /// The behaviours of the log.
  package static let log: [ChangeContract] = [
    ChangeContract("present position has no changes after it") { subject in
      _ = try await subject.store.create(.sample("a"), once: nil)
      let position = try await subject.changes.presentPosition()

      let page = try await subject.changes.page(after: position, limit: 10)

      #expect(page.changes.isEmpty && !page.hasMore)
    },
    ChangeContract("changed place comes once with its present state, a removed one with a greater version") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let (a, b) = (
        try await store.create(.sample("a"), once: nil), try await store.create(.sample("b"), once: nil)
      )
      let position = try await changes.presentPosition()
      for name in ["a2", "a3"] { _ = try await store.put(.sample(name), id: a.id, if: .none) }
      try await store.delete(id: b.id, if: .none)
      let c = try await store.create(.sample("c"), once: nil)

      let page = try await changes.page(after: position, limit: 10)

      let found = Dictionary(uniqueKeysWithValues: page.changes.map { ($0.id, $0) })
      #expect(found.count == 3 && !page.hasMore)
      #expect(found[a.id] == .put(try #require(try await store.point(id: a.id))))
      #expect(found[c.id] == .put(c))
      guard case .removal(let removal) = found[b.id] else {
        Issue.record("the removed place is \(String(describing: found[b.id]))")
        return
      }
      #expect(removal.version > b.version)
      let again = try await store.put(.sample("b2"), id: b.id, if: .none).point
      #expect(again.version > removal.version)
      #expect(try await changes.page(after: page.position, limit: 10).changes == [.put(again)])
    },
    ChangeContract("pages of any length have every change once, and end at the present position") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let position = try await changes.presentPosition()
      let rows = try (1...57).map { try ImportRow.sample("p\($0)", 1, 2, source: "s", sourceID: "\($0)", number: $0) }
      _ = try await store.importRows(Array(rows.prefix(40)))
      for row in rows.suffix(17) { _ = try await store.create(row.draft, once: nil) }

      for limit in [1, 7, 57, 58] {
        let (found, end) = try await changes.all(after: position, limit: limit)
        #expect(found.count == 57 && Set(found.map(\.id)).count == 57)
        #expect(try await changes.page(after: end, limit: limit).changes.isEmpty)
      }
    },
    ChangeContract("changes between the pages are on a later page") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let position = try await changes.presentPosition()
      let rows = try (1...20).map { try ImportRow.sample("p\($0)", 1, 2, source: "s", sourceID: "\($0)", number: $0) }
      _ = try await store.importRows(rows)

      var copy: [PointID: PointOfInterest] = [:]
      var start = position
      var isLast = false
      var round = 0
      while !isLast {
        let page = try await changes.page(after: start, limit: 3)
        copy.apply(page.changes)
        start = page.position
        isLast = !page.hasMore
        round += 1
        guard round < 6 else { continue }
        let all = try await store.allPoints()
        _ = try await store.put(.sample("changed \(round)"), id: all[round].id, if: .none)
        try await store.delete(id: all[10 + round].id, if: .none)
        _ = try await store.create(.sample("new \(round)"), once: nil)
        isLast = false
      }
      copy.apply(try await changes.all(after: start, limit: 3).changes)

      #expect(copy == Dictionary(uniqueKeysWithValues: try await store.allPoints().map { ($0.id, $0) }))
    },
    ChangeContract("place that does not match the conditions is outside") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let position = try await changes.presentPosition()
      let near = try await store.create(.sample("near", 1, 2, category: "cafe"), once: nil)
      let far = try await store.create(.sample("far", 60, 2, category: "cafe"), once: nil)
      let other = try await store.create(.sample("other", 1, 2, category: "bar"), once: nil)
      let page = try await changes.page(after: position, limit: 10)

      var inBox = PointQuery(box: try BoundingBox(west: 1, south: 0, east: 3, north: 2), categories: ["cafe"])
      inBox.source = nil
      let found = try changes.changes(page.changes, matching: inBox)
      let around = try changes.changes(page.changes, matching: .near(1, 2, radiusMetres: 10))

      #expect(
        Set(found)
          == [.put(near), .outside(far.id, version: far.version), .outside(other.id, version: other.version)])
      #expect(Set(around) == [.put(near), .outside(far.id, version: far.version), .put(other)])
      #expect(try changes.changes(page.changes, matching: PointQuery()) == page.changes)
    },
    ChangeContract("position of another store, of the future or of nothing is rejected") { subject in
      _ = try await subject.store.create(.sample("a"), once: nil)
      for text in ["", "x", "a.b.c!", "1.2.3 ", "ä.1", "-", "1..2"] {
        await #expect(throws: ChangeReadError.malformed) { try await subject.changes.page(after: text, limit: 1) }
      }
      let position = try await subject.changes.presentPosition()
      for text in ["1.2", "1.2.3", "zz.1.1", "1.2-3.4", position + ".zzzzzzz", "1" + position.dropFirst()]
      where text != position {
        let error = await #expect(throws: ChangeReadError.self) {
          try await subject.changes.page(after: text, limit: 1)
        }
        switch error {
        case .expired, .malformed: break
        default: Issue.record("\(text): \(String(describing: error))")
        }
      }
    },
    ChangeContract("position of the future is expired") { subject in
      _ = try await subject.store.create(.sample("a"), once: nil)
      let parts = try await subject.changes.presentPosition().split(separator: ".")
      let later = parts.dropFirst().map { String((UInt64($0, radix: 36) ?? 0) + 1_000_000_000, radix: 36) }
      let future = ([String(parts[0])] + later).joined(separator: ".")

      let error = await #expect(throws: ChangeReadError.self) {
        try await subject.changes.page(after: future, limit: 1)
      }
      guard case .expired = error else {
        Issue.record("\(future): \(String(describing: error))")
        return
      }
    },
    ChangeContract("position includes the ones before it") { subject in
      let before = try await subject.changes.presentPosition()
      _ = try await subject.store.create(.sample("a"), once: nil)
      let after = try await subject.changes.presentPosition()

      #expect(subject.changes.includes(before, in: after) && !subject.changes.includes(after, in: before))
      #expect(subject.changes.includes(after, in: after) && !subject.changes.includes("x", in: after))
    },
  ]

  private static let subscriptions: [ChangeContract] = [
    ChangeContract("subscription has changes of places that matched before or after") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let box = try BoundingBox(west: 1, south: 0, east: 3, north: 2)
      let subscription = changes.subscribe(matching: PointQuery(box: box, categories: ["cafe"]))
      try await subscription.settle { try await store.create(.sample("first", 1, 2, category: "cafe"), once: nil) }
      let start = try await changes.presentPosition()

      let a = try await store.create(.sample("a", 1, 2, category: "cafe"), once: nil)
      #expect(try await subscription.change(after: start, changes) == .put(a))
      _ = try await store.create(.sample("elsewhere", 50, 2, category: "cafe"), once: nil)
      let moved = try await store.put(.sample("a", 50, 2, category: "cafe"), id: a.id, if: .none).point
      #expect(try await subscription.change(after: start, changes) == .outside(a.id, version: moved.version))
      let back = try await store.put(.sample("a", 1.5, 2, category: "cafe"), id: a.id, if: .none).point
      #expect(try await subscription.change(after: start, changes) == .put(back))
      try await store.delete(id: a.id, if: .none)
      guard case .removal(let removal) = try await subscription.change(after: start, changes) else {
        Issue.record("the removal did not come")
        return
      }
      #expect(removal.id == a.id && removal.version > back.version)
    },
    ChangeContract("reader of a subscription that takes nothing is sent to the log") { subject in
      let (store, changes) = (subject.store, subject.changes)
      let subscription = changes.subscribe(matching: PointQuery())
      let marker = changes.subscribe(matching: PointQuery(categories: ["last"]))
      let position = try await changes.presentPosition()
      for number in 0...ChangeSubscription.capacity { _ = try await store.create(.sample("\(number)"), once: nil) }
      _ = try await store.create(.sample("end", category: "last"), once: nil)
      // It has the last change, or is sent to the log with all others, where changes come faster than they are delivered.
      _ = await marker.next(until: .now + .seconds(60))

      guard case .interrupted = await subscription.next(until: .now + .seconds(60)) else {
        Issue.record("the reader is not interrupted")
        return
      }
      #expect(try await changes.all(after: position, limit: 1000).changes.count == ChangeSubscription.capacity + 2)
    },
    ChangeContract("subscription ends when the server shuts down") { subject in
      let subscription = subject.changes.subscribe(matching: PointQuery())
      subject.changes.close()
      for subscription in [subscription, subject.changes.subscribe(matching: PointQuery())] {
        guard case .closing = await subscription.next(until: .now + .seconds(60)) else {
          Issue.record("the subscription does not end")
          return
        }
      }
    },
  ]

  private static let concurrent = ChangeContract(
    "copies from pages of any length beside concurrent writers equal the places at the end"
  ) { subject in
    let (store, changes) = (subject.store, subject.changes)
    let position = try await changes.presentPosition()
    let hasEnded = Counter()
    let copies = try await withThrowingTaskGroup(of: [PointID: PointOfInterest].self) { group in
      for limit in [1, 5, 1000] {
        group.addTask {
          var copy: [PointID: PointOfInterest] = [:]
          var start = position
          var isInside = false
          while true {
            // The pages of a difference that was begun before the end lack what came after it.
            let isLast = hasEnded.value > 0 && !isInside
            let page = try await changes.page(after: start, limit: limit)
            copy.apply(page.changes)
            start = page.position
            isInside = page.hasMore
            if isLast, !page.hasMore { return copy }
            // A store in memory never suspends, and the writers need a thread.
            await Task.yield()
          }
        }
      }
      try await write(to: store)
      hasEnded.add()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let places = Dictionary(uniqueKeysWithValues: try await store.allPoints().map { ($0.id, $0) })
    for copy in copies { #expect(copy == places) }
  }

  /// Has four writers change the same places.
  private static func write(to store: any PointStore) async throws {
    let ids = (0..<40).map { PointID.sample(UInt64($0)) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for round in 0..<60 {
            let id = ids[(writer * 17 + round * 7) % ids.count]
            switch (writer + round) % 4 {
            case 0: try? await store.delete(id: id, if: .none)
            case 1:
              let rows = try (0..<5).map { index in
                try ImportRow.sample("\(writer) \(round)", 1, 2, id: ids[(round + index) % ids.count], number: index)
              }
              _ = try await store.importRows(rows)
            default: _ = try await store.put(.sample("\(writer) \(round)"), id: id, if: .none)
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

extension ChangeContract: CustomTestStringConvertible {
  /// The behaviour, for the report of a test.
  package var testDescription: String { behaviour }
}

extension [PointID: PointOfInterest] {
  /// Applies changes to a copy of the places.
  package mutating func apply(_ changes: [PointChange]) {
    for change in changes {
      switch change {
      case .put(let point): self[point.id] = point
      case .removal(let removal): self[removal.id] = nil
      case .outside(let id, _): self[id] = nil
      }
    }
  }
}

extension ChangeLog {
  /// Returns all changes after a position, in pages, and the position after them.
  ///
  /// - Throws: ``Points/ChangeReadError``.
  package func all(
    after position: String, limit: Int
  ) async throws(ChangeReadError) -> (changes: [PointChange], position: String) {
    var (found, position): ([PointChange], String) = ([], position)
    while true {
      let page = try await page(after: position, limit: limit)
      found += page.changes
      position = page.position
      if !page.hasMore { return (found, position) }
    }
  }
}

extension ChangeSubscription {
  /// Waits until changes come: an index that has just begun to follow sends its subscribers to the log.
  ///
  /// - Parameter create: creates a place that matches.
  fileprivate func settle(_ create: () async throws -> PointOfInterest) async throws {
    var created = try await create()
    while true {
      switch await next(until: .now + .seconds(60)) {
      case .batches(let batches):
        if batches.contains(where: { $0.changes.contains { $0.id == created.id } }) { return }
      case .interrupted:
        created = try await create()
      case .timedOut, .closing:
        Issue.record("no change came")
        return
      }
    }
  }

  /// Returns the next change. Several of one place that are made at a time may come as one.
  fileprivate func change(after position: String, _ log: any PointFeed) async throws -> PointChange? {
    try await changes(count: 1, after: position, log).first
  }

  /// Returns the next changes, up to a number. It records an issue if they do not come.
  fileprivate func changes(
    count: Int, after position: String, _ log: any PointFeed
  ) async throws -> [PointChange] {
    var found: [PointChange] = []
    while found.count < count {
      switch await next(until: .now + .seconds(60)) {
      case .batches(let batches):
        found += batches.filter { !log.includes($0.position, in: position) }.flatMap(\.changes)
      default:
        Issue.record("only \(found.count) of \(count) changes came")
        return found
      }
    }
    return found
  }
}
