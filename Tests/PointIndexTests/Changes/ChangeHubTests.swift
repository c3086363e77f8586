import Basics
import Geo
import Points
import Synchronization
import TestSupport
import Testing

@testable import PointIndex

/// The fan-out of changes to subscriptions with conditions of several clients.
@Suite(.timeLimit(.minutes(5))) struct ChangeHubTests {
  /// A log of which positions are numbers, and that has no pages.
  private struct NumberedLog: ChangeLog {
    func presentPosition() async throws(PointStoreError) -> String { "0" }

    func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage { throw .malformed }

    func includes(_ position: String, in other: String) -> Bool { Int(position) ?? 0 <= Int(other) ?? 0 }
  }

  /// A client whose computations wait until a gate is open.
  private struct Client: Sendable {
    let name: String
    let gate = Gate()
    let computations = Counter()

    /// A Boolean value that indicates whether its share allows computations.
    var hasShare = true

    var reader: ChangeReader {
      ChangeReader(client: .init(name)) { [gate, computations, hasShare] work in
        computations.add()
        await gate.pass()
        if hasShare { work() }
        return hasShare
      }
    }
  }

  private let hub = ChangeHub(NumberedLog())

  private static func point(_ number: Int, version: Int64, category: String) throws -> PointOfInterest {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return PointOfInterest(
      id: .sample(UInt64(number)), draft: try .sample("place \(number)", category: category), version: version,
      createdAt: time, updatedAt: time)
  }

  private static func snapshot(_ points: [PointOfInterest]) -> PointSnapshot {
    PointSnapshot(PointBuffer(ContiguousArray(points)), text: TextIndexConfiguration(nameTags: []))
  }

  /// Publishes the creation of a place, whose number is that of the step.
  private func publish(_ number: Int, category: String = "cafe") throws {
    let point = try Self.point(number, version: 1, category: category)
    hub.publish(
      .init(
        from: Self.snapshot([]), to: Self.snapshot([point]), puts: [point.id], removals: [], position: "\(number)"))
  }

  private func subscription(_ filter: String, for client: Client) throws -> ChangeSubscription {
    hub.subscribe(matching: PointQuery(filter: try PropertyFilter(filter)), for: client.reader)
  }

  /// Returns the numbers of the next steps, up to a number of steps; those before an interruption if there is one.
  private func steps(_ count: Int, of subscription: ChangeSubscription) async -> [Int] {
    var steps: [Int] = []
    while steps.count < count {
      guard case .batches(let batches) = await subscription.next(until: .now + .seconds(240)) else { break }
      steps += batches.compactMap { Int($0.position) }
    }
    return steps
  }

  private func isInterrupted(_ subscription: ChangeSubscription) async -> Bool {
    if case .interrupted = await subscription.next(until: .now + .seconds(240)) { true } else { false }
  }

  @Test(arguments: [true, false]) func equalConditionsAreEvaluatedOnceForEachChange(isOneClient: Bool) async throws {
    var subscriptions: [ChangeSubscription] = []
    var clients: [Client] = []
    for number in 0..<50 {
      let client = Client(name: isOneClient ? "one" : "\(number)")
      client.gate.open()
      clients.append(client)
      subscriptions.append(try subscription("name LIKE 'place%'", for: client))
    }

    try publish(1)

    var batches: [ChangeSubscription.Batch] = []
    for subscription in subscriptions {
      if case .batches(let next) = await subscription.next(until: .now + .seconds(240)) { batches += next }
    }
    let addresses = Set(batches.map { $0.changes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } })
    #expect(batches.count == 50 && addresses.count == 1)
    if isOneClient { #expect(clients.reduce(0) { $0 + $1.computations.value } == 1) }
  }

  @Test func othersAreNotBehindTheConditionsOfAClient() async throws {
    let (slow, fast) = (Client(name: "slow"), Client(name: "fast"))
    fast.gate.open()
    let late = try (0..<100).map { try subscription("name LIKE '%\($0)%' OR category = 'cafe'", for: slow) }
    let plain = hub.subscribe(matching: PointQuery(), for: slow.reader)
    let short = hub.subscribe(matching: PointQuery(categories: ["cafe"]), for: slow.reader)
    let filtered = try subscription("category = 'cafe' AND name <> 'x'", for: fast)
    // The same conditions as one of the other client.
    let shared = try subscription("name LIKE '%7%' OR category = 'cafe'", for: fast)

    for number in 1...10 {
      try publish(number)
      for subscription in [plain, short, filtered, shared] {
        #expect(await steps(1, of: subscription) == [number])
      }
    }

    #expect(slow.computations.value <= 1)
    slow.gate.open()
    for (number, subscription) in late.enumerated() {
      #expect(await steps(10, of: subscription) == Array(1...10), "\(number)")
    }
  }

  @Test func conditionsWithTooManyStepsThatWaitHaveTheirReadersReadTheLog() async throws {
    let client = Client(name: "slow")
    let late = try subscription("name LIKE '%a%'", for: client)
    let plain = hub.subscribe(matching: PointQuery(), for: client.reader)
    for number in 1...ChangeHub.maximumSteps + 1 {
      try publish(number)
      #expect(await steps(1, of: plain) == [number])
    }

    #expect(await isInterrupted(late))

    client.gate.open()
    try publish(1_000)
    while late.deliveredPosition != "1000" { await Task.yield() }
    #expect(await steps(1, of: late).last == 1_000)
  }

  @Test func stepsThatAreTooOldAreNotKept() async throws {
    let client = Client(name: "slow")
    let late = try subscription("category = 'bar'", for: client)
    let plain = hub.subscribe(matching: PointQuery(), for: client.reader)
    try publish(1, category: "bar")
    _ = await steps(1, of: plain)
    for number in 2...2 * ChangeHub.maximumSteps {
      try publish(number)
      #expect(await steps(1, of: plain) == [number])
    }

    #expect(await isInterrupted(late))
    client.gate.open()
  }

  @Test func readersOfAClientWithoutAShareReadTheLogAndThoseOfOthersDoNot() async throws {
    let (rejected, other) = (Client(name: "rejected", hasShare: false), Client(name: "other"))
    let late = try subscription("name LIKE '%a%'", for: rejected)
    let own = try subscription("name LIKE '%pl%'", for: rejected)
    let equal = try subscription("name LIKE '%a%'", for: other)

    try publish(1)
    rejected.gate.open()
    #expect(await isInterrupted(late))
    #expect(await isInterrupted(own))
    other.gate.open()

    #expect(await steps(1, of: equal) == [1])
  }

  @Test func deliveredPositionIsNotThatOfConditionsThatWait() async throws {
    let client = Client(name: "slow")
    let late = try subscription("name LIKE '%a%'", for: client)
    let never = try subscription("name = 'x' AND category = 'bar'", for: client)
    let plain = hub.subscribe(matching: PointQuery(), for: client.reader)
    try publish(1)
    #expect(await steps(1, of: plain) == [1])
    while plain.deliveredPosition != "1" || never.deliveredPosition != "1" { await Task.yield() }

    let waiting = late.deliveredPosition
    client.gate.open()
    while late.deliveredPosition != "1" { await Task.yield() }

    #expect(waiting == nil)
    #expect(await steps(1, of: late) == [1])
  }

  @Test func conditionsThatEndWhileTheyWaitAreForgotten() async throws {
    let client = Client(name: "slow")
    do {
      let late = try subscription("name LIKE '%a%'", for: client)
      let plain = hub.subscribe(matching: PointQuery(), for: client.reader)
      try publish(1)
      #expect(await steps(1, of: plain) == [1])
      extendLifetime(late)
    }
    client.gate.open()

    while hub.hasSubscriptions { await Task.yield() }
    let next = try subscription("name LIKE '%a%'", for: client)
    try publish(2)
    #expect(await steps(1, of: next) == [2])
  }
}
