import DequeModule

/// The decisions of a connection pool as a value: events go in, actions come out. It does no I/O and takes the time as
/// a parameter.
///
/// Connections are established on demand, up to a limit, and kept. While all are busy, requests wait in a first-in,
/// first-out queue of limited length, for a limited time. Admission control rejects a request immediately if its
/// estimated wait exceeds the maximum, so that admitted requests are served in time under any load. The estimate is the
/// queue length divided by the recent service rate. When the server is unreachable, waiting and new requests fail
/// immediately, while one connection at a time is attempted with exponential back-off; the first success ends the
/// outage. ``PooledConnection`` is the state machine of a single connection.
///
/// An export or import has a connection to itself, which is established for it and closed afterwards. Each class of use
/// has a limit and a wait queue, and all together have a limit. One client has at most all connections of a use but one,
/// so that there is one for others, and the only one if there is one. Clients take turns: the first caller of each comes
/// before the second of any, and in a full queue the last one gives way to a caller of an earlier turn.
struct PoolStateMachine {
  typealias Instant = ContinuousClock.Instant

  /// The identifier of a connection; never reused.
  struct ConnectionID: Hashable, Sendable {
    let number: Int
  }

  /// The identifier of a request; never reused.
  struct RequestID: Hashable, Sendable {
    let number: Int
  }

  /// The limits and timeouts of the pool.
  struct Limits: Hashable, Sendable {
    /// The maximum number of connections.
    var connections = 8
    /// The maximum number of requests in the wait queue.
    var waiters = 1024
    /// The maximum number of urgent requests in the wait queue, such as readiness checks.
    var urgentWaiters = 4
    /// The maximum time that a request waits for a connection.
    var waitTimeout: Duration = .seconds(5)
    /// The maximum time that a connection takes for a request before it is closed.
    var requestTimeout: Duration = .seconds(6)
    /// The maximum time for a backend to confirm that it terminated a write that is past its deadline.
    var terminationTimeout: Duration = .seconds(2)
    /// The interval at which a backend whose commit waits for a standby is checked again.
    var standbyCheckInterval: Duration = .seconds(30)
    /// The minimum time between two replacements of all connections because all lead to standbys and a write was sent.
    var standbyRetryInterval: Duration = .seconds(5)
    /// The maximum time to establish a connection.
    var connectTimeout: Duration = .seconds(30)
    /// The back-off after the first failure to connect; it doubles with each further failure.
    var initialBackoff: Duration = .milliseconds(100)
    /// The maximum back-off.
    var maximumBackoff: Duration = .seconds(5)
    /// The maximum number of connections for exports.
    var exports = 2
    /// The maximum number of connections for imports.
    var imports = 2
    /// The maximum number of connections for exports and imports together.
    var sessions = 4
    /// The maximum number of exports in the wait queue, and of imports.
    var sessionWaiters = 32

    func sessions(for use: SessionUse) -> Int { use == .export ? exports : imports }
  }

  /// An action for the pool to carry out.
  enum Action: Hashable, Sendable {
    /// Establish a connection, and report ``connected(_:at:)`` or ``failedToConnect(_:reason:at:jitter:)``.
    case connect(ConnectionID)
    /// Send the request, and report ``finished(_:at:)`` or ``connectionLost(_:reason:outcome:at:)``.
    case run(RequestID, ConnectionID)
    /// Let the request establish a connection of its own, and report ``closed(_:)`` when the server has closed it.
    case admit(RequestID)
    case fail(RequestID, DatabaseError)
    /// Cancel the read that the connection runs, and report ``finished(_:at:)`` once the cancel request was sent and
    /// the command has ended.
    case cancel(ConnectionID)
    /// Terminate the connection's backend unless its commit waits for a standby. Report ``waitsForStandby(_:at:)`` or
    /// ``terminationFailed(_:reason:at:)`` if it was not signalled, and ``connectionLost(_:reason:outcome:at:)`` or
    /// ``finished(_:at:)`` when it ends.
    case terminate(ConnectionID)
    /// Close the connection, or abandon the attempt to establish it.
    case close(ConnectionID)
  }

