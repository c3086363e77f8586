import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

/// Keys that an issuer publishes, under a clock that the tests advance.
@Suite(.timeLimit(.minutes(5))) struct RemoteTokenKeysTests {
  /// An issuer that publishes one set of keys after another; the last one stays.
  private final class Publisher: TokenKeyFetcher {
    let address = "https://issuer.example/jwks.json"
    private let documents: Mutex<[Result<TokenKeyDocument, TokenKeyFetchError>]>
    private let gate: Gate?
    let fetches = Counter()

    init(_ documents: [Result<TokenKeyDocument, TokenKeyFetchError>], gate: Gate? = nil) {
      self.documents = Mutex(documents)
      self.gate = gate
    }

    func fetch() async throws(TokenKeyFetchError) -> TokenKeyDocument {
      fetches.add()
      await gate?.pass()
      return try documents.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
    }
  }

  private static let (first, second) = (TokenIssuer.es256(kid: "1"), TokenIssuer.es256(kid: "2"))

  private let clock = ManualClock()
  private let log = LogRecorder()

  private static func published(
    _ issuers: TokenIssuer..., maximumAge: Duration? = nil
  ) -> Result<TokenKeyDocument, TokenKeyFetchError> {
    .success(TokenKeyDocument(json: Array(TokenIssuer.keySet(issuers).utf8), maximumAge: maximumAge))
  }

  private static let away = Result<TokenKeyDocument, TokenKeyFetchError>.failure(TokenKeyFetchError("it is away"))

  private func keys(_ publisher: Publisher, _ installed: Installed = Installed()) -> RemoteTokenKeys<ManualClock> {
    RemoteTokenKeys(publisher, time: clock, logger: log.logger) { installed.add($0) }
  }

  /// The sets that were put in force.
  private final class Installed: Sendable {
    private let sets = Mutex<[[String]]>([])
    var names: [[String]] { sets.withLock { $0 } }
    func add(_ set: TokenKeySet) { sets.withLock { $0.append(["1", "2"].filter { set[$0] != nil }) } }
  }

  @Test func keysAreRefetchedAfterTheirLifetimeAndInstalledIfChanged() async {
    let publisher = Publisher([
      Self.published(Self.first, maximumAge: .seconds(3600)), Self.published(Self.first),
      Self.published(Self.first, Self.second),
    ])
    let installed = Installed()
    let keys = keys(publisher, installed)
    let start = clock.now
    var sleeps = clock.sleeps.makeAsyncIterator()
    let running = Task { await keys.run() }

    let firstDue = await sleeps.next()
    let atFirst = installed.names
    clock.advance(by: .seconds(3600))
    _ = await sleeps.next()
    let unchanged = installed.names
    clock.advance(by: .seconds(600))
    _ = await sleeps.next()

    #expect(firstDue.map { (Duration.seconds(3240)...Duration.seconds(3600)).contains(start.duration(to: $0)) } == true)
    #expect(atFirst == [["1"]] && unchanged == [["1"]])
    #expect(installed.names == [["1"], ["1", "2"]])
    #expect(publisher.fetches.value == 3)
    running.cancel()
    await running.value
  }

  @Test func failedFetchKeepsTheKeysAndIsRetriedAndLoggedOnce() async {
    let publisher = Publisher([
      Self.published(Self.first), Self.away, .success(TokenKeyDocument(json: Array("{}".utf8), maximumAge: nil)),
      Self.published(Self.first),
    ])
    let installed = Installed()
    let keys = keys(publisher, installed)
    var sleeps = clock.sleeps.makeAsyncIterator()
    let running = Task { await keys.run() }

    _ = await sleeps.next()
    clock.advance(by: .seconds(600))
    let afterOne = await sleeps.next().map { clock.now.duration(to: $0) }
    clock.advance(by: .seconds(1))
    let afterTwo = await sleeps.next().map { clock.now.duration(to: $0) }
    clock.advance(by: .seconds(2))
    let afterRecovery = await sleeps.next().map { clock.now.duration(to: $0) }

    #expect(afterOne.map { (Duration.milliseconds(500)...Duration.seconds(1)).contains($0) } == true)
    #expect(afterTwo.map { (Duration.seconds(1)...Duration.seconds(2)).contains($0) } == true)
    #expect(afterRecovery.map { $0 >= .seconds(540) } == true)
    #expect(installed.names == [["1"]])
    #expect(log.lines.filter { $0.contains("can't be fetched") }.count == 1)
    #expect(log.lines.contains { $0.hasPrefix("error") && $0.contains("it is away") && $0.contains(publisher.address) })
    #expect(log.lines.filter { $0.contains("can be fetched again") }.count == 1)
    #expect(await keys.counts == .init(keys: 1, successes: 2, failures: 2))
    running.cancel()
    await running.value
  }

  @Test func concurrentCallersShareOneFetch() async {
    let gate = Gate()
    let publisher = Publisher([Self.published(Self.first)], gate: gate)
    let keys = keys(publisher)
    let states = await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { await keys.refresh() } }
      gate.open()
      return await group.reduce(into: []) { $0.append($1) }
    }

    #expect(states.count == 100 && states.allSatisfy { $0 == .current })
    #expect(publisher.fetches.value == 1)
  }

  @Test func tokensWithUnknownKeysCauseOneFetchIn30Seconds() async {
    let publisher = Publisher([Self.published(Self.first)])
    let keys = keys(publisher)
    await keys.fetch()

    for _ in 0..<1000 {
      #expect(await keys.refresh() == .current)
      clock.advance(by: .milliseconds(89))
    }

    // The first, and at 0, 30 and 60 s.
    #expect(publisher.fetches.value == 4)
  }

  @Test func requestsBeyondTheWaitLimitFailAtOnce() async {
    let gate = Gate()
    let publisher = Publisher([Self.published(Self.first)], gate: gate)
    let keys = keys(publisher)
    let bound = RemoteTokenKeys<ManualClock>.maximumWaiting
    await withTaskGroup { group in
      for _ in 0..<bound + 50 { group.addTask { await keys.refresh() } }
      var rejected = 0
      for await state in group {
        if case .unknown(retryAfterSeconds: 1) = state { rejected += 1 }
        if rejected == 50 { gate.open() }
      }
      #expect(rejected == 50)
    }

    #expect(await keys.refresh() == .current)
  }

  @Test func withoutKeysTheTimeOfTheNextFetchIsReported() async {
    let publisher = Publisher([Self.away])
    let keys = keys(publisher)
    for _ in 0..<5 { await keys.fetch() }

    let state = await keys.refresh()
    let again = await keys.refresh()

    guard case .unknown(let seconds) = state else {
      Issue.record("\(state)")
      return
    }
    // The sixth failure in a row: 32 s, shortened by up to half.
    #expect((16...32).contains(seconds))
    #expect(again == state)
    #expect(publisher.fetches.value == 6)
  }

  @Test func reloadStartsANewFetchAndThrowsItsError() async throws {
    let gate = Gate()
    let publisher = Publisher([Self.published(Self.first), Self.published(Self.second), Self.away], gate: gate)
    let installed = Installed()
    let keys = keys(publisher, installed)
    async let before: Void = keys.fetch()
    while publisher.fetches.value == 0 { await Task.yield() }
    async let reloaded = keys.reload()
    gate.open()

    #expect(try await reloaded == 1)
    await before
    #expect(installed.names == [["1"], ["2"]])
    await #expect(throws: TokenKeyFetchError("it is away")) { try await keys.reload() }
    #expect(installed.names == [["1"], ["2"]])
  }

  @Test func failedFetchForATokenIsRetriedSoon() async {
    let publisher = Publisher([Self.published(Self.first), Self.away, Self.published(Self.second)])
    let installed = Installed()
    let keys = keys(publisher, installed)
    var sleeps = clock.sleeps.makeAsyncIterator()
    let running = Task { await keys.run() }
    _ = await sleeps.next()

    let state = await keys.refresh()
    let pause = await sleeps.next().map { clock.now.duration(to: $0) }
    clock.advance(by: .seconds(1))
    _ = await sleeps.next()

    #expect(state == .unknown(retryAfterSeconds: 1))
    #expect(pause.map { $0 <= .seconds(1) } == true)
    #expect(installed.names == [["1"], ["2"]])
    running.cancel()
    await running.value
  }

  @Test func firstKeysAfterAFailureEndTheOutage() async {
    let keys = keys(Publisher([Self.away, Self.published(Self.first)]))

    await keys.fetch()
    await keys.fetch()

    #expect(await keys.counts == .init(keys: 1, successes: 1, failures: 1))
    #expect(log.lines.filter { $0.contains("the token keys can be fetched again") }.count == 1)
  }

  /// An issuer that never responds.
  private struct Silence: TokenKeyFetcher {
    let address = ""
    let began: AsyncStream<Void>.Continuation
    func fetch() async throws(TokenKeyFetchError) -> TokenKeyDocument {
      began.yield()
      try? await Task.sleep(for: .seconds(86_400))
      throw TokenKeyFetchError("it was cancelled")
    }
  }

  @Test func keysAreUnknownAfterACancelledFetch() async {
    let (begins, began) = AsyncStream.makeStream(of: Void.self)
    let keys = RemoteTokenKeys(Silence(began: began), time: clock, logger: log.logger) { _ in }
    let refreshing = Task { await keys.refresh() }
    for await _ in begins { break }

    let running = Task { await keys.run() }
    running.cancel()
    await running.value

    #expect(await refreshing.value == .unknown(retryAfterSeconds: 1))
  }

  @Test func aFetchInProgressEndsWithTheTask() async {
    let (begins, began) = AsyncStream.makeStream(of: Void.self)
    let keys = RemoteTokenKeys(Silence(began: began), time: clock, logger: log.logger) { _ in }
    let running = Task { await keys.run() }
    for await _ in begins { break }

    running.cancel()
    await running.value

    #expect(log.lines.isEmpty)
  }
}
