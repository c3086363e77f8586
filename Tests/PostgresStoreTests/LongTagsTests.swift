import Basics
import Geo
import JSONText
import Points
import PostgresClient
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of tags that are too long to be read for every place that a statement finds.
@Suite struct LongTagsTests {
  @Test(arguments: [
    ("4097", 4097), ("9999999999", 9_999_999_999), ("{}", nil), (#"{"a":"1"}"#, nil), ("", nil), ("-5", nil),
    ("1.5", nil),
    ("\"12\"", nil), ("12 ", nil), ("12345678901", nil),
  ])
  func onlyANumberIsALength(value: String, length: Int?) {
    let found = Array(value.utf8).withUnsafeBufferPointer(LongTags.length)

    #expect(found == length)
  }

  private func id(_ number: Int) -> PointID { .sample(UInt64(number)) }

  private func step(_ texts: [PageStep.Texts], including included: [Int] = []) -> PageStep {
    PageStep(count: texts.count, included: included.map(id), texts: { texts[$0] }, id: id)
  }

  private let short = PageStep.Texts(bytes: 1000, lacksTags: false)
  private let long = PageStep.Texts(bytes: 1_000_000, lacksTags: true)
  private let read = PageStep.Texts(bytes: 1_000_000, lacksTags: false)

  @Test func aPageOfShortTagsIsReadOnce() {
    #expect(step([]) == .page(count: 0))
    #expect(step([short, short, short]) == .page(count: 3))
    #expect(step(Array(repeating: short, count: 5000)) == .page(count: 4194))
  }

  @Test func longTagsBeyondThePageAreNotRead() {
    let huge = PageStep.Texts(bytes: 4_194_000, lacksTags: true)

    #expect(step([short, huge]) == .page(count: 1))
  }

  @Test func secondSearchReadsOnlyThePlacesThatFit() {
    #expect(
      step([short, long, long, short, long, long, short, long]) == .search(limit: 7, including: [1, 2, 4, 5].map(id)))
    #expect(step([PageStep.Texts(bytes: 9_000_000, lacksTags: true), short]) == .search(limit: 1, including: [id(0)]))
  }

  @Test func requestedTagsAreIncluded() {
    #expect(step([short, read, read], including: [1, 2]) == .page(count: 3))
    // The tags are not an object, but they were read.
    #expect(step([short, long, read], including: [1, 2]) == .page(count: 3))
  }

  @Test func pageEndsBeforeLongTagsWrittenConcurrently() {
    #expect(step([short, long, read], including: [2]) == .page(count: 1))
    #expect(step([long, short, short], including: [2]) == .search(limit: 3, including: [id(0), id(2)]))
    #expect(step([long, long, short], including: [1]) == .search(limit: 3, including: [id(0), id(1)]))
  }

  @Test func textsHaveTheLengthsOfTheNameAndOfTagsThatAreLeftOut() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    let tags = [
      try Tags([("k", "v")]), try Tags((0..<500).map { (key: "key \($0)", value: String(repeating: "x", count: 20)) }),
    ]
    let drafts = try tags.map { tags in
      try PointDraft(
        name: String(repeating: "é", count: 300), category: nil, coordinate: Coordinate(latitude: 1, longitude: 1),
        tags: tags, source: nil, sourceID: nil)
    }
    try await store.importRows(
      drafts.enumerated().map { ImportRow(number: $0 + 1, id: .sample(UInt64($0)), draft: $1) })

    let query = PointQuery()
    let (statement, parameters) = PostgresStore.listing(query, PointFilter(query, center: nil))
    let texts = try await Array(store.read(statement, parameters).rows.map(\.texts))