  /// A request that is waiting or in progress.
  struct Request {
    let id: RequestID
    let deadline: Instant
    let isRetryable: Bool
    var isUrgent = false
    var wasRetried = false
  }

  /// A request for a connection of its own.
  private struct WaitingSession {
    let id: RequestID
    let use: SessionUse
    let client: String?
    /// The client whose connections it counts among; `nil` for one that may have all.
    let owner: String?
    let turn: Int
    let deadline: Instant
  }

  /// A client with connections of its own for a use; `nil` stands for those that may have all connections.
  private struct SessionOwner: Hashable {
    let use: SessionUse
    let client: String?
  }

  /// The state of an outage, in which the server is unreachable.
  private struct Outage {
    var reason: String
    var failures: Int
    var nextAttempt: Instant
  }

  let limits: Limits
  private var connections: [ConnectionID: PooledConnection] = [:]
  /// The idle connections, all of the current generation. The most recently used one is taken first, so that the others
  /// stay idle.
  private var idle: [ConnectionID] = []
  private var waiters = WaitQueue()
  private var urgentWaiters = 0
  private var serviceTime = ServiceTime()
  private var outage: Outage?
  /// The number of connections for each use that the server has not closed.
  private var sessions: [SessionUse: Int] = [:]
  private var sessionsOfClients: [SessionOwner: Int] = [:]
  /// Those whose connections are about to be closed for requests that wait.
  private var givingWay: [SessionOwner] = []
  /// Those of each use are ordered by turn, and in a turn by arrival.
  private var waitingSessions: [WaitingSession] = []
  private var isShutDown = false
  /// The time at which connections to standbys were last replaced because of a write.
  private var standbysReplacedAt: Instant?
  /// The number of failovers that were detected.
  private var generation = 0
  private var lastConnectionNumber = 0

  static let shutDownReason = "the connection pool is shut down"

  /// Creates a pool without connections.
  init(limits: Limits) {
    self.limits = limits
  }

  var load: PoolLoad {
    var load = PoolLoad()
    for connection in connections.values {
      switch connection.state {
      case .connecting: load.connecting += 1
      case .idle: load.idle += 1
      case .busy, .cancelling, .terminating, .awaitingStandby: load.busy += 1
      }
    }
    load.limit = limits.connections
    load.waiting = waiters.count
    (load.exports, load.imports) = (sessionLoad(of: .export), sessionLoad(of: .import))
    return load
  }

  // MARK: Requests

  /// Handles a new request.
  ///
  /// - Parameter isUrgent: a Boolean value that indicates whether it precedes all other requests and is exempt from
  ///   admission control.
  mutating func arrived(
    _ id: RequestID,
    isRetryable: Bool,
    isUrgent: Bool = false,
    at now: Instant
  ) -> [Action] {
    if isShutDown { return [.fail(id, .unavailable(reason: Self.shutDownReason))] }
    // It would wait for the standby as well, and the remaining connections are for reads.
    if !isRetryable, !mayAwaitStandby { return [.fail(id, .overloaded)] }
    var request = Request(id: id, deadline: now + limits.waitTimeout, isRetryable: isRetryable)
    if let connection = idle.popLast() { return [run(request, on: connection, at: now)] }
    if let outage, !isConnected { return [.fail(id, .unavailable(reason: outage.reason))] }
    if isUrgent, urgentWaiters < limits.urgentWaiters {
      request.isUrgent = true
      urgentWaiters += 1
      waiters.prepend(request)
    } else {
      guard !isOverloaded(at: now) else { return [.fail(id, .overloaded)] }
      waiters.append(request)
    }
    return connectIfNeeded(at: now)
  }

  /// Returns whether admission control rejects a new request that is not urgent: the queue is full, or it moves too
  /// slowly.
  ///
  /// The estimate counts only once the first request has waited for a quarter of the maximum: a single slow statement
  /// says little about the next ones. A request that would be the first in the queue is never rejected.
  func isOverloaded(at now: Instant) -> Bool {
    guard waiters.count < limits.waiters else { return true }
    guard let first = waiters.first, first.deadline - now < limits.waitTimeout * 0.75 else { return false }
    return serviceTime.wait(behind: waiters.count, connections: limits.connections) > limits.waitTimeout
  }

