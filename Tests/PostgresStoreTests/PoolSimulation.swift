import Points
import SyntheticData
import TestSupport

@testable import PostgresStore

/// A pool among random events: requests come and are cancelled, connections are made and break, time passes.
struct PoolSimulation {
  private(set) var problems: [String] = []

  private var generator: SeededGenerator
  private var pool: PoolStateMachine
  private var now = ContinuousClock.now
  private var requestsMade = 0
  private var open: Set<PoolStateMachine.RequestID> = []
  private var connecting: Set<PoolStateMachine.ConnectionID> = []
  private var connected: Set<PoolStateMachine.ConnectionID> = []
  private var running: [PoolStateMachine.ConnectionID: [PoolStateMachine.RequestID]] = [:]
  private var stopping: Set<PoolStateMachine.ConnectionID> = []

  private static let maximumConnections = 3

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    var limits = PoolStateMachine.Limits()
    limits.connections = Self.maximumConnections
    limits.waiters = 5
    pool = PoolStateMachine(limits: limits)
  }

  mutating func run(steps: Int) {
    for _ in 0..<steps { step() }
    perform(pool.shutDown())
    if !open.isEmpty { problems.append("\(open.count) requests never ended") }
  }

  private mutating func step() {
    now += .milliseconds(Int.random(in: 0...200, using: &generator))
    let jitter = Double.random(in: 0...1, using: &generator)
    switch Int.random(in: 0..<13, using: &generator) {
    case 12:
      guard let id = running.keys.randomElement(using: &generator), !stopping.contains(id) else { return }
      connected.remove(id)
      running[id] = nil
      perform(pool.foundReadOnly(id, reason: "read-only", at: now))
    case 0...3:
      requestsMade += 1
      let id = PoolStateMachine.RequestID(number: requestsMade)
      open.insert(id)
      let groups: [PoolStateMachine.Group?] = [nil, .init(name: "a"), .init(name: "b", connections: 1, together: 2)]
      let group = groups.randomElement(using: &generator) ?? nil
      let isUrgent = Int.random(in: 0..<4, using: &generator) == 0
      perform(
        pool.arrived(id, mayBeRepeated: .random(using: &generator), group: group, isUrgent: isUrgent, at: now))
    case 4...5:
      guard let id = connecting.randomElement(using: &generator) else { return }
      connecting.remove(id)
      if Int.random(in: 0..<3, using: &generator) > 0 {
        connected.insert(id)
        perform(pool.connected(id, at: now))
      } else {
        perform(pool.failedToConnect(id, reason: "refused", at: now, jitter: jitter))
      }
    case 6...8: finishOne()
    case 9:
      guard let id = connected.randomElement(using: &generator) else { return }
      running[id] = nil
      stopping.remove(id)
      perform(pool.lost(id, reason: "gone", at: now))
    case 10:
      guard let id = open.randomElement(using: &generator) else { return }
      perform(pool.cancelled(id))
    default:
      if let deadline = pool.nextDeadline, deadline > now { now = deadline }
      perform(pool.expired(at: now, jitter: jitter))
      if let deadline = pool.nextDeadline, deadline <= now { problems.append("a deadline stays in the past") }
    }
  }

  private mutating func finishOne() {
    if let id = stopping.randomElement(using: &generator) {
      stopping.remove(id)
      perform(pool.finished(id, at: now))
    } else if let (id, requests) = running.randomElement(using: &generator) {
      running[id] = nil
      // Those that have failed meanwhile were cancelled.
      for request in requests where open.contains(request) { end(request) }
      perform(pool.finished(id, at: now))
    }
  }

  private mutating func end(_ request: PoolStateMachine.RequestID) {
    if open.remove(request) == nil { problems.append("request \(request.number) ended twice") }
  }

  private mutating func perform(_ actions: [PoolStateMachine.Action]) {
    for action in actions {
      switch action {
      case .connect(let id): connecting.insert(id)
      case .run(let requests, let id):
        if requests.isEmpty || !open.isSuperset(of: requests) { problems.append("what runs is nobody's") }
        if !connected.contains(id) || running[id] != nil || stopping.contains(id) {
          problems.append("a request runs on a connection that is not free")
        }
        running[id] = requests
      case .fail(let request, _): end(request)
      case .cancel(let id):
        running[id] = nil
        stopping.insert(id)
      case .close(let id):
        connecting.remove(id)
        connected.remove(id)
        running[id] = nil
        stopping.remove(id)
      }
    }
    if connecting.count + connected.count > Self.maximumConnections { problems.append("too many connections") }
  }
}
