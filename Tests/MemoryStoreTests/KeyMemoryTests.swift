@testable import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct KeyMemoryTests {
  private static let day: Int64 = 24 * 60 * 60 * 1_000_000

  @Test func aKeyIsRememberedForADay() throws {
    var keys = KeyMemory()
    _ = keys.remember(try .sample("a", at: 1000))

    #expect(keys.answer(to: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day - 1)) != nil)
    #expect(keys.answer(to: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day)) == nil)
    #expect(keys.answer(to: "b", at: .init(microsecondsSinceEpoch: 1000)) == nil)
  }

  @Test func keysWhoseTimeIsOverAreForgotten() throws {
    var keys = KeyMemory()
    for (text, time) in [("a", 0), ("b", 5), ("c", Self.day)] { _ = keys.remember(try .sample(text, at: time)) }

    let forgotten = keys.remember(try .sample("d", at: Self.day + 5))

    #expect(forgotten == ["b"])
    #expect(keys.count == 2)
  }

  @Test func ofMoreKeysThanAllowedTheOldestAreForgotten() throws {
    var keys = KeyMemory(limits: .init(count: 3))
    var forgotten: [String] = []
    for number in 0..<10 { forgotten += keys.remember(try .sample("\(number)", at: Int64(number))) }

    #expect(forgotten == (0..<7).map(String.init))
    #expect(keys.count == 3)
    #expect(keys.answer(to: "9", at: .init(microsecondsSinceEpoch: 9)) != nil)
  }

  @Test func answersTakeOnlySoMuchMemory() throws {
    var keys = KeyMemory(limits: .init(bytes: 1000))
    for number in 0..<10 { _ = keys.remember(try .sample("\(number)", at: Int64(number))) }

    #expect(keys.count < 6)
  }

  @Test func aKeyMayBeUsedAnewWhenItsTimeIsOver() throws {
    var keys = KeyMemory()
    _ = keys.remember(try .sample("a", at: 0))
    _ = keys.remember(try .sample("a", at: Self.day))

    #expect(
      keys.answer(to: "a", at: .init(microsecondsSinceEpoch: Self.day + 1))?.time.microsecondsSinceEpoch == Self.day)
    #expect(keys.count == 1)
  }

  @Test func theVolatileLogKeepsTheLastChanges() async throws {
    let store = MemoryStore(
      JournalContents(),
      journal: VolatileJournal(maximumChanges: 10),
      keyLimits: .init(),
      clock: SystemClock()
    )
    for number in 1...25 { _ = try await store.put(try .sample("\(number)"), id: .sample(1), if: .none) }

    #expect(try await store.allChanges().map(\.sequence) == Array(16...25))
    #expect(try await store.allChanges(after: 20).map(\.sequence) == Array(21...25))
  }
}

extension AnsweredKey {
  fileprivate static func sample(_ text: String, at microseconds: Int64) throws -> AnsweredKey {
    let time = Timestamp(microsecondsSinceEpoch: microseconds)
    return AnsweredKey(
      key: IdempotencyKey(text: text, requestHash: 1),
      time: time,
      answer: .place(
        PointOfInterest(id: .sample(1), place: try .sample("x"), version: 1, createdAt: time, updatedAt: time))
    )
  }
}
