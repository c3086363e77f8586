import Basics
import Geo
import Points
import SyntheticData
import Testing

extension WriteContract {
  static let batches: [WriteContract] = [
    WriteContract("operations of a batch have the results of single calls and see each other's effects") { makeStore in
      let store = try await makeStore([
        .sample("old", 1, 1, source: "s", sourceID: "1", id: .sample(1)), .sample("other", 1, 1, id: .sample(2)),
        .sample("gone", 1, 1, source: "s", sourceID: "3", id: .sample(3)), .sample("same", 1, 2, id: .sample(4)),
      ])
      let before = try await store.versions()

      let results = try await store.apply(
        PointBatch([
          .create(try .sample("new")),
          .put(try .sample("put"), id: .sample(5), if: .none),
          .put(try .sample("replaced", sourceID: "1"), id: .sample(1), if: .versions([before[.sample(1)] ?? 0])),
          .renaming(.sample(2), "patched"),
          .delete(id: .sample(3), if: .exists),
          .put(try .sample("same"), id: .sample(4), if: .none),
          .delete(id: .sample(5), if: .none),
          .renaming(.sample(2), "patched again"),
        ]))

      let after = try await store.versions()
      guard case .created(let id, let version) = results[0] else { throw UnexpectedResult(results[0]) }
      #expect(after[id] == version)
      guard case .created(.sample(5), let put) = results[1] else { throw UnexpectedResult(results[1]) }
      #expect(put > 0 && after[.sample(5)] == nil)
      #expect(results[2] == .changed(.sample(1), version: after[.sample(1)] ?? 0))
      guard case .changed(.sample(2), let first) = results[3], case .changed(.sample(2), let last) = results[7] else {
        throw UnexpectedResult(results[3])
      }
      #expect(first > before[.sample(2)] ?? 0 && last > first && after[.sample(2)] == last)
      #expect(results[4] == .deleted(.sample(3)))
      #expect(results[5] == .changed(.sample(4), version: before[.sample(4)] ?? 0))
      #expect(results[6] == .deleted(.sample(5)))
      #expect(try await store.allNames() == ["new", "patched again", "replaced", "same"])
    },
    WriteContract("operations of a batch that fail leave the others as they are") { makeStore in
      let store = try await makeStore([
        .sample("owner", 1, 1, source: "s", sourceID: "1", id: .sample(1)), .sample("other", 1, 1, id: .sample(2)),
      ])
      let versions = try await store.versions()

      let results = try await store.apply(
        PointBatch([
          .create(try .sample("taken", sourceID: "1")),
          .put(try .sample("taken", sourceID: "1"), id: .sample(2), if: .none),
          .put(try .sample("conditional"), id: .sample(2), if: .versions([7])),
          .put(try .sample("conditional"), id: .sample(2), if: .absent),
          .put(try .sample("conditional"), id: .sample(9), if: .exists),
          .delete(id: .sample(9), if: .none), .delete(id: .sample(1), if: .versions([7])),
          .renaming(.sample(9), "absent"),
          .update(id: .sample(2), if: .none) { _ throws(RejectedOperation) in throw RejectedOperation(text: "a b\n c")
          },
          .rejected(RejectedOperation(text: "invalid")),
          .create(try .sample("twin", sourceID: "2")), .create(try .sample("twin", sourceID: "2")),
          .put(try .sample("good"), id: .sample(3), if: .absent),
        ]))

      let version = try #require(versions[.sample(2)])
      #expect(
        Array(results[..<10]) == [
          .originTaken, .originTaken, .conditionFailed(currentVersion: version),
          .conditionFailed(currentVersion: version), .conditionFailed(currentVersion: nil), .notFound,
          .conditionFailed(currentVersion: versions[.sample(1)]), .notFound,
          .rejected(RejectedOperation(text: "a b\n c")), .rejected(RejectedOperation(text: "invalid")),
        ])
      #expect(!results[10].isFailure && results[11] == .originTaken && !results[12].isFailure)
      #expect(try await store.allNames() == ["good", "other", "owner", "twin"])
      #expect(try await store.versions()[.sample(2)] == version)
    },
    WriteContract("atomic batch with an operation that fails changes nothing, also after dependent ones") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, source: "s", sourceID: "1", id: .sample(1)), .sample("b", 1, 1, id: .sample(2)),
      ])
      let before = try await store.allPoints()
      let key = IdempotencyKey(text: "t:k", requestHash: 1)
      let dependent: [PointOperation] = [.renaming(.sample(2), "x"), .renaming(.sample(2), "y")]
      let failing: [PointOperation] = [
        .delete(id: .sample(9), if: .none), .create(try .sample("taken", sourceID: "2")),
        .put(try .sample("c"), id: .sample(2), if: .versions([7])), .rejected(RejectedOperation(text: "invalid")),
      ]

      for prefix in [[], dependent] {
        for operation in failing {
          let operations =
            [.create(try .sample("new", sourceID: "2")), .delete(id: .sample(1), if: .none)] + prefix + [operation]
            + [.create(try .sample("later"))]
          let results = try await store.apply(PointBatch(operations, isAtomic: true, once: key))
          #expect(results.count == prefix.count + 3)
          #expect(results.last?.isFailure == true && results.dropLast().allSatisfy { !$0.isFailure })
          #expect(try await store.allPoints() == before)
        }
      }
      let whole = try await store.apply(
        PointBatch(dependent + [.delete(id: .sample(1), if: .none)], isAtomic: true, once: key))

      #expect(whole.allSatisfy { !$0.isFailure })
      #expect(try await store.allNames() == ["y"])
    },
    WriteContract("batch with a key is applied once, and a retry returns its results") { makeStore in
      let store = try await makeStore([.sample("b", 1, 1, id: .sample(2))])
      for (number, isDependent) in [false, true].enumerated() {
        let key = IdempotencyKey(text: "t:\(number)", requestHash: 5)
        var operations: [PointOperation] = [
          .create(try .sample("new")), .delete(id: .sample(9), if: .none), .renaming(.sample(2), "b\(number)"),
          .update(id: .sample(2), if: .none) { _ throws(RejectedOperation) in
            throw RejectedOperation(text: #"{"a":"é"}"#)
          },
          .put(try .sample("same \(number)"), id: .sample(7), if: .none),
        ]
        if isDependent { operations.append(.delete(id: .sample(7), if: .none)) }
        let first = try await store.apply(PointBatch(operations, once: key))
        let names = try await store.allNames()

        let again = try await store.apply(PointBatch(operations, once: key))

        #expect(again == first)
        #expect(try await store.allNames() == names)
        await #expect(throws: PointWriteError.keyReused) {
          try await store.apply(PointBatch(operations, once: IdempotencyKey(text: "t:\(number)", requestHash: 6)))
        }
        await #expect(throws: PointWriteError.keyReused) {
          try await store.create(try .sample("x"), once: IdempotencyKey(text: "t:\(number)", requestHash: 6))
        }
      }
    },
    WriteContract("key of a batch all of whose operations fail is not kept") { makeStore in
      let store = try await makeStore([])
      for isAtomic in [false, true] {
        let key = IdempotencyKey(text: "t:\(isAtomic)", requestHash: 5)
        let failing: [PointOperation] = [
          .delete(id: .sample(9), if: .none), .rejected(RejectedOperation(text: "invalid")),
        ]

        _ = try await store.apply(PointBatch(failing, isAtomic: isAtomic, once: key))
        let again = try await store.apply(
          PointBatch(
            [.put(try .sample("new"), id: .sample(1), if: .none)], isAtomic: isAtomic,
            once: IdempotencyKey(text: "t:\(isAtomic)", requestHash: 6)))

        #expect(again.count == 1 && again.allSatisfy { !$0.isFailure })
      }
    },
    WriteContract("retry of a batch has failures in the brief form, and those of the caller whole") { makeStore in
      let store = try await makeStore([.sample("a", 1, 1, id: .sample(2))])
      let long = String(repeating: "long ", count: 10_000)
      let operations: [PointOperation] = [
        .put(try .sample("new"), id: .sample(1), if: .none),
        .rejected(RejectedOperation(text: "all of it", brief: "brief")),
        .update(id: .sample(2), if: .none) { _ throws(RejectedOperation) in
          throw RejectedOperation(text: long, brief: "brief é")
        },
      ]
      let key = IdempotencyKey(text: "t:k", requestHash: 5)

      let first = try await store.apply(PointBatch(operations, once: key))
      let again = try await store.apply(PointBatch(operations, once: key))

      #expect(again[0] == first[0])
      #expect(first[1...] == [operations[1].rejection, .rejected(RejectedOperation(text: long, brief: "brief é"))])
      #expect(again[1...] == [operations[1].rejection, .rejected(RejectedOperation(text: "brief é"))])
    },
    WriteContract("batch that reads and rewrites too much of stored places changes nothing") { makeStore in
      // A replacement and a patch count as much as the place may have become, and a repeated deletion each time.
      let tags = (0..<400).map { ("k\($0)", String(repeating: "x", count: 1_900)) }
      let large = try PointDraft(
        name: "large", category: nil, coordinate: try Coordinate(latitude: 1, longitude: 1), tags: try Tags(tags),
        source: "s", sourceID: "large")
      let store = try await makeStore([
        ImportRow(number: 1, id: .sample(1), draft: large), .sample("small", 1, 1, id: .sample(2)),
      ])
      let key = IdempotencyKey(text: "t:k", requestHash: 5)
      let former = try await store.allPoints()
      let patch = PointOperation.renaming(.sample(1), "patched")
      let replacement = PointOperation.put(try .sample("replaced"), id: .sample(1), if: .none)
      func growing(by bytes: Int) throws -> PointOperation {
        .update(id: .sample(2), if: .none, growth: bytes) { point throws(RejectedOperation) in
          try point.draft(name: "grown", tags: nil)
        }
      }
      let tooLarge: [[PointOperation]] = [
        Array(repeating: patch, count: 12), Array(repeating: replacement, count: 24),
        Array(repeating: .delete(id: .sample(1), if: .none), count: 24),
        [.put(large, id: .sample(7), if: .none)] + Array(repeating: .renaming(.sample(7), "x"), count: 12),
        [.create(large)] + Array(repeating: .renaming(.sample(8), "x"), count: 12),
        [try growing(by: 1_000_000)] + Array(repeating: .renaming(.sample(2), "x"), count: 9),
      ]

      for operations in tooLarge {
        for isAtomic in [false, true] {
          await #expect(throws: PointWriteError.tooLarge) {
            try await store.apply(PointBatch(operations, isAtomic: isAtomic, once: key))
          }
        }
      }
      #expect(try await store.allPoints() == former)
      let allowed = try await store.apply(
        PointBatch(
          Array(repeating: patch, count: 7) + Array(repeating: .renaming(.sample(2), "patched"), count: 50), once: key))

      #expect(allowed.allSatisfy { !$0.isFailure })
      #expect(try await store.allNames() == ["patched", "patched"])
    },
    WriteContract("size of places that do not exist for the sender does not count") { makeStore in
      let tags = (0..<400).map { ("k\($0)", String(repeating: "x", count: 1_900)) }
      let hidden = try PointDraft(
        name: "large", category: "hidden", coordinate: try Coordinate(latitude: 1, longitude: 1), tags: try Tags(tags),
        source: nil, sourceID: nil)
      let store = try await makeStore([ImportRow(number: 1, id: .sample(1), draft: hidden)])
      var batch = PointBatch(Array(repeating: .delete(id: .sample(1), if: .none), count: 100))
      batch.admits = { points in points.map { $0.draft.category != "hidden" } }

      let results = try await store.apply(batch)

      #expect(results == Array(repeating: .notFound, count: 100))
    },
    WriteContract("place that a caller creates who may not know of some places has a new id") { makeStore in
      let store = try await makeStore([
        .sample("hidden", 1, 1, category: "hidden", source: "s", sourceID: "1", id: .sample(1)),
        .sample("hidden", 1, 1, category: "hidden", source: "s", sourceID: "2", id: .sample(2)),
        .sample("hidden", 1, 1, category: "hidden", source: "s", sourceID: "3", id: .sample(3)),
        .sample("hidden", 1, 1, category: "hidden", source: "s", sourceID: "4", id: .sample(4)),
        .sample("hidden", 1, 1, category: "hidden", source: "s", sourceID: "5", id: .sample(5)),
      ])
      for number in 1...5 as ClosedRange<UInt64> { try await store.delete(id: .sample(number), if: .none) }
      _ = try await store.forgetEdits(of: .sample(4))
      let key = IdempotencyKey(text: "t:k", requestHash: 5)
      var batch = PointBatch([.create(try .sample("new", sourceID: "1"))])
      batch.admits = { points in points.map { $0.draft.category != "hidden" } }
      var options = ImportOptions()
      options.admits = batch.admits

      let results = try await store.apply(batch)
      let created = try await store.create(try .sample("new", sourceID: "2"), once: nil, reusingID: false)
      let keyed = try await store.create(try .sample("new", sourceID: "3"), once: key, reusingID: false)
      let rows = [try ImportRow.sample("new", 1, 1, source: "s", sourceID: "4")]
      _ = try await store.importRows(rows.inOneBatch, options: options)
      let reused = try await store.create(try .sample("again", sourceID: "5"), once: nil)

      let ids = Set(try await store.allPoints().map(\.id))
      #expect(!results[0].isFailure && ids.count == 5)
      #expect(ids.isDisjoint(with: (1...4).map { .sample($0) }))
      #expect(ids.isSuperset(of: [created.id, keyed.id]) && reused.id == .sample(5))
      #expect(try await store.create(try .sample("new", sourceID: "3"), once: key, reusingID: false) == keyed)
    },
    WriteContract("sources and ids move between the places of a batch") { makeStore in
      let store = try await makeStore([
        .sample("a", 1, 1, source: "s", sourceID: "1", id: .sample(1)),
        .sample("b", 1, 1, source: "s", sourceID: "2", id: .sample(2)),
        .sample("c", 1, 1, source: "s", sourceID: "3", id: .sample(3)),
      ])
      let former = try #require(try await store.versions()[.sample(3)])

      let results = try await store.apply(
        PointBatch(
          [
            .put(try .sample("a"), id: .sample(1), if: .none),
            .put(try .sample("b", sourceID: "1"), id: .sample(2), if: .none),
            .put(try .sample("a", sourceID: "2"), id: .sample(1), if: .none),
            .delete(id: .sample(3), if: .none),
            .create(try .sample("c again", sourceID: "3")),
          ], isAtomic: true))

      guard case .created(.sample(3), let version) = results[4] else { throw UnexpectedResult(results[4]) }
      #expect(version > former)
      let origins = try await store.allPoints().map { "\($0.draft.name) \($0.draft.origin?.sourceID ?? "")" }
      #expect(origins == ["a 2", "b 1", "c again 3"])
    },
    WriteContract("batch of a thousand places creates, changes and deletes them") { makeStore in
      let store = try await makeStore([])
      let places = try (0..<1_000).map { try PointDraft.sample("place \($0)", sourceID: "\($0)") }

      let created = try await store.apply(PointBatch(places.map { .create($0) }, isAtomic: true))
      let points = try await store.allPoints()
      let changed = try await store.apply(
        PointBatch(points.map { .renaming($0.id, "changed", if: .versions([$0.version])) }))
      let names = Set(try await store.allNames())
      let versions = try await store.versions()
      let deleted = try await store.apply(PointBatch(points.map { .delete(id: $0.id, if: .none) }, isAtomic: true))
      let again = try await store.apply(PointBatch(places.map { .create($0) }))

      #expect(Set(points.map { PointOperationResult.created($0.id, version: $0.version) }) == Set(created))
      #expect(changed == points.map { .changed($0.id, version: versions[$0.id] ?? 0) })
      #expect(names == ["changed"])
      #expect(deleted == points.map { .deleted($0.id) })
      #expect(try await store.allPoints().map(\.id) == points.map(\.id))
      for result in again {
        guard case .created(let id, let version) = result else { throw UnexpectedResult(result) }
        #expect(version > versions[id] ?? .max)
      }
    },
    WriteContract("batches and single writes of the same places at once are all made, one after another") { makeStore in
      let store = try await makeStore(
        (1...20).map { try .sample("n", 1, 1, tags: ["n": "0"], id: .sample(UInt64($0))) })
      let ids = (1...20).map { PointID.sample(UInt64($0)) }

      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            let order = number.isMultiple(of: 2) ? ids : ids.reversed()
            let results = try await store.apply(PointBatch(order.map { .incrementing($0) }, isAtomic: number < 2))
            #expect(results.allSatisfy { !$0.isFailure })
          }
        }
        group.addTask {
          for number in 100..<110 {
            _ = try await store.put(try .sample("single \(number)"), id: .sample(UInt64(number)), if: .none)
          }
        }
        try await group.waitForAll()
      }

      let points = try await store.allPoints().filter { ids.contains($0.id) }
      #expect(points.map { $0.draft.tags.json } == ids.map { _ in #"{"n":"4"}"# })
    },
    WriteContract("random batches have the results and effects of the reference, also where places are hidden") {
      makeStore in
      let store = try await makeStore([])
      var reference = ReferencePlaces()
      var random = RandomOperations()
      for number in 0..<60 {
        let operations = try (0..<Int.random(in: 1...10, using: &random.generator)).map { _ in try random.next() }
        var batch = PointBatch(operations, isAtomic: number % 3 == 0)
        if number % 2 == 0 { batch.admits = { points in points.map { $0.draft.category != "hidden" } } }

        let results = try await store.apply(batch)

        let expected = reference.apply(batch)
        #expect(results.map(ReferencePlaces.outcome) == expected, "batch \(number): \(operations)")
        let points = try await store.allPoints()
        #expect(points.map(\.draft.name).sorted() == reference.names, "after batch \(number)")
        reference.takeIDs(of: points)
      }
    },
  ]
}

