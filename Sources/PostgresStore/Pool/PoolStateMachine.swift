import Points

/// What a pool of connections does next, as a value: events go in, actions come out, and nothing here waits, connects
/// or looks at a clock.
///
/// Connections are made when they are needed, up to a limit, and kept. Who asks while all are busy waits, first come,
/// first served, in a queue of limited length for a limited time; those of one group that stand together are then sent
/// together, as many as leave the other connections their share. Who would wait longer than that time, by how fast the
/// queue moved of late, is turned away at once, so that whoever is let in is served in time, however many ask. When the
/// server can't be reached, all who wait and all who come are told so at once, while one connection at a time is tried
/// at growing intervals; the first that succeeds ends that. ``PooledConnection`` is the life of one connection.
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
    /// The time for a backend to confirm that it ended a write that is past its deadline.
    var endTime: Duration = .seconds(2)
    /// The time after which a backend whose commit waits for a standby is looked at again.
    var standbyCheckInterval: Duration = .seconds(30)
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
    /// Send the requests, which are one or are of one group, and tell ``finished(_:at:)`` or ``lost(_:reason:fate:at:)``.
    case run([RequestID], ConnectionID)
    /// Give the request this error.
    case fail(RequestID, PointStoreError)
    /// Ask the server to stop the read that the connection runs, and tell ``finished(_:at:)`` once that is done and the
    /// answer has come.
    case cancel(ConnectionID)
    /// Terminate the connection's backend unless its commit waits for a standby. Tell ``waitsForStandby(_:at:)`` or
    /// ``mayNotEnd(_:reason:at:)`` where it was not told to end, and ``lost(_:reason:fate:at:)`` or ``finished(_:at:)``
    /// when it ends.
    case end(ConnectionID)
    /// Close the connection, or give up making it.
    case close(ConnectionID)
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
  struct Outage {
    var reason: String
    var failures: Int
    var nextAttempt: Instant
  }

  let limits: Limits
  var connections: [ConnectionID: PooledConnection] = [:]
  /// The connections without a request, all of the current generation. The one that was used last is used first, so that
  /// the others may rest.
  var idle: [ConnectionID] = []
  var waiters = WaitingLine()
  var urgentWaiters = 0
  var serviceTime = ServiceTime()
  var outage: Outage?
  var isShutDown = false
  /// The number of times that another server was found to take the writes.
  var generation = 0
  var connectionsMade = 0

  static let shutDownReason = "the store is shut down"

  /// Creates a pool without connections.
  init(limits: Limits) {
    self.limits = limits
  }

  /// What its connections do.
  var load: PoolLoad {
    var load = PoolLoad()
    for connection in connections.values {
      switch connection.state {
      case .connecting: load.connecting += 1
      case .idle: load.idle += 1
      case .busy, .cancelling, .ending, .awaitingStandby: load.busy += 1
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
    if isShutDown { return [.fail(id, .unavailable(reason: Self.shutDownReason))] }
    // It would wait for the standby as well; what is left is for reads.
    if !mayBeRepeated, !mayAwaitStandby { return [.fail(id, .overloaded)] }
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
    for (connection, pooled) in connections {
      guard let request = pooled.requests.first(where: { $0.id == id }) else { continue }
      guard request.mayBeRepeated else {
        _ = enter(pooled.reaction(to: .cancelled(id)), connection)
        return [.fail(id, .outcomeUnknown(reason: "the caller did not wait for the outcome"))]
      }
      return [.fail(id, .timeout)] + enter(pooled.reaction(to: .cancelled(id)), connection)
    }
    return []
  }

  // MARK: Time

  /// The time at which ``expired(at:jitter:)`` is to be called next.
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

  /// Fails and closes what is past its deadline.
  ///
  /// - Parameter jitter: a random number from 0 to 1, for the pause after a failure to connect.
  mutating func expired(at now: Instant, jitter: Double) -> [Action] {
    var actions = failOverdue(at: now)
    for (id, connection) in connections {
      guard let until = connection.deadline, until <= now else { continue }
      if connection.isConnecting {
        actions.append(.close(id))
        actions += failedToConnect(id, reason: "connecting to the database took too long", at: now, jitter: jitter)
      } else {
        actions += handle(.overdue(endUntil: now + limits.endTime), of: id, at: now)
      }
    }
    if let outage, outage.nextAttempt <= now, hasRoom, !isConnected, !isConnecting, !isShutDown {
      actions.append(connect(at: now))
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  /// Closes everything, and fails the requests that wait and those that will come.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    outage = nil
    var actions = failWaiters(.unavailable(reason: Self.shutDownReason))
    for (id, connection) in connections {
      guard case .close(let requests, let ending) = connection.reaction(to: .shutDown) else { continue }
      actions += requests.map { .fail($0.id, ending.error(for: $0)) } + [.close(id)]
    }
    connections = [:]
    idle = []
    return actions
  }
}
