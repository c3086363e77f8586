@testable import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct IdempotencyKeyCacheTests {
  private static let day: Int64 = 24 * 60 * 60 * 1_000_000

  @Test func recordIsKeptForADay() throws {
    var keys = IdempotencyKeyCache()
    _ = keys.insert(try .sample("a", at: 1000))

    #expect(keys.record(of: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day - 1)) != nil)
    #expect(keys.record(of: "a", at: .init(microsecondsSinceEpoch: 1000 + Self.day)) == nil)
    #expect(keys.record(of: "b", at: .init(microsecondsSinceEpoch: 1000)) == nil)
  }

  @Test func expiredRecordsAreEvicted() throws {
    var keys = IdempotencyKeyCache()
    for (text, time) in [("a", 0), ("b", 5), ("c", Self.day)] { _ = keys.insert(try .sample(text, at: time)) }

    let evicted = keys.insert(try .sample("d", at: Self.day + 5))

    #expect(evicted == ["b"])
    #expect(keys.count == 2)
  }

  @Test func oldestRecordsAreEvictedBeyondTheMaximumNumber() throws {
    var keys = IdempotencyKeyCache(limits: .init(count: 3))
    var evicted: [String] = []
    for number in 0..<10 { evicted += keys.insert(try .sample("\(number)", at: Int64(number))) }

    #expect(evicted == (0..<7).map(String.init))
    #expect(keys.count == 3)
    #expect(keys.record(of: "9", at: .init(microsecondsSinceEpoch: 9)) != nil)
  }

  @Test func recordsAreEvictedBeyondTheMemoryLimit() throws {
    var keys = IdempotencyKeyCache(limits: .init(bytes: 1000))
    for number in 0..<10 { _ = keys.insert(try .sample("\(number)", at: Int64(number))) }

    #expect(keys.count < 6)
  }

  @Test func keyMayBeUsedAgainWhenItHasExpired() throws {
    var keys = IdempotencyKeyCache()
    _ = keys.insert(try .sample("a", at: 0))
    _ = keys.insert(try .sample("a", at: Self.day))

    #expect(
      keys.record(of: "a", at: .init(microsecondsSinceEpoch: Self.day + 1))?.time.microsecondsSinceEpoch == Self.day)
    #expect(keys.count == 1)
  }
}

extension IdempotencyRecord {
  fileprivate static func sample(_ text: String, at microseconds: Int64) throws -> IdempotencyRecord {
    let time = Timestamp(microsecondsSinceEpoch: microseconds)
    return IdempotencyRecord(
      key: IdempotencyKey(text: text, requestHash: 1),
      time: time,
      outcome: .created(
        PointOfInterest(id: .sample(1), draft: try .sample("x"), version: 1, createdAt: time, updatedAt: time))
    )
  }
}