  /// Handles a request whose caller has stopped waiting.
  mutating func cancelled(_ id: RequestID) -> [Action] {
    if let request = waiters.remove(id) {
      recordDeparture(request)
      return [.fail(id, .cancelled)]
    }
    if let index = waitingSessions.firstIndex(where: { $0.id == id }) {
      waitingSessions.remove(at: index)
      return [.fail(id, .cancelled)]
    }
    for (connection, pooled) in connections {
      guard let request = pooled.request, request.id == id else { continue }
      let unknown = DatabaseError.outcomeUnknown(reason: "the request was cancelled before its outcome was known")
      return [.fail(id, request.isRetryable ? .cancelled : unknown)]
        + enter(pooled.reaction(to: .cancelled), connection)
    }
    return []
  }

  // MARK: Exports and imports

  /// Handles a new request for a connection of its own.
  ///
  /// - Parameters:
  ///   - client: the client whose request it is; `nil` for one that may have all connections.
  ///   - isShort: a Boolean value that indicates whether the connection does not count among the client's, as it is
  ///     closed in a moment.
  mutating func arrived(
    _ id: RequestID, for use: SessionUse, of client: String? = nil, isShort: Bool = false, at now: Instant
  ) -> [Action] {
    if isShutDown { return [.fail(id, .unavailable(reason: Self.shutDownReason))] }
    let owner = isShort ? nil : client
    if mayAdmit(use, of: owner) { return [admit(id, for: use, of: owner)] }
    let waiting = waitingSessions.filter { $0.use == use }
    let turn = waiting.last { $0.client == client }.map { $0.turn + 1 } ?? waiting.first?.turn ?? 0
    var actions: [Action] = []
    if waiting.count >= limits.sessionWaiters {
      guard let last = waitingSessions.lastIndex(where: { $0.use == use }), waitingSessions[last].turn > turn else {
        return [.fail(id, .overloaded)]
      }
      actions.append(.fail(waitingSessions.remove(at: last).id, .overloaded))
    }
    let index = waitingSessions.firstIndex { $0.use == use && $0.turn > turn } ?? waitingSessions.endIndex
    waitingSessions.insert(
      WaitingSession(
        id: id, use: use, client: client, owner: owner, turn: turn, deadline: now + limits.waitTimeout), at: index)
    return actions
  }

  /// Handles the end of a request's own connection, or of the attempt to establish it.
  ///
  /// - Parameter client: the client among whose connections it counts; `nil` for one that may have all.
  mutating func closed(_ use: SessionUse, of client: String? = nil) -> [Action] {
    count(-1, use, of: client)
    if let index = givingWay.firstIndex(of: SessionOwner(use: use, client: client)) { givingWay.remove(at: index) }
    var actions: [Action] = []
    while let index = waitingSessions.firstIndex(where: { mayAdmit($0.use, of: $0.owner) }) {
      let next = waitingSessions.remove(at: index)
      actions.append(admit(next.id, for: next.use, of: next.owner))
    }
    return actions
  }

  /// Returns whether a connection has to be closed for a request to be admitted that waits, beside those that give way
  /// already.
  func isAwaited(_ use: SessionUse, of client: String?) -> Bool {
    var rest = self
    for other in givingWay { _ = rest.closed(other.use, of: other.client) }
    return !rest.closed(use, of: client).isEmpty
  }

  /// Notes that a connection is about to be closed for a request that waits.
  mutating func giveWay(_ use: SessionUse, of client: String?) {
    givingWay.append(SessionOwner(use: use, client: client))
  }

  private mutating func admit(_ id: RequestID, for use: SessionUse, of client: String?) -> Action {
    count(1, use, of: client)
    return .admit(id)
  }

  private mutating func count(_ change: Int, _ use: SessionUse, of client: String?) {
    sessions[use, default: 0] += change
    guard let owner = client.map({ SessionOwner(use: use, client: $0) }) else { return }
    let count = sessionsOfClients[owner, default: 0] + change
    sessionsOfClients[owner] = count > 0 ? count : nil
  }