    #expect(
      texts == [
        PageStep.Texts(bytes: 600 + tags[0].json.utf8.count, lacksTags: false),
        PageStep.Texts(bytes: 600 + tags[1].json.utf8.count, lacksTags: true),
      ])
  }

  /// Twenty-four places of 1 MB, 300 KB compressed. A page of changes has four of them, one read of the index's feed
  /// eight, a batch 17.
  @Test func tagsAreMeasuredOnlyUpToTheFirstThatDoNotFit() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let start = try await ChangeFeed(store).currentPosition().snapshot.text
    try await database.run(
      """
      INSERT INTO points (id, lat, long, name, tags)
      SELECT gen_random_uuid(), 1, 2, 'long', (
        SELECT json_object_agg(key, repeat(md5(concat(number, ' ', key)), 4)) FROM generate_series(1, 7000) AS key)
      FROM generate_series(1, 24) AS number
      """)
    let pagesOfTags = try #require(
      Int(
        try await database.run(
          "SELECT pg_relation_size(reltoastrelid) / 8192 FROM pg_class WHERE oid = 'points'::regclass")))

    let page = try await pagesRead(
      by: ChangeStatements.page,
      Parameters {
        $0.add(start)
        $0.add(String?.none)
        $0.add("0")
        $0.add(PointID(high: 0, low: 0))
        $0.add(Int64(10_000))
        $0.add(Int64(PointPage.maximumTextBytes))
      }, in: store)
    let feed = try await pagesRead(
      by: ChangeStatements.feed,
      Parameters {
        $0.add(start)
        $0.add(Int64(1000))
        $0.add(Int64(8 << 20))
      }, in: store)

    let ids = try await store.read(Statement("ids", "SELECT id FROM points"), Parameters()).rows.map {
      try $0.pointID()
    }
    let batch = try await pagesRead(by: BatchStatements.points, Parameters { $0.add(ids) }, in: store)

    #expect(ids.count == 24)
    #expect(page < pagesOfTags)
    #expect(feed < pagesOfTags)
    #expect(batch < pagesOfTags)
  }

  /// Returns the number of pages of the database that a statement reads, those that are in memory too.
  private func pagesRead(
    by statement: Statement, _ parameters: Parameters, in store: PostgresStore
  ) async throws -> Int {
    let explain = Statement(
      "explain", planning: .eachTime, "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) \(statement.sql)")
    let lines = try await store.read(explain, parameters).rows.map { try $0.text(0) }
    // The first such line is of the whole statement: "Buffers: shared hit=299 read=12".
    let buffers = try #require(lines.first { $0.contains("Buffers: shared") })
    return buffers.matches(of: /(?:hit|read)=(\d+)/).reduce(0) { $0 + (Int($1.1) ?? 0) }
  }

  @Test func concurrentlyChangedPlacesAreCompleteAndListedOnce() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    let count = 12
    let long = try ["x", "y"].map { letter in
      try Tags((0..<500).map { (key: "key \($0)", value: String(repeating: letter, count: 2000)) })
    }
    let texts = [try Tags([]), long[0], try Tags([("k", "v")]), long[1]]
    // A place's name determines its tags.
    @Sendable func place(_ number: Int, _ turn: Int) throws -> PointDraft {
      let coordinate = try Coordinate(latitude: 1, longitude: Double(number) / 100)
      return try PointDraft(
        name: "\(turn % 4)", category: "all", coordinate: coordinate, tags: texts[turn % 4], source: nil, sourceID: nil)
    }
    try await store.importRows(
      try (0..<count).map { ImportRow(number: $0 + 1, id: .sample(UInt64($0)), draft: try place($0, $0)) })
    let isRead = Atomic(false)
    async let writing: Void = {
      var turn = 0
      while !isRead.load(ordering: .relaxed) {
        turn += 1
        _ = try await store.put(try place(turn % count, turn / 5), id: .sample(UInt64(turn % count)), if: .none)
      }
    }()

    for base in [PointQuery(), try .near(1, 0), PointQuery(categories: ["all"])] {
      var query = base
      query.limit = 1000
      for _ in 0..<8 {
        let found = try await store.allMatches(of: query)
        #expect(found.map(\.point.id) == (0..<count).map { .sample(UInt64($0)) })
        let isWhole = try found.allSatisfy { $0.point.draft.tags == texts[try #require(Int($0.point.draft.name))] }
        #expect(isWhole)
      }
    }

    isRead.store(true, ordering: .relaxed)
    try await writing
  }
}
