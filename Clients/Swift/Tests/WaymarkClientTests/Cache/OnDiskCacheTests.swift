import Foundation
import Testing

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct OnDiskCacheTests {
  private let folder = CacheFolder()

  private var cache: OnDiskCache { OnDiskCache(folder: folder.url) }

  private func response(_ body: String, at seconds: Double = 0) throws -> StoredResponse {
    StoredResponse(
      body: Data(body.utf8), entityTag: EntityTag(version: 3),
      nextPage: try URL(text: "https://a.example/locations?cursor=1"),
      center: try Coordinate(latitude: 37.3293, longitude: -121.8893),
      receivedAt: Date(timeIntervalSinceReferenceDate: seconds), maxAge: 60)
  }

  @Test func responseIsKeptForTheNextStart() throws {
    let stored = try response("a\nb", at: 1_234.5)
    try cache.store(stored, for: "https://a.example/locations")

    let read = OnDiskCache(folder: folder.url).response(for: "https://a.example/locations")

    #expect(read == stored)
  }

  @Test func newerResponseReplacesTheOlder() throws {
    try cache.store(try response("first"), for: "k")
    try cache.store(try response("second"), for: "k")

    #expect(cache.response(for: "k")?.body == Data("second".utf8))
    #expect(cache.currentItems.count == 1)
  }

  @Test func unknownKeyHasNoResponse() throws {
    try cache.store(try response("a"), for: "k")

    #expect(cache.response(for: "l") == nil)
    #expect(OnDiskCache(folder: folder.url.appending(path: "none")).response(for: "k") == nil)
    #expect(OnDiskCache(folder: folder.url.appending(path: "none")).currentItems.isEmpty)
  }

  @Test func truncatedFileIsIgnored() throws {
    try cache.store(try response("the response's body"), for: "k")
    let file = try #require(cache.currentItems.first).path
    let whole = try Data(contentsOf: URL(filePath: file))

    for length in 0..<whole.count {
      try whole.prefix(length).write(to: URL(filePath: file))
      #expect(cache.response(for: "k") == nil, "cut at \(length)")
    }
  }

  @Test func fileWithAMissingBlockIsIgnored() throws {
    try cache.store(try response("the response's body"), for: "k")
    let file = URL(filePath: try #require(cache.currentItems.first).path)
    var bytes = try Data(contentsOf: file)

    bytes.replaceSubrange(bytes.count - 4..<bytes.count, with: Data(count: 4))
    try bytes.write(to: file)

    #expect(cache.response(for: "k") == nil)
  }

  @Test func fileOfAnotherAddressIsIgnored() throws {
    try cache.store(try response("a"), for: "k")
    let file = URL(filePath: try #require(cache.currentItems.first).path)
    try cache.store(try response("b"), for: "l")
    let other = try #require(cache.currentItems.map(\.path).first { $0 != file.path(percentEncoded: false) })

    // Two addresses whose hashes are the same would share a file.
    try Data(contentsOf: URL(filePath: other)).write(to: file)

    #expect(cache.response(for: "k") == nil)
  }

  @Test func canonicallyEquivalentKeysAreDifferent() throws {
    let data = try CacheEntry.data(of: try response("a"), key: "caf\u{E9}")

    #expect(CacheEntry.response(from: data, key: "caf\u{E9}") != nil)
    #expect(CacheEntry.response(from: data, key: "cafe\u{301}") == nil)
  }

  @Test func damagedFileIsReplacedByTheNextResponse() throws {
    try cache.store(try response("a"), for: "k")
    try Data("rubbish".utf8).write(to: URL(filePath: try #require(cache.currentItems.first).path))

    try cache.store(try response("b"), for: "k")

    #expect(cache.response(for: "k")?.body == Data("b".utf8))
  }

  @Test func itemsHaveTheirAgeAndSize() throws {
    let later = OnDiskCache(folder: folder.url, policies: [], now: { Date(timeIntervalSinceNow: 1000) })
    try later.store(try response("a"), for: "k")

    let item = try #require(later.currentItems.first)

    #expect(item.age > 990)
    #expect(try Data(contentsOf: URL(filePath: item.path)).count == item.size)
  }

  @Test func onlySelectedItemsAreRemoved() throws {
    for key in ["a", "b", "c"] { try cache.store(try response(key), for: key) }
    let doomed = try #require(cache.currentItems.first)

    try cache.cleanCache(policy: FixedPolicy(items: [doomed]))

    #expect(cache.currentItems.count == 2)
    #expect(!cache.currentItems.contains { $0.path == doomed.path })
  }

  @Test func fileRemovedByAnotherProcessIsNoError() throws {
    try cache.store(try response("a"), for: "k")
    let gone = OnDiskCache.Item(path: folder.url.appending(path: "gone").path(), age: 1, size: 1)

    try cache.cleanCache(policy: FixedPolicy(items: cache.currentItems.union([gone])))

    #expect(cache.currentItems.isEmpty)
  }

  @Test func anyFlippedBitMakesAnEntryAMiss() throws {
    let data = try CacheEntry.data(of: try response(#"[{"name":"A"}]"#), key: "https://a.example/locations")
    #expect(CacheEntry.response(from: data, key: "https://a.example/locations") != nil)

    let missed = (0..<data.count * 8).filter { bit in
      var damaged = data
      damaged[bit / 8] ^= 1 << (bit % 8)
      return CacheEntry.response(from: damaged, key: "https://a.example/locations") == nil
    }

    #expect(missed.count == data.count * 8)
  }

  @Test func anyAddedOrRemovedByteMakesAnEntryAMiss() throws {
    let data = try CacheEntry.data(of: try response("body"), key: "k")

    for index in 0..<data.count {
      var (longer, shorter) = (data, data)
      longer.insert(data[index], at: index)
      shorter.remove(at: index)
      #expect(CacheEntry.response(from: longer, key: "k") == nil)
      #expect(CacheEntry.response(from: shorter, key: "k") == nil)
    }
  }

  @Test func storingAppliesThePoliciesNowAndThen() throws {
    let runs = Counter()
    let small = OnDiskCache(
      folder: folder.url, policies: [CountingPolicy(runs: runs, policy: MaxSizeCleanupPolicy(maxSize: 1000))],
      cleanupInterval: 10 * 4096)

    for index in 0..<50 { try small.store(try response(String(repeating: "x", count: 100)), for: "\(index)") }

    // At the first of them, and at each tenth after it.
    #expect(runs.value == 5)
    let sizes = small.currentItems.map(\.size)
    #expect(sizes.reduce(0, +) <= 1000 + 10 * (sizes.max() ?? 0))
    #expect(small.response(for: "49") != nil)
  }

  @Test func aLargeResponseIsNotStoredAndRemovesNothing() throws {
    let small = OnDiskCache(
      folder: folder.url, policies: [MaxSizeCleanupPolicy(maxSize: 10_000)], maximumEntrySize: 2000, cleanupInterval: 0)
    for index in 0..<5 { try small.store(try response("small"), for: "\(index)") }
    let paths = Set(small.currentItems.map(\.path))

    #expect(throws: OnDiskCacheError.self) {
      try small.store(try response(String(repeating: "x", count: 20_000)), for: "0")
    }

    #expect(Set(small.currentItems.map(\.path)) == paths)
    #expect(small.response(for: "0")?.body == Data("small".utf8))
  }

  @Test func removedResponseIsAMiss() throws {
    try cache.store(try response("a"), for: "k")

    try cache.removeResponse(for: "k")
    try cache.removeResponse(for: "never stored")

    #expect(cache.response(for: "k") == nil)
  }

  @Test func folderMayBeRemovedAtAnyTime() throws {
    let cache = cache
    try cache.store(try response("a"), for: "k")
    try FileManager.default.removeItem(at: folder.url)
    #expect(cache.response(for: "k") == nil)

    try cache.store(try response("b"), for: "k")

    #expect(cache.response(for: "k")?.body == Data("b".utf8))
  }

  @Test func policiesAlsoApplyToFilesLeftByACrash() throws {
    try cache.store(try response("a"), for: "k")
    try Data("half an ans".utf8).write(to: folder.url.appending(path: ".dat.nosync1234"))

    #expect(cache.currentItems.count == 2)
    try cache.removeAll()

    #expect(cache.currentItems.isEmpty)
  }

  @Test func concurrentReadersSeeCompleteResponsesOnly() async throws {
    // Each has a cache value of its own, as each process would: the folder is all that they share.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask { [folder] in
          let cache = OnDiskCache(folder: folder.url, policies: [MaxSizeCleanupPolicy(maxSize: 200_000)])
          for round in 0..<50 {
            let body = Data(repeating: UInt8(ascii: "a") + UInt8(writer), count: 1000 + 100 * round)
            try cache.store(
              StoredResponse(body: body, receivedAt: Date(timeIntervalSince1970: 0)), for: "k\(round % 3)")
          }
        }
        group.addTask { [folder] in
          for round in 0..<200 {
            guard let response = OnDiskCache(folder: folder.url).response(for: "k\(round % 3)") else { continue }
            #expect(Set(response.body).count == 1)
          }
        }
      }
      try await group.waitForAll()
    }
    for key in ["k0", "k1", "k2"] { #expect(cache.response(for: key) != nil) }
  }
}

/// A policy that removes the given items.
private struct FixedPolicy: CleanupPolicy {
  let items: Set<OnDiskCache.Item>

  func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> { self.items }
}

/// A policy that counts how often it is applied.
private struct CountingPolicy: CleanupPolicy {
  let runs: Counter
  let policy: any CleanupPolicy

  func itemsToRemove(from items: Set<OnDiskCache.Item>) -> Set<OnDiskCache.Item> {
    runs.add()
    return policy.itemsToRemove(from: items)
  }
}
