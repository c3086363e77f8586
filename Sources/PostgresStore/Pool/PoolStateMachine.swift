import Points

/// What a pool of connections does next, as a value: events go in, actions come out, and nothing here waits, connects
/// or looks at a clock.
///
/// Connections are made when they are needed, up to a limit, and kept. Who asks while all are busy waits, first come,
/// first served, in a queue of limited length for a limited time; those of one group that stand together are then sent
/// together, as many as leave the other connections their share. Who would wait longer than that time, by how fast the
/// queue moved of late, is turned away at once, so that whoever is let in is served in time, however many ask. When the
/// server can't be reached, all who wait and all who come are told so at once, while one connection at a time is tried
/// at growing intervals; the first that succeeds ends that.
struct PoolStateMachine {
  typealias Instant = ContinuousClock.Instant

  /// What a connection is known by; never used twice.
  struct ConnectionID: Hashable, Sendable {
    let number: Int
  }

  /// What a request is known by; never used twice.
  struct RequestID: Hashable, Sendable {
    let number: Int
  }

  /// What requests have in common that may be sent together.
  struct Group: Hashable, Sendable {
    /// What it is known by.
    let name: String
    /// Connections that are busy with it at most. What costs the database less than being asked is best asked on few, so
    /// that those who come meanwhile are asked for together.
    var connections = Int.max
    /// Requests that may be sent together.
    var together = 16
  }

  /// What the pool may use.
  struct Limits: Hashable, Sendable {
    /// Connections at most.
    var connections = 8
    /// Requests that may wait for a connection.
    var waiters = 1024
    /// Requests that may wait before all others, such as whether the server is well.
    var urgentWaiters = 4
    /// How long a request may wait for a connection.
    var waitTime: Duration = .seconds(5)
    /// How long a connection may take over a request before it is given up.
    var answerTime: Duration = .seconds(6)
    /// How long a connection may take to be made before it is given up.
    var connectTime: Duration = .seconds(30)
    /// The pause after the first failure to connect; it doubles with each further one.
    var firstPause: Duration = .milliseconds(100)
    /// The longest pause.
    var longestPause: Duration = .seconds(5)
  }

  /// What is to be done.
  enum Action: Hashable, Sendable {
    /// Make a connection, and tell ``connected(_:at:)`` or ``failedToConnect(_:reason:at:jitter:)``.
    case connect(ConnectionID)
    /// Send the requests, which are one or are of one group, and tell ``finished(_:at:)`` or ``lost(_:reason:at:)``.
    case run([RequestID], ConnectionID)
    /// Give the request this error.
    case fail(RequestID, PointStoreError)
    /// Ask the server to stop what the connection does, and tell ``finished(_:at:)`` once that is done and the answer
    /// has come.
    case cancel(ConnectionID)
    /// Close the connection, or give up making it.
    case close(ConnectionID)
  }

  private enum Connection {
    case connecting(until: Instant)
    case idle
    /// It is closed once it has brought its requests to an end where it is of no further use.
    case busy([Request], until: Instant, isLast: Bool = false)
    case cancelling(until: Instant)
  }

  /// A request that waits or is under way.
  struct Request {
    let id: RequestID
    let deadline: Instant
    let mayBeRepeated: Bool
    let group: Group?
    var isUrgent = false
    var wasRepeated = false
  }

  /// The server can't be reached.
  private struct Outage {
    var reason: String
    var failures: Int
    var nextAttempt: Instant
  }

  private let limits: Limits
  private var connections: [ConnectionID: Connection] = [:]
  /// The one that was used last is used first, so that the others may rest.
  private var idle: [ConnectionID] = []
  private var waiters = WaitingLine()
  private var urgentWaiters = 0
  private var serviceTime = ServiceTime()
  private var outage: Outage?
  private var connectionsMade = 0
  private var isShutDown = false

  /// Makes a pool without connections.
  init(limits: Limits) {
    self.limits = limits
  }

