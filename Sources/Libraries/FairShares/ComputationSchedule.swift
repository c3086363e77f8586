/// The decisions of a queue of computations as a value: events go in, starts and rejections come out. It takes the time
/// as a parameter.
///
/// A computation for which a thread is free starts at once; the others wait. The next one is that of the client which
/// has used the least computing time, and of its connections that which has used the least; those of one connection
/// start in their order. A client or connection that had no computations counts as having used as much as the one
/// served last, so that it neither saves up time nor waits behind those that have (start-time fair queueing; Goyal, Vin
/// and Cheng 1997).
///
/// A client may have as many computations waiting as there are free places in the queue. One client alone fills half of
/// it, and there is always room for another one.
///
/// A request whose estimated wait is too long is not rejected before its deadline: a client that sends the next request
/// as soon as it has a response would only have it parsed and rejected, again and again.
package struct ComputationSchedule<Client: Hashable & Sendable, Connection: Hashable & Sendable>: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// The sender of a computation. Through a proxy, several clients share a connection.
  package struct Sender: Hashable, Sendable {
    let client: Client
    let connection: Connection

    package init(client: Client, connection: Connection) {
      self.client = client
      self.connection = connection
    }
  }

  /// The reaction to a new computation.
  package enum Decision: Hashable {
    case start, wait, reject
  }

  /// The reaction to a free thread.
  package struct Next: Hashable {
    /// The computation to start; `nil` if none waits.
    package var started: Int?

    /// The computations whose deadlines had passed, which are rejected.
    package var expired: [Int] = []
  }

  /// The share of a client or a connection, kept while it has computations.
  private struct Share: Sendable {
    /// The computing time used, in virtual time.
    var used: Duration

    /// The time used by that connection of the client which was served last, when it was served.
    var connectionTime = Duration.zero

    var running = 0
    var waiting = 0
  }

  private struct Waiting {
    let sender: Sender
    let deadline: Instant
  }

  private struct Running {
    let sender: Sender
    let start: Instant
  }

  package let threads: Int
  package let capacity: Int
  private var waiting: [Int: Waiting] = [:]
  private var running: [Int: Running] = [:]
  private var clients: [Client: Share] = [:]
  private var connections: [Sender: Share] = [:]

  /// The time used by the client that was served last, when it was served.
  private var time = Duration.zero

  /// Creates a schedule without computations.
  ///
  /// - Parameters:
  ///   - threads: the maximum number of computations that run.
  ///   - capacity: the number of places in the queue.
  package init(threads: Int, capacity: Int) {
    self.threads = threads
    self.capacity = capacity
  }

  package var waitingCount: Int { waiting.count }
  package var runningCount: Int { running.count }

  /// Handles a new computation.
  ///
  /// - Parameter id: greater than those of the computations before.
  package mutating func arrived(_ id: Int, from sender: Sender, deadline: Instant, at now: Instant) -> Decision {
    var client = clients[sender.client] ?? Share(used: time)
    var connection = connections[sender] ?? Share(used: client.connectionTime)
    if client.waiting == 0 { client.used = max(client.used, time) }
    if connection.waiting == 0 { connection.used = max(connection.used, client.connectionTime) }
    let starts = running.count < threads
    guard starts || client.waiting < capacity - waiting.count else { return .reject }
    client.waiting += 1
    connection.waiting += 1
    clients[sender.client] = client
    connections[sender] = connection
    waiting[id] = Waiting(sender: sender, deadline: deadline)
    guard starts else { return .wait }
    start(id, of: sender, at: now)
    return .start
  }

  /// Removes a waiting computation, in constant time.
  ///
  /// - Returns: `false` if it does not wait any more.
  package mutating func remove(_ id: Int) -> Bool {
    guard let sender = waiting.removeValue(forKey: id)?.sender else { return false }
    update(sender) { $0.waiting -= 1 }
    return true
  }

  /// Handles the end of a computation.
  ///
  /// O(n) for n waiting computations, which are few in comparison with what a computation takes.
  package mutating func finished(_ id: Int, at now: Instant) -> Next {
    guard let ended = running.removeValue(forKey: id) else { return Next() }
    update(ended.sender) { share in
      share.running -= 1
      share.used += now - ended.start
    }
    var next = Next()
    for (id, computation) in waiting where computation.deadline <= now { next.expired.append(id) }
    for id in next.expired { _ = remove(id) }
    guard let (id, sender) = first() else { return next }
    start(id, of: sender, at: now)
    next.started = id
    return next
  }

  private func first() -> (Int, Sender)? {
    var first: (id: Int, sender: Sender, order: (Duration, Int, Duration, Int, Int))?
    for (id, computation) in waiting {
      let sender = computation.sender
      guard let client = clients[sender.client], let connection = connections[sender] else { continue }
      let order = (client.used, client.running, connection.used, connection.running, id)
      if let first, first.order < order { continue }
      first = (id, sender, order)
    }
    return first.map { ($0.id, $0.sender) }
  }

  private mutating func start(_ id: Int, of sender: Sender, at now: Instant) {
    waiting[id] = nil
    running[id] = Running(sender: sender, start: now)
    time = max(time, clients[sender.client]?.used ?? time)
    let connectionTime = connections[sender]?.used ?? .zero
    update(sender) { share in
      share.waiting -= 1
      share.running += 1
      share.connectionTime = max(share.connectionTime, connectionTime)
    }
  }

  /// Changes the shares of a sender, and removes those without computations.
  private mutating func update(_ sender: Sender, _ change: (inout Share) -> Void) {
    func changed(_ share: Share?) -> Share? {
      guard var share else { return nil }
      change(&share)
      return share.running + share.waiting == 0 ? nil : share
    }
    connections[sender] = changed(connections[sender])
    clients[sender.client] = changed(clients[sender.client])
  }
}
