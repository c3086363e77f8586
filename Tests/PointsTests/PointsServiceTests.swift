import Basics
import Geo
import JSONText
import Synchronization
import TestSupport
import Testing

@testable import Points

@Suite struct PointsServiceTests {
  private let harbour: PointOfInterest

  init() throws {
    let epoch = Timestamp(microsecondsSinceEpoch: 0)
    harbour = PointOfInterest(
      id: PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0001),
      draft: try PointDraft(name: "Harbour", category: "pier", coordinate: Coordinate(latitude: 1, longitude: 2)),
      version: 1, createdAt: epoch, updatedAt: epoch)
  }

  @Test func searchIsRecordedRoundedAndTimed() async throws {
    let analytics = RecordingAnalytics()
    let ticks = Mutex(0)
    let service = PointsService(
      store: StubStore(onPage: { _ in PointPage(points: [], hasMore: false) }), analytics: analytics,
      uptime: {
        ticks.withLock { $0 += 7 }
        return .milliseconds(ticks.withLock { $0 })
      })
    let center = try Coordinate(latitude: 37.32931, longitude: -121.88929)

    _ = try await service.page(matching: PointQuery(proximity: .init(center: center), categories: ["cafe"]))

    let search = try #require(analytics.searches.first)
    #expect(search.cell?.description == "37.33,-121.89")
    #expect(search.categories == ["cafe"])
    #expect(search.found == 0)
    #expect(search.duration == .milliseconds(7))
  }

  @Test func failedSearchIsNotRecorded() async {
    let analytics = RecordingAnalytics()
    let service = PointsService(
      store: StubStore(onPage: { _ throws(PointStoreError) in throw .timeout }), analytics: analytics)

    await #expect(throws: PointStoreError.timeout) { try await service.page(matching: PointQuery()) }

    #expect(analytics.searches.isEmpty)
  }

  @Test func nearestPointIsQueriedByRadiusWithLimitOne() async throws {
    let asked = Mutex<PointQuery?>(nil)
    let found = FoundPoint(point: harbour, distanceMetres: 12)
    let service = PointsService(
      store: StubStore(onPage: { query in
        asked.withLock { $0 = query }
        return PointPage(points: [found], hasMore: true)
      }))
    let here = try Coordinate(latitude: 1, longitude: 2)

    let nearest = try await service.nearestPoint(to: here, withinMetres: 50)

    #expect(nearest == found)
    #expect(asked.withLock { $0 } == PointQuery(proximity: .init(center: here, radiusMetres: 50), limit: 1))
  }

  @Test func featuredPointIsThatOfTheCurrentSlot() async throws {
    let pivots = Mutex<[UInt64]>([])
    let time = Timestamp(microsecondsSinceEpoch: 123_456_789)
    let service = PointsService(
      store: StubStore(onShuffled: { [harbour] pivot in
        pivots.withLock { $0.append(pivot) }
        return harbour
      }),
      clock: FixedClock(time))

    let featured = try #require(try await service.featuredPoint())

    #expect(featured.point == harbour)
    #expect(featured.remainingSeconds == 7)
    #expect(pivots.withLock { $0 } == [FeaturedPlace.choice(at: .init(at: time))])
  }
}

private final class RecordingAnalytics: Analytics {
  private let recorded = Mutex<[Search]>([])
  var searches: [Search] { recorded.withLock { $0 } }
  func record(_ search: Search) { recorded.withLock { $0.append(search) } }
}