  private func mayAdmit(_ use: SessionUse, of client: String?) -> Bool {
    let limit = limits.sessions(for: use)
    guard sessions[use, default: 0] < limit, sessions.values.reduce(0, +) < limits.sessions else { return false }
    guard let client else { return true }
    return sessionsOfClients[SessionOwner(use: use, client: client), default: 0] < max(1, limit - 1)
  }

  private func sessionLoad(of use: SessionUse) -> PoolLoad.Sessions {
    PoolLoad.Sessions(
      connections: sessions[use, default: 0], limit: limits.sessions(for: use),
      waiting: waitingSessions.count { $0.use == use })
  }

  // MARK: Time

  /// The time at which ``expired(at:jitter:)`` must be called next.
  var nextDeadline: Instant? {
    var deadline = waiters.first?.deadline
    func consider(_ other: Instant) { deadline = min(deadline ?? other, other) }
    for connection in connections.values {
      if let until = connection.deadline { consider(until) }
    }
    let wouldConnect = hasRoom && (!isConnected || needsConnection)
    if let outage, wouldConnect, !isConnecting { consider(outage.nextAttempt) }
    if let first = waitingSessions.lazy.map(\.deadline).min() { consider(first) }
    return deadline
  }

  /// Fails the requests and closes the connections that are past their deadlines.
  ///
  /// - Parameter jitter: a random number from 0 to 1, for the back-off after a failure to connect.
  mutating func expired(at now: Instant, jitter: Double) -> [Action] {
    var actions = failOverdue(at: now)
    actions += waitingSessions.filter { $0.deadline <= now }.map { .fail($0.id, .overloaded) }
    waitingSessions.removeAll { $0.deadline <= now }
    for (id, connection) in connections {
      guard let until = connection.deadline, until <= now else { continue }
      if connection.isConnecting {
        actions.append(.close(id))
        actions += failedToConnect(id, reason: "connecting to the database timed out", at: now, jitter: jitter)
      } else {
        actions += handle(.overdue(terminationDeadline: now + limits.terminationTimeout), of: id, at: now)
      }
    }
    if let outage, outage.nextAttempt <= now, hasRoom, !isConnected, !isConnecting, !isShutDown {
      actions.append(connect(at: now))
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  /// Closes all connections, and fails the waiting requests and all later ones.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    outage = nil
    let error = DatabaseError.unavailable(reason: Self.shutDownReason)
    var actions = failWaiters(error) + waitingSessions.map { .fail($0.id, error) }
    waitingSessions = []
    for (id, connection) in connections {
      guard case .close(let request, let outcome) = connection.reaction(to: .shutDown) else { continue }
      if let request { actions.append(.fail(request.id, outcome.error(for: request))) }
      actions.append(.close(id))
    }
    connections = [:]
    idle = []
    return actions
  }
}

extension PoolStateMachine {
  // MARK: Connections

  /// Handles an established connection. If it leads to another primary than the other connections, a failover has
  /// happened that they did not notice because they have not written since, and they are retired.
  ///
  /// - Parameter server: the server that it leads to.
  mutating func connected(_ id: ConnectionID, to server: ServerIdentity? = nil, at now: Instant) -> [Action] {
    guard let connection = connections[id], case .free = connection.reaction(to: .connected) else {
      return [.close(id)]
    }
    outage = nil
    connections[id]?.server = server
    var actions: [Action] = []
    if connection.generation == generation, isOtherPrimary(server) {
      actions = beginGeneration()
      connections[id]?.generation = generation
    }
    return actions + handle(.connected, of: id, at: now) + connectIfNeeded(at: now)
  }

  /// Handles a pooler's routing of a connection to another server. If that is a primary, the connections that lead to a
  /// former primary are retired.
  mutating func serverChanged(_ id: ConnectionID, to server: ServerIdentity) -> [Action] {
    guard connections[id] != nil else { return [] }
    connections[id]?.server = server
    guard connections[id]?.generation == generation, isOtherPrimary(server) else { return [] }
    let actions = beginGeneration()
    connections[id]?.generation = generation
    return actions
  }

  /// Returns whether a server is a primary and an established connection leads to another one.
  private func isOtherPrimary(_ server: ServerIdentity?) -> Bool {
    guard let server, server.isPrimary else { return false }
    return connections.values.contains { other in
      guard other.generation == generation, let old = other.server else { return false }
      return old.isPrimary && old.life != server.life
    }
  }