/// Random operations on few places with few origins, so that they meet.
private struct RandomOperations {
  var generator = SeededGenerator(seed: 11)
  private var count = 0

  init() {}

  mutating func next() throws -> PointOperation {
    count += 1
    let name = "place \(count)"
    let id = PointID.sample(UInt64.random(in: 1...6, using: &generator))
    let condition = [WriteCondition.none, .none, .exists, .absent][Int.random(in: 0..<4, using: &generator)]
    let origin = Int.random(in: 0...5, using: &generator)
    let category = ["hidden", "cafe"][Int.random(in: 0...1, using: &generator)]
    let draft = try PointDraft(
      name: name, category: category, coordinate: Coordinate(latitude: 1, longitude: 1),
      source: origin == 0 ? nil : "s", sourceID: origin == 0 ? nil : "\(origin)")
    switch Int.random(in: 0..<6, using: &generator) {
    case 0, 1: return .create(draft)
    case 2: return .put(draft, id: id, if: condition)
    case 3: return .delete(id: id, if: condition == .absent ? .none : condition)
    default:
      return .update(id: id, if: condition) { point throws(RejectedOperation) in
        do {
          return try PointDraft(
            name: name, category: category, coordinate: point.draft.coordinate, source: point.draft.origin?.source,
            sourceID: point.draft.origin?.sourceID)
        } catch {
          throw RejectedOperation(text: "\(error)")
        }
      }
    }
  }
}