  /// What its connections do.
  var load: PoolLoad {
    var load = PoolLoad()
    for connection in connections.values {
      switch connection {
      case .connecting: load.connecting += 1
      case .idle: load.idle += 1
      case .busy, .cancelling: load.busy += 1
      }
    }
    load.limit = limits.connections
    load.waiting = waiters.count
    return load
  }

  // MARK: Requests

  /// A request has come.
  ///
  /// - Parameters:
  ///   - group: what is common to requests that may be sent together; `nil` for one that goes alone.
  ///   - isUrgent: whether it goes before all others, and is not turned away because they are many.
  mutating func arrived(
    _ id: RequestID,
    mayBeRepeated: Bool,
    group: Group? = nil,
    isUrgent: Bool = false,
    at now: Instant
  ) -> [Action] {
    if isShutDown { return [.fail(id, .unavailable(reason: "the store is shut down"))] }
    var request = Request(id: id, deadline: now + limits.waitTime, mayBeRepeated: mayBeRepeated, group: group)
    if mayRun(group), let connection = idle.popLast() { return [run([request], on: connection, at: now)] }
    if let outage, !isConnected { return [.fail(id, .unavailable(reason: outage.reason))] }
    if isUrgent, urgentWaiters < limits.urgentWaiters {
      request.isUrgent = true
      urgentWaiters += 1
      waiters.prepend(request)
    } else {
      guard !isCrowded(at: now) else { return [.fail(id, .overloaded)] }
      waiters.append(request)
    }
    return connectIfNeeded(at: now)
  }

  /// Whether who comes now is turned away, unless it is urgent: the queue is full, or it moves too slowly.
  ///
  /// That it moves slowly is believed when someone has waited for a quarter of the time already: a single slow statement
  /// says little about those behind it. Who would be the first is never turned away.
  func isCrowded(at now: Instant) -> Bool {
    guard waiters.count < limits.waiters else { return true }
    guard let first = waiters.first, first.deadline - now < limits.waitTime * 0.75 else { return false }
    return serviceTime.wait(behind: waiters.count, connections: limits.connections) > limits.waitTime
  }

  /// Whoever made the request has stopped waiting for it.
  mutating func cancelled(_ id: RequestID) -> [Action] {
    if let request = waiters.remove(id) {
      noteLeft(request)
      return [.fail(id, .timeout)]
    }
    for case (let connection, .busy(var requests, let deadline, let isLast)) in connections {
      guard let index = requests.firstIndex(where: { $0.id == id }) else { continue }
      requests.remove(at: index)
      // The others of its group still want the answer.
      connections[connection] =
        requests.isEmpty ? .cancelling(until: deadline) : .busy(requests, until: deadline, isLast: isLast)
      return requests.isEmpty ? [.fail(id, .timeout), .cancel(connection)] : [.fail(id, .timeout)]
    }
    return []
  }

  // MARK: Connections

  /// A connection has been made.
  mutating func connected(_ id: ConnectionID, at now: Instant) -> [Action] {
    guard case .connecting? = connections[id] else { return [.close(id)] }
    outage = nil
    return becameFree(id, at: now) + connectIfNeeded(at: now)
  }

  /// A connection could not be made.
  ///
  /// - Parameter jitter: a random number from 0 to 1, which shortens the pause by up to half.
  mutating func failedToConnect(_ id: ConnectionID, reason: String, at now: Instant, jitter: Double) -> [Action] {
    guard case .connecting? = connections.removeValue(forKey: id) else { return [] }
    let failures = (outage?.failures ?? 0) + 1
    let pause = min(limits.longestPause, limits.firstPause * (1 << min(failures - 1, 20)))
    outage = Outage(reason: reason, failures: failures, nextAttempt: now + pause * (1 - jitter / 2))
    return isConnected ? [] : failWaiters(.unavailable(reason: reason))
  }