  /// Retires every connection, including those being established: each is closed when it becomes free.
  private mutating func beginGeneration() -> [Action] {
    generation += 1
    let retired = idle
    idle = []
    for id in retired { connections[id] = nil }
    return retired.map { .close($0) }
  }

  /// Handles a failed attempt to connect.
  ///
  /// - Parameter jitter: a random number from 0 to 1, which shortens the back-off by up to half.
  mutating func failedToConnect(_ id: ConnectionID, reason: String, at now: Instant, jitter: Double) -> [Action] {
    guard case .close? = connections[id]?.reaction(to: .failed) else { return [] }
    connections[id] = nil
    let failures = (outage?.failures ?? 0) + 1
    let backoff = min(limits.maximumBackoff, limits.initialBackoff * (1 << min(failures - 1, 20)))
    outage = Outage(reason: reason, failures: failures, nextAttempt: now + backoff * (1 - jitter / 2))
    return isConnected ? [] : failWaiters(.unavailable(reason: reason))
  }

  /// Handles the end of a connection's request, successful or not, after which it can run others.
  mutating func finished(_ id: ConnectionID, at now: Instant) -> [Action] {
    if case .busy(_, let until)? = connections[id]?.state {
      serviceTime.observe(limits.requestTimeout - (until - now))
    }
    return handle(.finished, of: id, at: now)
  }

  /// Handles a read-only server, which has done nothing. Every connection, including those being established, may lead
  /// to that server and is closed when it becomes free. The request is retried once on a new connection, even if it is
  /// a write.
  ///
  /// Where all connections lead to standbys, new ones most likely do too, and replacing them for each write would delay
  /// the reads. So they are replaced once in ``Limits/standbyRetryInterval``; between, the write fails, and connections
  /// stay.
  ///
  /// - Parameter isUsable: a Boolean value that indicates whether the connection can run another request.
  mutating func foundReadOnly(
    _ id: ConnectionID, reason: String, isUsable: Bool = false, at now: Instant
  ) -> [Action] {
    guard let connection = connections[id] else { return [] }
    if leadOnlyToStandbys {
      if isUsable, let last = standbysReplacedAt, now - last < limits.standbyRetryInterval,
        case .busy(let request, let until) = connection.state
      {
        connections[id]?.state = .busy(nil, until: until)
        let failures = request.map { [Action.fail($0.id, .readOnly(reason: reason))] } ?? []
        return failures + handle(.finished, of: id, at: now)
      }
      standbysReplacedAt = now
    }
    return beginGeneration() + handle(.connectionLost(reason: reason, .readOnly), of: id, at: now)
  }

  /// Handles a statement that was run by a primary. Where all connections were made to standbys, theirs was promoted
  /// since, and they are replaced, so that the new ones know it as a primary.
  mutating func foundPrimary(at now: Instant) -> [Action] {
    leadOnlyToStandbys ? beginGeneration() + connectIfNeeded(at: now) : []
  }

  /// A Boolean value that indicates whether at least one connection is established, and all lead to standbys.
  private var leadOnlyToStandbys: Bool {
    let servers = connections.values.compactMap(\.server)
    return !servers.isEmpty && servers.allSatisfy { !$0.isPrimary }
  }

  /// Handles a broken connection. Its request goes to the front of the wait queue if it may be retried and has not
  /// been.
  mutating func connectionLost(
    _ id: ConnectionID, reason: String, outcome: StatementOutcome = .unknown, at now: Instant
  ) -> [Action] {
    handle(.connectionLost(reason: reason, outcome), of: id, at: now)
  }

  /// Handles the failure to terminate a connection's backend.
  mutating func terminationFailed(_ id: ConnectionID, reason: String, at now: Instant) -> [Action] {
    handle(.terminationFailed(reason: reason), of: id, at: now)
  }