/// The effects of batches, computed one operation after the other on a dictionary.
private struct ReferencePlaces {
  private var places: [PointID: PointDraft] = [:]

  /// The ids of deleted places, by the origins that they had.
  private var formerIDs: [SourceReference: PointID] = [:]

  private var generator = SeededGenerator(seed: 12)

  var names: [String] { places.values.map(\.name).sorted() }

  /// Returns the kind of a result.
  static func outcome(_ result: PointOperationResult) -> String { String(result.text.prefix { $0 != " " }) }

  /// Takes the ids that a store has given to created places.
  mutating func takeIDs(of points: [PointOfInterest]) {
    let ids = Dictionary(uniqueKeysWithValues: points.map { ($0.draft.name, $0.id) })
    places = Dictionary(uniqueKeysWithValues: places.map { (ids[$1.name] ?? $0, $1) })
  }

  mutating func apply(_ batch: PointBatch) -> [String] {
    let former = self
    var outcomes: [String] = []
    for operation in batch.operations {
      let outcome = apply(operation, hidesSome: batch.admits != nil)
      outcomes.append(outcome)
      if batch.isAtomic, !["created", "changed", "deleted"].contains(outcome) {
        (places, formerIDs) = (former.places, former.formerIDs)
        break
      }
    }
    return outcomes
  }

