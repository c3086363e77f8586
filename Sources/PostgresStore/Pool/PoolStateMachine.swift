import Points

/// The decisions of a connection pool as a value: events go in, actions come out. It does no I/O and takes the time as
/// a parameter.
///
/// Connections are established on demand, up to a limit, and kept. While all are busy, requests wait in a first-in,
/// first-out queue of limited length, for a limited time. Adjacent requests of one group are sent together, up to a
/// share that leaves requests for the other connections. Admission control rejects a request immediately if its
/// estimated wait exceeds the maximum, so that admitted requests are served in time under any load. The estimate is the
/// queue length divided by the recent service rate. When the server is unreachable, waiting and new requests fail
/// immediately, while one connection at a time is attempted with exponential back-off; the first success ends the
/// outage. ``PooledConnection`` is the state machine of a single connection.
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

  /// A group of requests that may share a statement.
  struct Group: Hashable, Sendable {
    /// The name that identifies the group.
    let name: String
    /// The maximum number of connections that run requests of the group. Statements that cost the database less than
    /// their round trip are best sent on few connections, so that batches form.
    var connections = Int.max
    /// The maximum number of requests in a batch.
    var batchSize = 16
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
  }

  /// An action for the pool to carry out.
  enum Action: Hashable, Sendable {
    /// Establish a connection, and report ``connected(_:at:)`` or ``failedToConnect(_:reason:at:jitter:)``.
    case connect(ConnectionID)
    /// Send the requests, which are one or of one group, and report ``finished(_:at:)`` or
    /// ``connectionLost(_:reason:outcome:at:)``.
    case run([RequestID], ConnectionID)
    /// Fail the request with this error.
    case fail(RequestID, PointStoreError)
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
    let group: Group?
    var isUrgent = false
    var wasRetried = false
  }

  /// The state of an outage, in which the server is unreachable.
  struct Outage {
    var reason: String
    var failures: Int
    var nextAttempt: Instant
  }

  let limits: Limits
  var connections: [ConnectionID: PooledConnection] = [:]
  /// The idle connections, all of the current generation. The most recently used one is taken first, so that the others
  /// stay idle.
  var idle: [ConnectionID] = []
  var waiters = WaitQueue()
  var urgentWaiters = 0
  var serviceTime = ServiceTime()
  var outage: Outage?
  var isShutDown = false
  /// The time at which connections to standbys were last replaced because of a write.
  var standbysReplacedAt: Instant?
  /// The number of failovers that were detected.
  var generation = 0
  var lastConnectionNumber = 0

  static let shutDownReason = "the store is shut down"

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
    return load
  }

  // MARK: Requests

  /// Handles a new request.
  ///
  /// - Parameters:
  ///   - group: the group of requests with which it may be sent; `nil` for none.
  ///   - isUrgent: a Boolean value that indicates whether it precedes all other requests and is exempt from admission
  ///   control.
  mutating func arrived(
    _ id: RequestID,
    isRetryable: Bool,
    group: Group? = nil,
    isUrgent: Bool = false,
    at now: Instant
  ) -> [Action] {
    if isShutDown { return [.fail(id, .unavailable(reason: Self.shutDownReason))] }
    // It would wait for the standby as well, and the remaining connections are for reads.
    if !isRetryable, !mayAwaitStandby { return [.fail(id, .overloaded)] }
    var request = Request(id: id, deadline: now + limits.waitTimeout, isRetryable: isRetryable, group: group)
    if mayRun(group), let connection = idle.popLast() { return [run([request], on: connection, at: now)] }
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
      return [.fail(id, .timeout)]
    }
    for (connection, pooled) in connections {
      guard let request = pooled.requests.first(where: { $0.id == id }) else { continue }
      guard request.isRetryable else {
        _ = enter(pooled.reaction(to: .cancelled(id)), connection)
        return [.fail(id, .outcomeUnknown(reason: "the request was cancelled before its outcome was known"))]
      }
      return [.fail(id, .timeout)] + enter(pooled.reaction(to: .cancelled(id)), connection)
    }
    return []
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
    return deadline
  }

  /// Fails the requests and closes the connections that are past their deadlines.
  ///
  /// - Parameter jitter: a random number from 0 to 1, for the back-off after a failure to connect.
  mutating func expired(at now: Instant, jitter: Double) -> [Action] {
    var actions = failOverdue(at: now)
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
    var actions = failWaiters(.unavailable(reason: Self.shutDownReason))
    for (id, connection) in connections {
      guard case .close(let requests, let outcome) = connection.reaction(to: .shutDown) else { continue }
      actions += requests.map { .fail($0.id, outcome.error(for: $0)) } + [.close(id)]
    }
    connections = [:]
    idle = []
    return actions
  }
}