  /// A connection has brought its request to an end, well or ill, and can take another.
  mutating func finished(_ id: ConnectionID, at now: Instant) -> [Action] {
    switch connections[id] {
    case .busy(_, _, isLast: true):
      connections[id] = nil
      return [.close(id)] + serveIdle(at: now) + connectIfNeeded(at: now)
    case .busy(let requests, let until, _):
      serviceTime.observe(limits.answerTime - (until - now), requests: requests.count)
      return becameFree(id, at: now)
    case .cancelling: return becameFree(id, at: now)
    case .connecting, .idle, nil: return []
    }
  }

  /// A connection's server has refused to write and done nothing. Every connection that there is may lead to it and is
  /// let go of, once it is free; what was refused is asked again on a new one, a write too, but not twice.
  mutating func foundReadOnly(_ id: ConnectionID, reason: String, at now: Instant) -> [Action] {
    let actions = idle.map { Action.close($0) }
    for connection in idle { connections[connection] = nil }
    idle = []
    for case (let connection, .busy(let requests, let deadline, _)) in connections {
      connections[connection] = .busy(requests, until: deadline, isLast: true)
    }
    return actions + lost(id, reason: reason, didNothing: true, at: now)
  }

  /// A connection broke off. Its requests are put first in the line where they may be repeated and were not.
  ///
  /// - Parameter didNothing: whether it is known that nothing was done, so that a write may be repeated too.
  mutating func lost(_ id: ConnectionID, reason: String, didNothing: Bool = false, at now: Instant) -> [Action] {
    guard let connection = connections.removeValue(forKey: id) else { return [] }
    idle.removeAll { $0 == id }
    var actions = [Action.close(id)]
    guard case .busy(let requests, _, _) = connection else {
      return actions + serveIdle(at: now) + connectIfNeeded(at: now)
    }
    let canRepeat = !isShutDown && (outage == nil || isConnected)
    var repeated: [Request] = []
    for var request in requests {
      if canRepeat, request.mayBeRepeated || didNothing, !request.wasRepeated {
        request.wasRepeated = true
        repeated.append(request)
      } else {
        actions.append(.fail(request.id, .unavailable(reason: reason)))
      }
    }
    if !repeated.isEmpty, let other = idle.popLast() { return actions + [run(repeated, on: other, at: now)] }
    for request in repeated.reversed() {
      if request.isUrgent { urgentWaiters += 1 }
      waiters.prepend(request)
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  // MARK: Time

  /// When ``expired(at:jitter:)`` is to be called next.
  var nextDeadline: Instant? {
    var deadline = waiters.first?.deadline
    func consider(_ other: Instant) { deadline = min(deadline ?? other, other) }
    for connection in connections.values {
      switch connection {
      case .connecting(let until), .busy(_, let until, _), .cancelling(let until): consider(until)
      case .idle: break
      }
    }
    let wouldConnect = !isConnected || needsConnection
    if let outage, wouldConnect, !isConnecting { consider(outage.nextAttempt) }
    return deadline
  }

  /// A deadline may have passed.
  mutating func expired(at now: Instant, jitter: Double) -> [Action] {
    var actions = failOverdue(at: now)
    for (id, connection) in connections {
      switch connection {
      case .connecting(let until) where until <= now:
        actions.append(.close(id))
        actions += failedToConnect(id, reason: "connecting to the database took too long", at: now, jitter: jitter)
      case .busy(let requests, let until, _) where until <= now:
        connections[id] = nil
        actions += requests.map { .fail($0.id, .timeout) } + [.close(id)]
      case .cancelling(let until) where until <= now:
        connections[id] = nil
        actions.append(.close(id))
      default: break
      }
    }
    if let outage, outage.nextAttempt <= now, !isConnected, !isConnecting, !isShutDown {
      actions.append(connect(at: now))
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  /// Closes everything, and fails who waits and who will come.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    outage = nil
    idle = []
    var actions = failWaiters(.unavailable(reason: "the store is shut down"))
    for (id, connection) in connections {
      if case .busy(let requests, _, _) = connection {
        actions += requests.map { .fail($0.id, .unavailable(reason: "the store is shut down")) }
      }
      actions.append(.close(id))
    }
    connections = [:]
    return actions
  }

  // MARK: What follows from an event

  private var isConnected: Bool {
    connections.values.contains { if case .connecting = $0 { false } else { true } }
  }

  private var isConnecting: Bool {
    connections.values.contains { if case .connecting = $0 { true } else { false } }
  }

  private mutating func run(_ requests: [Request], on connection: ConnectionID, at now: Instant) -> Action {
    connections[connection] = .busy(requests, until: now + limits.answerTime)
    return .run(requests.map(\.id), connection)
  }

  private mutating func becameFree(_ id: ConnectionID, at now: Instant) -> [Action] {
    connections[id] = .idle
    idle.append(id)
    return serveIdle(at: now)
  }

  /// Gives connections that are free to those who wait. Whoever has given up meanwhile, or soon will, must not cost those
  /// who have not.
  private mutating func serveIdle(at now: Instant) -> [Action] {
    var actions = failOverdue(at: now)
    while let first = waiters.first, mayRun(first.group), let connection = idle.popLast() {
      actions.append(run(popTogether(), on: connection, at: now))
      actions += failOverdue(at: now)
    }
    return actions
  }

  /// Whether one more connection may be busy with the group.
  private func mayRun(_ group: Group?) -> Bool {
    guard let group, group.connections < limits.connections else { return true }
    let busy = connections.values.count { connection in
      if case .busy(let requests, _, _) = connection { requests.first?.group == group } else { false }
    }
    return busy < group.connections
  }

  private mutating func failOverdue(at now: Instant) -> [Action] {
    var actions: [Action] = []
    while let first = waiters.first, first.deadline <= now, let request = popFirst() {
      actions.append(.fail(request.id, .overloaded))
    }
    return actions
  }

  private mutating func popFirst() -> Request? {
    let request = waiters.popFirst()
    if let request { noteLeft(request) }
    return request
  }

  private mutating func noteLeft(_ request: Request) {
    if request.isUrgent { urgentWaiters -= 1 }
  }

  /// Takes the first in the line, and those behind it that are of its group: twice a connection's share of all who wait,
  /// because the more are asked for together the less each costs, but not so many that other connections get none.
  private mutating func popTogether() -> [Request] {
    let waiting = waiters.count
    guard let first = popFirst() else { return [] }
    guard let group = first.group else { return [first] }
    let connections = min(group.connections, limits.connections)
    let share = min((2 * waiting + connections - 1) / connections, group.together)
    var requests = [first]
    while requests.count < share, waiters.first?.group == group, let next = popFirst() { requests.append(next) }
    return requests
  }

  private mutating func connect(at now: Instant) -> Action {
    connectionsMade += 1
    let id = ConnectionID(number: connectionsMade)
    connections[id] = .connecting(until: now + limits.connectTime)
    return .connect(id)
  }

  /// Whether there may be one more connection, and someone to use it.
  private var needsConnection: Bool {
    guard let first = waiters.first else { return false }
    return connections.count < limits.connections && mayRun(first.group)
  }

  /// Makes as many connections as there are requests in wait, within the limit and outside of an outage's pauses.
  private mutating func connectIfNeeded(at now: Instant) -> [Action] {
    guard needsConnection else { return [] }
    if let outage, now < outage.nextAttempt || isConnecting { return [] }
    let connecting = connections.values.count { if case .connecting = $0 { true } else { false } }
    let wanted = outage == nil ? waiters.count - connecting : 1
    return (0..<max(0, min(wanted, limits.connections - connections.count))).map { _ in connect(at: now) }
  }

  private mutating func failWaiters(_ error: PointStoreError) -> [Action] {
    var actions: [Action] = []
    while let request = popFirst() { actions.append(.fail(request.id, error)) }
    return actions
  }
}
