import SyntheticData
import TestSupport

@testable import PostgresClient

/// A simulation of a pool with random events: requests arrive and are cancelled, connections are established and lost,
/// servers fail over, writes time out, and time passes.
struct PoolSimulation {
  private typealias ConnectionID = PoolStateMachine.ConnectionID
  private typealias RequestID = PoolStateMachine.RequestID

  private(set) var problems: [String] = []

  private var generator: SeededGenerator
  private var pool: PoolStateMachine
  private var now = ContinuousClock.now
  private var requestCount = 0
  /// The requests that have no result yet.
  private var open: Set<RequestID> = []
  private var writes: Set<RequestID> = []
  /// The number of times that each request was run.
  private var tries: [RequestID: Int] = [:]
  private var links: [ConnectionID: Link] = [:]
  /// The number of the current primary.
  private var primary = 0
  /// The number of failovers that the pool has detected.
  private var discoveries = 0
  /// The uses of the exports and imports that have no connection yet.
  private var waitingSessions: [RequestID: Session] = [:]
  private var sessions: [Session] = []

  private static let maximumConnections = 4

  /// An export or import, of a client if it has one.
  private struct Session: Equatable {
    let use: SessionUse
    let client: String?
  }

  /// The state of a connection outside the pool.
  private struct Link {
    /// The server that libpq chose when the attempt to connect began.
    let server: Int
    var discoveries: Int

    var identity: ServerIdentity { ServerIdentity(life: "\(server)", isPrimary: true) }
    var phase = Phase.connecting
    var request: RequestID?
  }

