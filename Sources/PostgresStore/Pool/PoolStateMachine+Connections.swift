import Points

/// The events of connections, and who is served next.
extension PoolStateMachine {
  // MARK: Connections

  /// A connection has been made. Where it leads to another server that takes writes than the others, which they did not
  /// notice because they have written nothing since, those are let go of.
  ///
  /// - Parameter server: the server that it leads to.
  mutating func connected(_ id: ConnectionID, to server: ServerIdentity? = nil, at now: Instant) -> [Action] {
    guard let connection = connections[id], case .free = connection.reaction(to: .connected) else {
      return [.close(id)]
    }
    outage = nil
    connections[id]?.server = server
    var actions: [Action] = []
    if connection.generation == generation, isElsewhere(server) {
      actions = beginGeneration()
      connections[id]?.generation = generation
    }
    return actions + handle(.connected, of: id, at: now) + connectIfNeeded(at: now)
  }

  /// A pooler has led a connection to another server than before. Where that takes writes, the connections that lead to
  /// another one that did are let go of.
  mutating func moved(_ id: ConnectionID, to server: ServerIdentity) -> [Action] {
    guard connections[id] != nil else { return [] }
    connections[id]?.server = server
    guard connections[id]?.generation == generation, isElsewhere(server) else { return [] }
    let actions = beginGeneration()
    connections[id]?.generation = generation
    return actions
  }

  /// Returns whether a server takes writes and an established connection leads to another that did.
  private func isElsewhere(_ server: ServerIdentity?) -> Bool {
    guard let server, server.isPrimary else { return false }
    return connections.values.contains { other in
      guard other.generation == generation, let old = other.server else { return false }
      return old.isPrimary && old.life != server.life
    }
  }

  /// Lets go of every connection that there is, half-made or not, once it is free.
  private mutating func beginGeneration() -> [Action] {
    generation += 1
    let retired = idle
    idle = []
    for id in retired { connections[id] = nil }
    return retired.map { .close($0) }
  }

  /// A connection could not be made.
  ///
  /// - Parameter jitter: a random number from 0 to 1, which shortens the pause by up to half.
  mutating func failedToConnect(_ id: ConnectionID, reason: String, at now: Instant, jitter: Double) -> [Action] {
    guard case .close? = connections[id]?.reaction(to: .failed) else { return [] }
    connections[id] = nil
    let failures = (outage?.failures ?? 0) + 1
    let pause = min(limits.longestPause, limits.firstPause * (1 << min(failures - 1, 20)))
    outage = Outage(reason: reason, failures: failures, nextAttempt: now + pause * (1 - jitter / 2))
    return isConnected ? [] : failWaiters(.unavailable(reason: reason))
  }

  /// A connection has brought its requests to an end, well or ill, and can take others.
  mutating func finished(_ id: ConnectionID, at now: Instant) -> [Action] {
    if case .busy(let requests, let until)? = connections[id]?.state {
      serviceTime.observe(limits.answerTime - (until - now), requests: requests.count)
    }
    return handle(.finished, of: id, at: now)
  }

  /// A connection's server has refused to write and done nothing. Every connection that there is, half-made or not, may
  /// lead to it and is closed once it is free; what was refused is repeated on a new one, a write too, but not twice.
  mutating func foundReadOnly(_ id: ConnectionID, reason: String, at now: Instant) -> [Action] {
    guard connections[id] != nil else { return [] }
    return beginGeneration() + handle(.lost(reason: reason, .refused), of: id, at: now)
  }

  /// A connection broke off. Its requests are put first in the queue where they may be repeated and were not.
  mutating func lost(_ id: ConnectionID, reason: String, fate: StatementFate = .unknown, at now: Instant) -> [Action] {
    handle(.lost(reason: reason, fate), of: id, at: now)
  }

  /// A connection's backend could not be told to end.
  mutating func mayNotEnd(_ id: ConnectionID, reason: String, at now: Instant) -> [Action] {
    handle(.mayNotEnd(reason: reason), of: id, at: now)
  }

  /// A connection's backend was left alone: it has committed, and waits for a synchronous standby.
  mutating func waitsForStandby(_ id: ConnectionID, at now: Instant) -> [Action] {
    guard let connection = connections[id], case .ending(let requests, _) = connection.state else { return [] }
    let reason = "the write waits for a synchronous standby"
    let actions = requests.map { Action.fail($0.id, .outcomeUnknown(reason: reason)) }
    let mayAwaitStandby =
      connections.count { other, connection in other != id && connection.isAwaitingStandby } < standbyShare
    connections[id]?.state = .ending([], until: now)
    // Most connections are to stay free for reads. The backend of one that is closed here goes on waiting.
    let event: PooledConnection.Event =
      mayAwaitStandby ? .waitsForCommit(until: now + limits.standbyCheckInterval) : .mayNotEnd(reason: reason)
    return actions + handle(event, of: id, at: now)
  }