  private mutating func apply(_ operation: PointOperation, hidesSome: Bool) -> String {
    func isVisible(_ draft: PointDraft) -> Bool { !hidesSome || draft.category != "hidden" }
    func refusal(of draft: PointDraft, for id: PointID?) -> String? {
      if !isVisible(draft) { return "forbidden" }
      guard let origin = draft.origin, let (owner, other) = places.first(where: { $1.origin == origin }), owner != id
      else { return nil }
      return isVisible(other) ? "originTaken" : "forbidden"
    }
    switch operation {
    case .create(let draft):
      if let refusal = refusal(of: draft, for: nil) { return refusal }
      let former = hidesSome ? nil : draft.origin.flatMap { formerIDs[$0] }.flatMap { places[$0] == nil ? $0 : nil }
      places[former ?? PointID(high: generator.next(), low: generator.next())] = draft
      return "created"
    case .put(let draft, let id, let condition):
      let current = places[id]
      let version = current.flatMap { isVisible($0) ? 1 : nil } as Int64?
      if !condition.holds(of: version) { return "conditionFailed" }
      if current != nil, version == nil { return "forbidden" }
      if let refusal = refusal(of: draft, for: id) { return refusal }
      places[id] = draft
      return current == nil ? "created" : "changed"
    case .update(let id, let condition, _, let change):
      guard let current = places[id], isVisible(current) else { return "notFound" }
      if !condition.holds(of: 1) { return "conditionFailed" }
      let now = Timestamp(microsecondsSinceEpoch: 0)
      let point = PointOfInterest(id: id, draft: current, version: 1, createdAt: now, updatedAt: now)
      guard let draft = try? change(point) else { return "rejected" }
      if let refusal = refusal(of: draft, for: id) { return refusal }
      places[id] = draft
      return "changed"
    case .delete(let id, let condition):
      guard let current = places[id], isVisible(current) else { return "notFound" }
      if !condition.holds(of: 1) { return "conditionFailed" }
      if let origin = current.origin { formerIDs[origin] = id }
      places[id] = nil
      return "deleted"
    case .rejected: return "rejected"
    }
  }
}