  /// Handles a backend that was not terminated because it has committed and waits for a synchronous standby.
  mutating func waitsForStandby(_ id: ConnectionID, at now: Instant) -> [Action] {
    guard let connection = connections[id], case .terminating(let request, _) = connection.state else { return [] }
    let reason = "the write waits for a synchronous standby"
    let actions = request.map { [Action.fail($0.id, .outcomeUnknown(reason: reason))] } ?? []
    let mayAwaitStandby =
      connections.count { other, connection in other != id && connection.isAwaitingStandby } < maximumStandbyWaits
    connections[id]?.state = .terminating(nil, until: now)
    // Half of the connections stay available for reads. The backend of a closed connection keeps waiting.
    let event: PooledConnection.Event =
      mayAwaitStandby ? .waitsForCommit(until: now + limits.standbyCheckInterval) : .terminationFailed(reason: reason)
    return actions + handle(event, of: id, at: now)
  }

  /// A Boolean value that indicates whether one more connection may be held by a write that waits for a standby.
  private var mayAwaitStandby: Bool {
    connections.values.count { $0.isAwaitingStandby } < maximumStandbyWaits
  }

  /// The maximum number of connections held by writes that wait for a standby.
  private var maximumStandbyWaits: Int { max(1, limits.connections / 2) }

  /// Applies an event to a connection.
  private mutating func handle(_ event: PooledConnection.Event, of id: ConnectionID, at now: Instant) -> [Action] {
    guard let connection = connections[id] else { return [] }
    let reaction = connection.reaction(to: event)
    switch reaction {
    case .ignore: return []
    case .enter: return enter(reaction, id)
    case .close(let request, let outcome): return close(id, request, outcome, at: now)
    case .free where connection.generation < generation: return close(id, nil, .timeout, at: now)
    case .free:
      connections[id]?.state = .idle
      idle.append(id)
      return serveIdle(at: now)
    }
  }

  /// Changes a connection's state.
  private mutating func enter(_ reaction: PooledConnection.Reaction, _ id: ConnectionID) -> [Action] {
    guard case .enter(let state) = reaction, let old = connections[id]?.state else { return [] }
    connections[id]?.state = state
    switch (old, state) {
    case (.busy, .cancelling): return [.cancel(id)]
    case (.busy, .terminating), (.awaitingStandby, .terminating): return [.terminate(id)]
    default: return []
    }
  }