  /// A Boolean value that indicates whether one more connection may be left to a write that waits for a standby.
  var mayAwaitStandby: Bool {
    connections.values.count { $0.isAwaitingStandby } < standbyShare
  }

  /// The maximum number of connections that are left to writes that wait for a standby.
  private var standbyShare: Int { max(1, limits.connections / 2) }

  /// Lets an event happen to a connection.
  mutating func handle(_ event: PooledConnection.Event, of id: ConnectionID, at now: Instant) -> [Action] {
    guard let connection = connections[id] else { return [] }
    let reaction = connection.reaction(to: event)
    switch reaction {
    case .ignore: return []
    case .enter: return enter(reaction, id)
    case .close(let requests, let ending): return close(id, requests, ending, at: now)
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
    case (.busy, .ending), (.awaitingStandby, .ending): return [.end(id)]
    default: return []
    }
  }

  /// Closes a connection, repeats or fails its requests, and gives its place to others.
  private mutating func close(
    _ id: ConnectionID, _ requests: [Request], _ ending: PooledConnection.Ending, at now: Instant
  ) -> [Action] {
    connections[id] = nil
    idle.removeAll { $0 == id }
    let canRepeat = outage == nil || isConnected
    var actions = [Action.close(id)]
    var repeated: [Request] = []
    for var request in requests {
      if canRepeat, !request.wasRepeated, ending.mayRepeat(request) {
        request.wasRepeated = true
        repeated.append(request)
      } else {
        actions.append(.fail(request.id, ending.error(for: request)))
      }
    }
    if !repeated.isEmpty, let other = idle.popLast() {
      actions.append(run(repeated, on: other, at: now))
    } else {
      for request in repeated.reversed() {
        if request.isUrgent { urgentWaiters += 1 }
        waiters.prepend(request)
      }
    }
    return actions + serveIdle(at: now) + connectIfNeeded(at: now)
  }

  // MARK: Serving

  /// A Boolean value that indicates whether some connection will take another request.
  var isConnected: Bool {
    connections.values.contains { $0.isServing && $0.generation == generation }
  }

  var isConnecting: Bool { connections.values.contains { $0.isConnecting } }

  mutating func run(_ requests: [Request], on connection: ConnectionID, at now: Instant) -> Action {
    let until = now + limits.answerTime
    connections[connection]?.state = .busy(requests, until: until)
    return .run(requests.map(\.id), connection)
  }

  /// Gives connections that are free to those who wait. Whoever has given up meanwhile, or soon will, must not cost those
  /// who have not.
  mutating func serveIdle(at now: Instant) -> [Action] {
    var actions = failOverdue(at: now)
    while let first = waiters.first, mayRun(first.group), let connection = idle.popLast() {
      actions.append(run(popTogether(), on: connection, at: now))
      actions += failOverdue(at: now)
    }
    return actions
  }

  /// Whether one more connection may be busy with the group.
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
    if let request { noteLeft(request) }
    return request
  }

  mutating func noteLeft(_ request: Request) {
    if request.isUrgent { urgentWaiters -= 1 }
  }

  /// Takes the first in the line, and those behind it that are of its group: twice a connection's share of all who wait,
  /// because the more are asked for together the less each costs, but not so many that other connections get none.
  mutating func popTogether() -> [Request] {
    let waiting = waiters.count
    guard let first = popFirst() else { return [] }
    guard let group = first.group else { return [first] }
    let connections = min(group.connections, limits.connections)
    let share = min((2 * waiting + connections - 1) / connections, group.together)
    var requests = [first]
    while requests.count < share, waiters.first?.group == group, let next = popFirst() { requests.append(next) }
    return requests
  }

  mutating func connect(at now: Instant) -> Action {
    connectionsMade += 1
    let id = ConnectionID(number: connectionsMade)
    connections[id] = PooledConnection(
      state: .connecting(until: now + limits.connectTime), generation: generation)
    return .connect(id)
  }

  /// A Boolean value that indicates whether there may be one more connection.
  var hasRoom: Bool { connections.count < limits.connections }

  /// Whether there may be one more connection, and someone to use it.
  var needsConnection: Bool {
    guard let first = waiters.first else { return false }
    return hasRoom && mayRun(first.group)
  }

  /// Makes as many connections as there are requests in wait, within the limit and outside of an outage's pauses.
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