  private enum Phase {
    case connecting, idle, running, stopping, terminating, awaitingStandby
  }

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    var limits = PoolStateMachine.Limits()
    limits.connections = Self.maximumConnections
    limits.waiters = 5
    limits.exports = 2
    limits.imports = 2
    limits.sessions = 3
    limits.sessionWaiters = 3
    pool = PoolStateMachine(limits: limits)
  }

  mutating func run(steps: Int) {
    for _ in 0..<steps {
      step()
      compareLoad()
    }
    settle()
    if !open.isEmpty { problems.append("\(open.count) requests never ended") }
    perform(pool.shutDown())
    if !links.isEmpty { problems.append("\(links.count) connections are left") }
  }

  // MARK: Events

  private mutating func step() {
    now += .milliseconds(Int.random(in: 0...200, using: &generator))
    switch Int.random(in: 0..<17, using: &generator) {
    case 14, 15: arriveForSession()
    case 16: closeSession()
    case 0...3: arrive()
    case 4...5: if let id = anyLink(where: { $0 == .connecting }) { completeConnecting(id) }
    case 6...8: respond()
    case 9: if let id = anyLink(where: { $0 != .connecting }) { lose(id) }
    case 10:
      let id = open.sorted { $0.number < $1.number }.randomElement(using: &generator)
      if let id { perform(pool.cancelled(id)) }
    case 11: primary = 1 - primary
    case 12:
      now += .seconds(6)
      expire()
    default:
      if let deadline = pool.nextDeadline, deadline > now { now = deadline }
      expire()
    }
  }

  private mutating func arrive() {
    requestCount += 1
    let id = RequestID(number: requestCount)
    open.insert(id)
    let isRead = Bool.random(using: &generator)
    if !isRead { writes.insert(id) }
    let isUrgent = Int.random(in: 0..<4, using: &generator) == 0
    perform(pool.arrived(id, isRetryable: isRead, isUrgent: isUrgent, at: now))
  }

  private mutating func arriveForSession() {
    requestCount += 1
    let id = RequestID(number: requestCount)
    let use: SessionUse = Bool.random(using: &generator) ? .export : .import
    let session = Session(use: use, client: ["a", "b", nil].randomElement(using: &generator) ?? nil)
    open.insert(id)
    waitingSessions[id] = session
    perform(pool.arrived(id, for: use, of: session.client, at: now))
  }

  private mutating func closeSession() {
    guard let index = sessions.indices.randomElement(using: &generator) else { return }
    let session = sessions.remove(at: index)
    perform(pool.closed(session.use, of: session.client))
  }

  private mutating func completeConnecting(_ id: ConnectionID) {
    if Int.random(in: 0..<3, using: &generator) > 0 {
      connect(id)
    } else {
      links[id] = nil
      let jitter = Double.random(in: 0...1, using: &generator)
      perform(pool.failedToConnect(id, reason: "refused", at: now, jitter: jitter))
    }
  }

  private mutating func connect(_ id: ConnectionID) {
    guard let link = links[id] else { return }
    let others = links.values.filter { $0.phase != .connecting && $0.discoveries == discoveries }
    if link.discoveries == discoveries, others.contains(where: { $0.server != link.server }) {
      discoveries += 1
      links[id]?.discoveries = discoveries
    }
    links[id]?.phase = .idle
    perform(pool.connected(id, to: link.identity, at: now))
  }

  /// Simulates a server's response.
  private mutating func respond() {
    let phases: [Phase] = [.running, .running, .running, .stopping, .terminating, .awaitingStandby]
    guard let phase = phases.randomElement(using: &generator), let id = anyLink(where: { $0 == phase }),
      let link = links[id]
    else {
      return
    }
    switch phase {
    case .running where link.server != primary && isWrite(link):
      findReadOnly(id)
    case .terminating:
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: perform(pool.terminationFailed(id, reason: "no connection", at: now))
      case 1:
        links[id]?.phase = .awaitingStandby
        perform(pool.waitsForStandby(id, at: now))
      case 2: lose(id)
      default: finish(id)
      }
    case .running, .stopping, .awaitingStandby: finish(id)
    case .connecting, .idle: break
    }
  }

  private mutating func findReadOnly(_ id: ConnectionID) {
    links[id]?.request = nil
    discoveries += 1
    perform(pool.foundReadOnly(id, reason: "read-only", at: now))
  }

  private mutating func finish(_ id: ConnectionID) {
    // A request that has failed in the meantime was cancelled.
    if let request = links[id]?.request, open.contains(request) { end(request) }
    links[id]?.request = nil
    links[id]?.phase = .idle
    perform(pool.finished(id, at: now))
  }

  private mutating func lose(_ id: ConnectionID) {
    let outcome = [StatementOutcome.unknown, .rolledBack, .rejected].randomElement(using: &generator) ?? .unknown
    // A request that is known not to have been executed may fail as such, or be retried.
    if outcome != .unknown { links[id]?.request = nil }
    perform(pool.connectionLost(id, reason: "gone", outcome: outcome, at: now))
  }

  private mutating func expire() {
    let jitter = Double.random(in: 0...1, using: &generator)
    perform(pool.expired(at: now, jitter: jitter))
    if let deadline = pool.nextDeadline, deadline <= now { problems.append("a deadline stays in the past") }
  }

  /// Completes everything on healthy servers.
  private mutating func settle() {
    for _ in 0..<100 {
      closeSession()
      for id in links.keys.sorted(by: { $0.number < $1.number }) {
        guard let link = links[id] else { continue }
        switch link.phase {
        case .connecting: connect(id)
        case .idle: break
        case .running, .stopping, .terminating, .awaitingStandby: finish(id)
        }
      }
      now += .milliseconds(100)
      expire()
      compareLoad()
    }
  }

  private mutating func anyLink(where isWanted: (Phase) -> Bool) -> ConnectionID? {
    links.filter { isWanted($0.value.phase) }.keys.sorted { $0.number < $1.number }.randomElement(using: &generator)
  }

  // MARK: Checks

  private mutating func end(_ request: RequestID) {
    if open.remove(request) == nil { problems.append("request \(request.number) ended twice") }
  }

  private mutating func fail(_ request: RequestID, _ error: DatabaseError) {
    if writes.contains(request), links.values.contains(where: { $0.request == request }) {
      guard case .outcomeUnknown = error else { return problems.append("a write that may be made failed as \(error)") }
    } else if case .outcomeUnknown = error {
      problems.append("a write that was not made has an unknown outcome")
    }
    end(request)
  }

  private func isWrite(_ link: Link?) -> Bool { link?.request.map(writes.contains) ?? false }

  private mutating func run(_ request: RequestID, on id: ConnectionID) {
    guard let link = links[id], link.phase == .idle else {
      problems.append("a request runs on a connection that is not free")
      return
    }
    if !open.contains(request) { problems.append("a request runs that has ended") }
    if link.discoveries < discoveries { problems.append("a request runs on a connection of an older generation") }
    tries[request, default: 0] += 1
    if tries[request, default: 0] > 2 { problems.append("a request is repeated twice") }
    if writes.contains(request), links.values.contains(where: { $0.request == request }) {
      problems.append("a write is repeated that may have been made")
    }
    links[id]?.phase = .running
    links[id]?.request = request
  }

  private mutating func admit(_ id: RequestID) {
    guard let session = waitingSessions.removeValue(forKey: id) else {
      return problems.append("a request is admitted that does not wait")
    }
    if !hasRoom(for: session) { problems.append("too many sessions") }
    sessions.append(session)
    end(id)
  }

  private func hasRoom(for session: Session) -> Bool {
    sessions.count < 3 && sessions.count { $0.use == session.use } < 2
      && (session.client == nil || !sessions.contains(session))
  }

  private mutating func perform(_ actions: [PoolStateMachine.Action]) {
    // A request that fails together with the closing of its connection was running on it.
    var closed: [ConnectionID] = []
    for action in actions {
      switch action {
      case .connect(let id): links[id] = Link(server: primary, discoveries: discoveries)
      case .run(let request, let id): run(request, on: id)
      case .admit(let id): admit(id)
      case .fail(let request, let error):
        waitingSessions[request] = nil
        fail(request, error)
      case .cancel(let id):
        if links[id] == nil || isWrite(links[id]) { problems.append("a write is cancelled") }
        links[id]?.phase = .stopping
      case .terminate(let id):
        if !isWrite(links[id]) { problems.append("a read is terminated") }
        links[id]?.phase = .terminating
      case .close(let id): closed.append(id)
      }
    }
    for id in closed { links[id] = nil }
    if links.count > Self.maximumConnections { problems.append("too many connections") }
  }

  private mutating func compareLoad() {
    let load = pool.load
    let connecting = links.values.count { $0.phase == .connecting }
    let idle = links.values.count { $0.phase == .idle }
    if load.connecting != connecting || load.idle != idle || load.busy != links.count - connecting - idle {
      problems.append("the pool counts other connections than there are: \(load)")
    }
    for (use, load) in [(SessionUse.export, load.exports), (.import, load.imports)] {
      let waiting = waitingSessions.values.filter { $0.use == use }
      if load.connections != sessions.count(where: { $0.use == use }) || load.waiting != waiting.count {
        problems.append("the pool counts other sessions than there are: \(load)")
      }
      if waiting.contains(where: hasRoom) { problems.append("a request waits for a session although there is room") }
    }
  }
}
