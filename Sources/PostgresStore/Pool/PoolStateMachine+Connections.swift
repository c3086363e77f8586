import Points

/// The connection events and the scheduling of requests.
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

  /// Handles the end of a connection's requests, successful or not, after which it can run others.
  mutating func finished(_ id: ConnectionID, at now: Instant) -> [Action] {
    if case .busy(let requests, let until)? = connections[id]?.state {
      serviceTime.observe(limits.requestTimeout - (until - now), requests: requests.count)
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
        case .busy(let requests, let until) = connection.state
      {
        connections[id]?.state = .busy([], until: until)
        return requests.map { .fail($0.id, .readOnly(reason: reason)) } + handle(.finished, of: id, at: now)
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

  /// Handles a broken connection. Its requests go to the front of the wait queue if they may be retried and have not
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
    guard let connection = connections[id], case .terminating(let requests, _) = connection.state else { return [] }
    let reason = "the write waits for a synchronous standby"
    let actions = requests.map { Action.fail($0.id, .outcomeUnknown(reason: reason)) }
    let mayAwaitStandby =
      connections.count { other, connection in other != id && connection.isAwaitingStandby } < maximumStandbyWaits
    connections[id]?.state = .terminating([], until: now)
    // Half of the connections stay available for reads. The backend of a closed connection keeps waiting.
    let event: PooledConnection.Event =
      mayAwaitStandby ? .waitsForCommit(until: now + limits.standbyCheckInterval) : .terminationFailed(reason: reason)
    return actions + handle(event, of: id, at: now)
  }

  /// A Boolean value that indicates whether one more connection may be held by a write that waits for a standby.
  var mayAwaitStandby: Bool {
    connections.values.count { $0.isAwaitingStandby } < maximumStandbyWaits
  }

  /// The maximum number of connections held by writes that wait for a standby.
  private var maximumStandbyWaits: Int { max(1, limits.connections / 2) }

  /// Applies an event to a connection.
  mutating func handle(_ event: PooledConnection.Event, of id: ConnectionID, at now: Instant) -> [Action] {
    guard let connection = connections[id] else { return [] }
    let reaction = connection.reaction(to: event)
    switch reaction {
    case .ignore: return []
    case .enter: return enter(reaction, id)
    case .close(let requests, let outcome): return close(id, requests, outcome, at: now)
    case .free where connection.generation < generation: return close(id, [], .timeout, at: now)
    case .free:
      connections[id]?.state = .idle
      idle.append(id)
      return serveIdle(at: now)
    }
  }

  /// Changes a connection's state.
  mutating func enter(_ reaction: PooledConnection.Reaction, _ id: ConnectionID) -> [Action] {
    guard case .enter(let state) = reaction, let old = connections[id]?.state else { return [] }
    connections[id]?.state = state
    switch (old, state) {
    case (.busy, .cancelling): return [.cancel(id)]
    case (.busy, .terminating), (.awaitingStandby, .terminating): return [.terminate(id)]
    default: return []
    }
  }

  /// Closes a connection, retries or fails its requests, and lets a new connection take its place.
  private mutating func close(
    _ id: ConnectionID, _ requests: [Request], _ outcome: PooledConnection.RequestOutcome, at now: Instant
  ) -> [Action] {
    connections[id] = nil
    idle.removeAll { $0 == id }
    let canRetry = outage == nil || isConnected
    var actions = [Action.close(id)]
    var retried: [Request] = []
    for var request in requests {
      if canRetry, !request.wasRetried, outcome.mayRetry(request) {
        request.wasRetried = true
        retried.append(request)
      } else {
        actions.append(.fail(request.id, outcome.error(for: request)))
      }
    }
    if !retried.isEmpty, let other = idle.popLast() {
      actions.append(run(retried, on: other, at: now))
    } else {
      for request in retried.reversed() {
        if request.isUrgent { urgentWaiters += 1 }
        waiters.prepend(request)
      }
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  // MARK: Serving

  /// A Boolean value that indicates whether at least one established connection can take requests.
  var isConnected: Bool {
    connections.values.contains { $0.isServing && $0.generation == generation }
  }

  var isConnecting: Bool { connections.values.contains { $0.isConnecting } }

  mutating func run(_ requests: [Request], on connection: ConnectionID, at now: Instant) -> Action {
    let until = now + limits.requestTimeout
    connections[connection]?.state = .busy(requests, until: until)
    return .run(requests.map(\.id), connection)
  }

  /// Assigns idle connections to waiting requests. Requests that are cancelled or expire in the meantime must not delay
  /// the others.
  mutating func serveIdle(at now: Instant) -> [Action] {
    var actions = failOverdue(at: now)
    while let first = waiters.first, mayRun(first.group), let connection = idle.popLast() {
      actions.append(run(popBatch(), on: connection, at: now))
      actions += failOverdue(at: now)
    }
    return actions
  }

  /// Returns whether one more connection may run requests of the group.
  func mayRun(_ group: Group?) -> Bool {
    guard let group, group.connections < limits.connections else { return true }
    let busy = connections.values.count { connection in
      if case .busy(let requests, _) = connection.state { requests.first?.group == group } else { false }
    }
    return busy < group.connections
  }

  mutating func failOverdue(at now: Instant) -> [Action] {
    var actions: [Action] = []
    while let first = waiters.first, first.deadline <= now, let request = popFirst() {
      actions.append(.fail(request.id, .overloaded))
    }
    return actions
  }

  mutating func popFirst() -> Request? {
    let request = waiters.popFirst()
    if let request { recordDeparture(request) }
    return request
  }

  mutating func recordDeparture(_ request: Request) {
    if request.isUrgent { urgentWaiters -= 1 }
  }

  /// Removes the first waiting request and those of its group directly behind it. The maximum is twice a connection's
  /// share of the queue: larger batches cost less for each request, but other connections must get some.
  mutating func popBatch() -> [Request] {
    let waiting = waiters.count
    guard let first = popFirst() else { return [] }
    guard let group = first.group else { return [first] }
    let connections = min(group.connections, limits.connections)
    let share = min((2 * waiting + connections - 1) / connections, group.batchSize)
    var requests = [first]
    while requests.count < share, waiters.first?.group == group, let next = popFirst() { requests.append(next) }
    return requests
  }

  mutating func connect(at now: Instant) -> Action {
    lastConnectionNumber += 1
    let id = ConnectionID(number: lastConnectionNumber)
    connections[id] = PooledConnection(
      state: .connecting(until: now + limits.connectTimeout), generation: generation)
    return .connect(id)
  }

  /// A Boolean value that indicates whether the limit allows another connection.
  var hasRoom: Bool { connections.count < limits.connections }

  /// A Boolean value that indicates whether the limit allows another connection and a request waits for one.
  var needsConnection: Bool {
    guard let first = waiters.first else { return false }
    return hasRoom && mayRun(first.group)
  }

  /// Establishes as many connections as there are waiting requests, within the limit and outside the back-off of an
  /// outage.
  mutating func connectIfNeeded(at now: Instant) -> [Action] {
    guard needsConnection else { return [] }
    if let outage, now < outage.nextAttempt || isConnecting { return [] }
    let connecting = connections.values.count { $0.isConnecting && $0.generation == generation }
    let wanted = outage == nil ? waiters.count - connecting : 1
    return (0..<max(0, min(wanted, limits.connections - connections.count))).map { _ in connect(at: now) }
  }

  mutating func failWaiters(_ error: PointStoreError) -> [Action] {
    var actions: [Action] = []
    while let request = popFirst() { actions.append(.fail(request.id, error)) }
    return actions
  }
}