private struct UnexpectedResult: Error {
  let result: PointOperationResult

  init(_ result: PointOperationResult) { self.result = result }
}

extension PointOperation {
  /// The result of an operation that the caller has rejected.
  fileprivate var rejection: PointOperationResult {
    if case .rejected(let rejection) = self { .rejected(rejection) } else { .notFound }
  }

  /// Returns an operation that changes the name of a place.
  fileprivate static func renaming(
    _ id: PointID, _ name: String, if condition: WriteCondition = .none
  ) -> PointOperation {
    .update(id: id, if: condition) { point throws(RejectedOperation) in try point.draft(name: name, tags: nil) }
  }

  /// Returns an operation that increments the number in a tag of a place.
  fileprivate static func incrementing(_ id: PointID) -> PointOperation {
    .update(id: id, if: .none) { point throws(RejectedOperation) in
      let number = Int(point.draft.tags.json.filter(\.isNumber)) ?? 0
      return try point.draft(name: "n", tags: "\(number + 1)")
    }
  }
}

extension PointOfInterest {
  fileprivate func draft(name: String, tags number: String?) throws(RejectedOperation) -> PointDraft {
    do {
      let tags = try number.map { try Tags([(key: "n", value: $0)]) } ?? draft.tags
      return try PointDraft(
        name: name, category: draft.category, coordinate: draft.coordinate, tags: tags, source: draft.origin?.source,
        sourceID: draft.origin?.sourceID)
    } catch {
      throw RejectedOperation(text: "\(error)")
    }
  }
}

extension PointStore {
  fileprivate func versions() async throws -> [PointID: Int64] {
    Dictionary(uniqueKeysWithValues: try await allPoints().map { ($0.id, $0.version) })
  }

  fileprivate func allNames() async throws -> [String] { try await allPoints().map(\.draft.name).sorted() }
}