  /// Closes a connection, retries or fails its request, and lets a new connection take its place.
  private mutating func close(
    _ id: ConnectionID, _ request: Request?, _ outcome: PooledConnection.RequestOutcome, at now: Instant
  ) -> [Action] {
    connections[id] = nil
    idle.removeAll { $0 == id }
    var actions = [Action.close(id)]
    if var request {
      if outage == nil || isConnected, !request.wasRetried, outcome.mayRetry(request) {
        request.wasRetried = true
        if let other = idle.popLast() {
          actions.append(run(request, on: other, at: now))
        } else {
          if request.isUrgent { urgentWaiters += 1 }
          waiters.prepend(request)
        }
      } else {
        actions.append(.fail(request.id, outcome.error(for: request)))
      }
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  // MARK: Serving

  /// A Boolean value that indicates whether at least one established connection can take requests.
  private var isConnected: Bool {
    connections.values.contains { $0.isServing && $0.generation == generation }
  }

  private var isConnecting: Bool { connections.values.contains { $0.isConnecting } }

  private mutating func run(_ request: Request, on connection: ConnectionID, at now: Instant) -> Action {
    let until = now + limits.requestTimeout
    connections[connection]?.state = .busy(request, until: until)
    return .run(request.id, connection)
  }

  /// Assigns idle connections to waiting requests. Requests that are cancelled or expire in the meantime must not delay
  /// the others.
  private mutating func serveIdle(at now: Instant) -> [Action] {
    var actions = failOverdue(at: now)
    while let connection = idle.last, let request = popFirst() {
      idle.removeLast()
      actions.append(run(request, on: connection, at: now))
      // An urgent request may have preceded expired ones.
      actions += failOverdue(at: now)
    }
    return actions
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
    if let request { recordDeparture(request) }
    return request
  }

  private mutating func recordDeparture(_ request: Request) {
    if request.isUrgent { urgentWaiters -= 1 }
  }

  private mutating func connect(at now: Instant) -> Action {
    lastConnectionNumber += 1
    let id = ConnectionID(number: lastConnectionNumber)
    connections[id] = PooledConnection(
      state: .connecting(until: now + limits.connectTimeout), generation: generation)
    return .connect(id)
  }

  /// A Boolean value that indicates whether the limit allows another connection.
  private var hasRoom: Bool { connections.count < limits.connections }

  /// A Boolean value that indicates whether the limit allows another connection and a request waits for one.
  private var needsConnection: Bool {
    hasRoom && waiters.count > 0
  }

  /// Establishes as many connections as there are waiting requests, within the limit and outside the back-off of an
  /// outage.
  private mutating func connectIfNeeded(at now: Instant) -> [Action] {
    guard needsConnection else { return [] }
    if let outage, now < outage.nextAttempt || isConnecting { return [] }
    let connecting = connections.values.count { $0.isConnecting && $0.generation == generation }
    let wanted = outage == nil ? waiters.count - connecting : 1
    return (0..<max(0, min(wanted, limits.connections - connections.count))).map { _ in connect(at: now) }
  }

  private mutating func failWaiters(_ error: DatabaseError) -> [Action] {
    var actions: [Action] = []
    while let request = popFirst() { actions.append(.fail(request.id, error)) }
    return actions
  }
}

/// The load of a connection pool.
package struct PoolLoad: Hashable, Sendable {
  /// The number of connections that are being established.
  package internal(set) var connecting = 0
  /// The number of idle connections.
  package internal(set) var idle = 0
  /// The number of connections that run or cancel a request.
  package internal(set) var busy = 0
  /// The maximum number of connections.
  package internal(set) var limit = 0
  /// The number of requests in the wait queue.
  package internal(set) var waiting = 0
  package internal(set) var exports = Sessions()
  package internal(set) var imports = Sessions()

  /// The connections of exports or imports.
  package struct Sessions: Hashable, Sendable {
    /// The number of connections that the server has not closed.
    package internal(set) var connections = 0
    /// The maximum number of connections.
    package internal(set) var limit = 0
    /// The number of callers that wait for a connection.
    package internal(set) var waiting = 0
  }
}

/// The use of a connection that one caller has to itself.
package enum SessionUse: Hashable, Sendable {
  case export
  case `import`
}

/// The recent service time of requests, as an exponentially weighted moving average.
struct ServiceTime {
  /// The weight of the newest observation.
  private static let weight = 1.0 / 8

  private var meanSeconds: Double?

  /// Records the time that a connection took for a request.
  mutating func observe(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    meanSeconds = meanSeconds.map { $0 + (seconds - $0) * Self.weight } ?? seconds
  }

  /// Returns the estimated wait of a new request behind a number of others; zero without observations.
  func wait(behind waiters: Int, connections: Int) -> Duration {
    .seconds((meanSeconds ?? 0) * Double(waiters) / Double(max(1, connections)))
  }
}

/// The first-in, first-out queue of the requests that wait for a connection. Every operation takes amortized constant
/// time.
///
/// A request that is removed from the middle leaves a gap until it would be the first or the last.
struct WaitQueue {
  typealias Request = PoolStateMachine.Request

  private var requests: Deque<Request?> = []
  /// The positions of the requests, relative to the one that was the first of all.
  private var positions: [PoolStateMachine.RequestID: Int] = [:]
  private var front = 0

  /// The number of waiting requests.
  var count: Int { positions.count }

  var first: Request? { requests.first ?? nil }

  mutating func append(_ request: Request) {
    positions[request.id] = front + requests.count
    requests.append(request)
  }

  mutating func prepend(_ request: Request) {
    front -= 1
    positions[request.id] = front
    requests.prepend(request)
  }

  mutating func popFirst() -> Request? { first.flatMap { remove($0.id) } }

  /// Removes a request from any position.
  ///
  /// - Returns: the request, if it was in the queue.
  mutating func remove(_ id: PoolStateMachine.RequestID) -> Request? {
    guard let position = positions.removeValue(forKey: id) else { return nil }
    let request = requests[position - front].take()
    while case .some(nil) = requests.last { requests.removeLast() }
    while case .some(nil) = requests.first {
      requests.removeFirst()
      front += 1
    }
    return request
  }
}
