import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@MainActor
@Suite(.timeLimit(.minutes(5))) struct FeaturedPlaceManagerTests {
  private let timerScheduler = MockTimerScheduler()
  private let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

  private func manager(
    _ responses: [Result<APIResponse<PointOfInterest>, WaymarkError>]
  ) -> FeaturedPlaceManager {
    let calls = Counter()
    return FeaturedPlaceManager(
      loader: MockLoader { try responses[min(calls.add(), responses.count) - 1].get() }, timerScheduler: timerScheduler,
      now: { [now] in now })
  }

  private func delay(_ timer: Timer?) throws -> TimeInterval {
    try #require(timer).fireDate.timeIntervalSince(now)
  }

  @Test func nextRequestIsScheduledForWhenTheResponseExpires() async throws {
    let manager = manager([.success(APIResponse(PointOfInterest(name: "A"), maxAge: 7))])

    await manager.showFeaturedPlace()

    #expect(manager.currentPlace?.name == "A")
    #expect(timerScheduler.timers.count == 1)
    #expect(try delay(timerScheduler.timers.first) == 7)
  }

  @Test func timeAndStalenessAreThoseOfTheResponse() async throws {
    let manager = manager([.success(APIResponse(PointOfInterest(name: "A"), isStale: true))])
    #expect(manager.receivedAt == nil)

    await manager.showFeaturedPlace()

    #expect(manager.isStale)
    #expect(manager.receivedAt == Date(timeIntervalSince1970: 0))
  }

  @Test func theTimerBringsTheNextPlace() async throws {
    let manager = manager([
      .success(APIResponse(PointOfInterest(name: "A"), maxAge: 7)),
      .success(APIResponse(PointOfInterest(name: "B"), maxAge: 10)),
    ])
    await manager.showFeaturedPlace()

    try #require(timerScheduler.timers.first).fire()

    while timerScheduler.timers.count < 2 { await Task.yield() }
    #expect(manager.currentPlace?.name == "B")
    #expect(try delay(timerScheduler.timers.last) == 10)
  }

  @Test(
    arguments: [(nil, 10), (0, 1), (-5, 1), (1e9, 3600), (30, 30)] as [(TimeInterval?, TimeInterval)])
  func reloadIntervalIsBounded(maxAge: TimeInterval?, expected: TimeInterval) async throws {
    let manager = manager([.success(APIResponse(PointOfInterest(name: "A"), maxAge: maxAge))])

    await manager.showFeaturedPlace()

    #expect(try delay(timerScheduler.timers.last) == expected)
  }

  @Test func failedRequestIsRetriedAndThePlaceStays() async throws {
    let manager = manager([
      .success(APIResponse(PointOfInterest(name: "A"), maxAge: 7)), .failure(.unreachable(.timedOut)),
      .success(APIResponse(PointOfInterest(name: "B"), maxAge: 7)),
    ])
    await manager.showFeaturedPlace()

    await manager.showFeaturedPlace()

    #expect(manager.currentPlace?.name == "A")
    #expect(manager.error as? WaymarkError == .unreachable(.timedOut))
    #expect(try delay(timerScheduler.timers.last) == FeaturedPlaceManager.defaultInterval)
    await manager.showFeaturedPlace()
    #expect(manager.currentPlace?.name == "B")
    #expect(manager.error == nil)
  }

  @Test func retryAfterDelaysTheNextRequest() async throws {
    let problem = ProblemDetails(status: 503, code: .storeUnavailable, retryAfter: .seconds(40))
    let manager = manager([.failure(.problem(problem))])

    await manager.showFeaturedPlace()

    #expect(try delay(timerScheduler.timers.last) == 40)
  }

  @Test func aServiceWithoutPlacesShowsNone() async throws {
    let manager = manager([
      .success(APIResponse(PointOfInterest(name: "A"))), .failure(.problem(.init(status: 404, code: .notFound))),
    ])
    await manager.showFeaturedPlace()

    await manager.showFeaturedPlace()

    #expect(manager.currentPlace == nil)
    #expect(manager.error == nil)
  }

  @Test func onlyOneTimerIsScheduled() async throws {
    let manager = manager([.success(APIResponse(PointOfInterest(name: "A")))])
    await manager.showFeaturedPlace()
    await manager.showFeaturedPlace()

    #expect(timerScheduler.timers.map(\.isValid) == [false, true])
    manager.stop()

    #expect(timerScheduler.timers.map(\.isValid) == [false, false])
  }

  @Test func responseAfterTheStopIsIgnored() async throws {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let manager = FeaturedPlaceManager(
      loader: MockLoader {
        isAsked.open()
        await mayAnswer.pass()
        return APIResponse(PointOfInterest(name: "A"))
      }, timerScheduler: timerScheduler)
    let look = Task { await manager.showFeaturedPlace() }
    await isAsked.pass()
    manager.stop()

    mayAnswer.open()
    await look.value

    #expect(manager.currentPlace == nil)
    #expect(timerScheduler.timers.isEmpty)
  }

  @Test func cancelledRequestSchedulesNothing() async throws {
    let manager = FeaturedPlaceManager(
      loader: MockLoader { throw CancellationError() }, timerScheduler: timerScheduler)

    await manager.showFeaturedPlace()

    #expect(manager.error == nil)
    #expect(timerScheduler.timers.isEmpty)
  }

  @Test func clientsFeaturedPlaceIsNotTakenFromTheCacheFirst() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok(#"{"name":"A"}"#), .ok(#"{"name":"B"}"#))
    var waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(3600))
    let manager = FeaturedPlaceManager(waymark: waymark)
    await manager.showFeaturedPlace()

    await manager.showFeaturedPlace()
    manager.stop()

    #expect(manager.currentPlace?.name == "B")
  }

  @Test func timerDoesNotRetainTheManager() async throws {
    var manager: FeaturedPlaceManager? = manager([.success(APIResponse(PointOfInterest(name: "A")))])
    await manager?.showFeaturedPlace()
    weak let weakManager = manager

    manager = nil

    #expect(weakManager == nil)
  }
}
