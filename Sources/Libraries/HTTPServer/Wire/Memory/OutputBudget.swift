import FairShares
import NIOCore
import Synchronization

/// The memory budget of all unsent responses of a server.
///
/// Connections count their unsent bytes in the ``OutputLedger`` of their event loop, which adds them to the budget in
/// steps of ``ledgerStep``. The memory of a long response that is being produced is counted by a ``MemoryReservation``.
/// Memory is short above ``highWaterMark``, and while a reservation does not fit below it. Then long responses wait for
/// their reservations, of which each client has at most as much as is free beside it; streams pause until their
/// connections have sent everything, and connections are closed: those of the client that holds the most whose peers
/// acknowledge little for what they hold, and then those of others whose peers acknowledge nothing, the longest idle
/// first. The rest, up to ``limit``, is for short responses.
final class OutputBudget: Sendable {
  let limit: Int

  /// The number of bytes up to which reservations are granted: three quarters of ``limit``.
  let highWaterMark: Int

  /// The number of bytes from which on the connections' progress is observed, so that it is known when memory is short.
  private let observedMark: Int

  /// The time for which a peer may acknowledge nothing while memory is short, and over which its rate is measured.
  let idleReaderTimeout: TimeAmount

  /// The number of bytes that an event loop may hold or release before it reports them.
  let ledgerStep: Int

  /// The requests that wait for memory.
  let queue: ShareQueue<RequestSender>
  private let used = Atomic(0)
  private let ledgers = Mutex<[ObjectIdentifier: OutputLedger]>([:])

  fileprivate let uses = Mutex(OutputUses())

  /// The output of the clients of each event loop, as its ledger has last observed it.
  private let observed = Mutex<[ObjectIdentifier: [RequestSender: ClientOutput]]>([:])

  /// Creates a budget.
  ///
  /// - Parameters:
  ///   - limits: the limits that the server's configuration sets.
  ///   - timeouts: the times that it sets.
  ///   - eventLoop: an event loop that outlives the server's last request.
  init(
    _ limits: HTTPServerConfiguration.Limits, _ timeouts: HTTPServerConfiguration.Timeouts, eventLoop: any EventLoop
  ) {
    limit = limits.bufferedBytes
    highWaterMark = limit / 4 * 3
    observedMark = highWaterMark / 2
    ledgerStep = max(1, min(64 * 1024, limit / 64))
    idleReaderTimeout = TimeAmount(timeouts.idleReader)
    queue = ShareQueue(
      timeout: TimeAmount(timeouts.share), maximumCount: limits.requestsWaitingForMemory, eventLoop: eventLoop)
  }

  var isShort: Bool { heldBytes > highWaterMark || queue.count > 0 }

  /// The number of bytes that are held, but for what ledgers have not passed on.
  var heldBytes: Int { used.load(ordering: .relaxed) }

  fileprivate var needsObservation: Bool { heldBytes > observedMark || isShort }

  /// The number of bytes to be released until memory is no longer short.
  ///
  /// The requests that wait need what they are to reserve, and as much room beside those that went on after a wait as
  /// ``hasShare`` asks for. Those of clients that hold more than is free need nothing.
  var excess: Int {
    let bytes = queue.dueBytes
    let needed = bytes > 0 ? max(bytes, (queue.granted + 1) * Self.shareBytes) : 0
    return heldBytes + needed - highWaterMark
  }

  func hasRoom(for bytes: Int) -> Bool { used.load(ordering: .relaxed) &+ bytes <= limit }

  // MARK: Shares

  /// Counts memory that a response takes while it is being produced, and waits for it where memory is short.
  ///
  /// - Parameters:
  ///   - bytes: the number of bytes.
  ///   - client: the sender of the request.
  ///   - connection: the address of the connection's peer.
  ///   - former: the reservation that the request has already, which is not in the way of this one.
  /// - Throws: ``ShareQueue/Rejection`` where too many wait already, or where it took too long; `CancellationError`.
  nonisolated(nonsending) func reserve(
    bytes: Int, for client: RequestSender = .address(nil), on connection: SocketAddress? = nil,
    beside former: MemoryReservation? = nil
  ) async throws -> MemoryReservation {
    if let reservation = reserveAtOnce(bytes: bytes, for: client, on: connection, beside: former) {
      return reservation
    }
    let needed = needed(for: bytes)
    try await queue.wait(
      bytes: needed, of: client, isDue: { self.isWithinShare(client, bytes: needed, beside: former) }
    ) {
      guard self.hasShare, self.take(bytes) else { return false }
      self.record(bytes, isShare: true, of: client, on: connection)
      return true
    } whenWaiting: {
      self.beginRelief()
    }
    return MemoryReservation(bytes: bytes, of: self, for: client, on: connection, isShare: true)
  }

  /// Counts memory that a response takes while it is being produced; `nil` if it would have to wait.
  func reserveAtOnce(
    bytes: Int, for client: RequestSender = .address(nil), on connection: SocketAddress? = nil,
    beside former: MemoryReservation? = nil
  ) -> MemoryReservation? {
    guard queue.dueCount == 0, isWithinShare(client, bytes: needed(for: bytes), beside: former), take(bytes) else {
      return nil
    }
    record(bytes, isShare: false, of: client, on: connection)
    return MemoryReservation(bytes: bytes, of: self, for: client, on: connection, isShare: false)
  }

  fileprivate func end(_ reservation: MemoryReservation) {
    record(-reservation.bytes, isShare: reservation.isShare, of: reservation.client, on: reservation.connection)
    count(-reservation.bytes)
    if reservation.isShare { queue.endShare() }
  }

  /// Records that a client and a connection have reserved bytes, or with a negative number no longer have.
  private func record(_ bytes: Int, isShare: Bool, of client: RequestSender, on connection: SocketAddress?) {
    let counted = isShare ? bytes.signum() * max(Int(bytes.magnitude), Self.shareBytes) : bytes
    uses.withLock { uses in
      uses.add(counted, of: client)
      if let connection { uses.reserve(bytes, of: client, on: connection) }
    }
  }

  /// The number of bytes that must be free for each of those that wait to go on.
  private static let shareBytes = 1024 * 1024

  /// Returns a Boolean value that indicates whether a client would hold at most as much as is free beside it, those that
  /// went on after a wait taken as ``shareBytes`` each.
  private func isWithinShare(_ client: RequestSender, bytes: Int, beside former: MemoryReservation?) -> Bool {
    let taken = heldBytes + queue.granted * Self.shareBytes
    guard taken + bytes > observedMark, client != .address(nil) else { return true }
    let own = uses.withLock { $0.clients[client] ?? 0 } - (former?.bytes ?? 0)
    return own <= 0 || own + bytes <= highWaterMark - taken
  }

  /// A Boolean value that indicates whether there is room for a response beside others that have waited.
  private var hasShare: Bool {
    let room = highWaterMark - heldBytes
    return room >= 0 && queue.granted < max(1, room / Self.shareBytes)
  }

  /// Returns the number of bytes that must be free for a reservation. A long one would never find more than half free
  /// beside others.
  private func needed(for bytes: Int) -> Int { min(bytes, highWaterMark / 2) }

  /// Counts the bytes of a reservation if there is room for it.
  private func take(_ bytes: Int) -> Bool {
    let needed = needed(for: bytes)
    var before = used.load(ordering: .relaxed)
    while before + needed <= highWaterMark {
      let (isExchanged, original) = used.compareExchange(
        expected: before, desired: before + bytes, ordering: .relaxed)
      if isExchanged {
        if passesMark(from: before, to: before + bytes) { beginRelief() }
        return true
      }
      before = original
    }
    return false
  }

  // MARK: Accounting

  /// Returns the ledger of an event loop; to be called on it.
  func ledger(of eventLoop: any EventLoop) -> OutputLedger {
    ledgers.withLock { ledgers in
      let key = ObjectIdentifier(eventLoop)
      if let ledger = ledgers[key] { return ledger }
      let ledger = OutputLedger(budget: self, eventLoop: eventLoop)
      ledgers[key] = ledger
      return ledger
    }
  }

  /// Lets requests go on that wait although there is room: a client's share grows as its connections are read.
  fileprivate func grantWaiting() {
    if queue.count > 0 { queue.grant() }
  }

  /// Counts bytes that an event loop's connections hold, or with a negative number have released.
  fileprivate func count(_ bytes: Int) {
    let (before, now) = used.wrappingAdd(bytes, ordering: .relaxed)
    if passesMark(from: before, to: now) {
      beginRelief()
    } else if now <= highWaterMark {
      grantWaiting()
    }
  }

  /// Returns a Boolean value that indicates whether use grows beyond a mark from which on connections are observed.
  private func passesMark(from before: Int, to now: Int) -> Bool {
    now > highWaterMark ? before <= highWaterMark : now > observedMark && before <= observedMark
  }

  /// Has connections observed, and those whose peers acknowledge nothing or little closed while memory is short.
  private func beginRelief() {
    for ledger in ledgers.withLock({ Array($0.values) }) { ledger.beginRelief() }
  }

  // MARK: Clients

  /// The output that a client's connections hold.
  struct ClientOutput: Hashable {
    /// The number of bytes that they hold, and that are reserved for them.
    var bytes: Int
    /// A Boolean value that indicates whether one of them takes too long to take what it holds.
    var isSlow: Bool
  }

  /// Records what the clients of an event loop hold, in place of what was recorded before.
  fileprivate func record(_ clients: [RequestSender: ClientOutput], of ledger: OutputLedger) {
    observed.withLock { $0[ObjectIdentifier(ledger)] = clients.isEmpty ? nil : clients }
  }

  /// The client whose slow connections are cut: of those that have some, the one that holds the most on all event
  /// loops, unless that is less than the mean of all clients.
  fileprivate var clientToCut: RequestSender? {
    var all: [RequestSender: ClientOutput] = [:]
    for clients in observed.withLock({ Array($0.values) }) {
      all.merge(clients) { ClientOutput(bytes: $0.bytes + $1.bytes, isSlow: $0.isSlow || $1.isSlow) }
    }
    let bytes = all.values.reduce(0) { $0 + $1.bytes }
    let slow = all.filter { $0.value.isSlow && $0.value.bytes * all.count >= bytes }
    return slow.max { $0.value.bytes < $1.value.bytes }?.key
  }
}

/// The memory that connections and clients hold and reserve.
private struct OutputUses {
  struct Connection {
    var reservedBytes = 0
    var heldBytes = 0
    /// The sender of the last request for which memory was reserved, or the network of the connection's peer.
    var client: RequestSender?
    /// The number of connections from the address, which may be more than one where the server has several.
    var openCount = 0
  }

  private(set) var connections: [SocketAddress: Connection] = [:]

  /// The bytes that clients' requests have reserved and their connections hold.
  private(set) var clients: [RequestSender: Int] = [:]

  mutating func add(_ bytes: Int, of client: RequestSender) {
    let sum = clients[client, default: 0] + bytes
    clients[client] = sum > 0 ? sum : nil
  }

  mutating func open(_ connection: SocketAddress) {
    let network = IPAddress(connection)?.clientNetwork
    change(connection) { connection in
      connection.openCount += 1
      if connection.client == nil { connection.client = .address(network) }
    }
  }

  mutating func hold(_ bytes: Int, by connection: SocketAddress) {
    guard let use = connections[connection], use.openCount > 0, let client = use.client else { return }
    add(bytes, of: client)
    connections[connection]?.heldBytes += bytes
  }

  /// Records bytes that were reserved for a connection, or with a negative number no longer are.
  mutating func reserve(_ bytes: Int, of client: RequestSender, on connection: SocketAddress) {
    if bytes > 0, let connection = connections[connection], let former = connection.client, former != client {
      add(-connection.heldBytes, of: former)
      add(connection.heldBytes, of: client)
    }
    change(connection) { connection in
      connection.reservedBytes += bytes
      if bytes > 0 { connection.client = client }
    }
  }

  mutating func close(_ connection: SocketAddress) {
    guard let use = connections[connection] else { return }
    if use.openCount == 1 { hold(-use.heldBytes, by: connection) }
    change(connection) { connection in connection.openCount = max(0, connection.openCount - 1) }
  }

  /// Changes the use of a connection, which is forgotten when it is closed and nothing is reserved for it.
  private mutating func change(_ address: SocketAddress, _ change: (inout Connection) -> Void) {
    var connection = connections[address] ?? Connection()
    change(&connection)
    connections[address] = connection.openCount > 0 || connection.reservedBytes > 0 ? connection : nil
  }
}

/// Memory that a response takes while it is being produced. It ends with the last reference.
public final class MemoryReservation: Sendable {
  fileprivate let bytes: Int
  /// A Boolean value that indicates whether it has waited, and counts as a share.
  fileprivate let isShare: Bool
  fileprivate let client: RequestSender
  fileprivate let connection: SocketAddress?
  private let budget: OutputBudget?

  /// Creates a reservation of bytes that the budget counts already; `nil` for none.
  fileprivate init(
    bytes: Int, of budget: OutputBudget?, for client: RequestSender, on connection: SocketAddress?, isShare: Bool
  ) {
    self.bytes = bytes
    self.budget = budget
    self.client = client
    self.connection = connection
    self.isShare = isShare
  }

  deinit { budget?.end(self) }
}

extension HTTPRequest {
  /// Reserves memory for producing a long response, before it is begun. Where clients hold so much that memory is
  /// short, this waits until some is free.
  ///
  /// - Parameters:
  ///   - bytes: the number of bytes that the response takes until it is passed to the connection.
  ///   - isShared: whether it is for responses to several clients, and so in the share of none.
  ///   - former: the reservation that the request has already.
  /// - Returns: the reservation, to be kept for as long; `nil` if the request was created in process.
  /// - Throws: ``Problem`` 503 `overloaded` where there is none in time.
  nonisolated(nonsending) package func reserveMemory(
    bytes: Int, isShared: Bool = false, beside former: MemoryReservation? = nil
  ) async throws(Problem) -> MemoryReservation? {
    guard let server else { return nil }
    do {
      if isShared { return try await server.budget.reserve(bytes: bytes) }
      return try await server.budget.reserve(bytes: bytes, for: sender, on: remoteAddress, beside: former)
    } catch is CancellationError {
      throw HTTPBodyError.cancelled.problem
    } catch {
      throw server.outOfMemory
    }
  }

  /// Reserves memory for producing a response if there is room, without a wait.
  ///
  /// - Returns: the reservation, to be kept as long as the memory is used; `nil` if memory is short. A request that
  ///   was created in process has room for everything.
  package func reserveMemoryAtOnce(bytes: Int) -> MemoryReservation? {
    guard let server else {
      return MemoryReservation(bytes: 0, of: nil, for: .address(nil), on: nil, isShare: false)
    }
    return server.budget.reserveAtOnce(bytes: bytes, for: sender, on: remoteAddress)
  }
}

/// A connection that may hold bytes for its client. It lives on an event loop.
protocol OutputHolder: AnyObject {
  var remoteAddress: SocketAddress? { get }

  var heldBytes: Int { get }

  /// A number that grows with the bytes that the peer takes, and changes whenever it takes something of what is held.
  /// Over HTTP/2 some bytes count twice.
  var takenMark: Int { get }

  /// Cuts the connection, and holds nothing from then on.
  func cutForMemory()
}

/// The bytes that the connections of one event loop hold, counted without a lock.
///
/// `@unchecked Sendable`: everything but ``beginRelief()`` is called on the event loop only, and that hands over to it.
final class OutputLedger: @unchecked Sendable {
  private static let reliefInterval = TimeAmount.milliseconds(250)

  /// The time in seconds in which a client that holds much must be able to take what a connection holds.
  private static let maximumDrainSeconds = 30.0

  /// The progress of a connection since it holds bytes, its response's reservation included.
  private struct Observation {
    private(set) var client: RequestSender
    private(set) var bytes = 0
    /// The time since which the peer has taken nothing.
    private(set) var silentSince: NIODeadline
    /// The time in seconds in which the peer would take what is held at its rate of the last period; 0 before that.
    private(set) var drainSeconds = 0.0

    private var mark: Int
    private var periodMark: Int
    private var periodStart: NIODeadline
    private var leastBytes = Int.max

    var isSlow: Bool { drainSeconds > OutputLedger.maximumDrainSeconds }

    init(mark: Int, at now: NIODeadline) {
      client = .address(nil)
      self.mark = mark
      periodMark = mark
      silentSince = now
      periodStart = now
    }

    /// Records the progress of a connection.
    ///
    /// The rate is compared with the least that was held in a period, because a response may have begun at its end.
    mutating func update(
      mark: Int, bytes: Int, of client: RequestSender?, at now: NIODeadline, period: TimeAmount
    ) {
      if mark != self.mark { (self.mark, silentSince) = (mark, now) }
      if let client { self.client = client }
      self.bytes = bytes
      leastBytes = min(leastBytes, bytes)
      let time = now - periodStart
      guard time >= period, time > .zero else { return }
      let taken = max(0, mark - periodMark)
      drainSeconds = Double(leastBytes) * Double(time.nanoseconds) / 1e9 / Double(taken)
      (periodMark, periodStart, leastBytes) = (mark, now, Int.max)
    }
  }

  /// A connection, and the bytes by which what it holds has changed since this was last passed on.
  private struct Held {
    let holder: any OutputHolder
    var uncounted = 0
  }

  private typealias Reader = (holder: any OutputHolder, observation: Observation)

  private unowned let budget: OutputBudget
  private let eventLoop: any EventLoop
  private var uncounted = 0
  private var holders: [ObjectIdentifier: Held] = [:]
  private var observations: [ObjectIdentifier: Observation] = [:]
  private var isRelieving = false

  fileprivate init(budget: OutputBudget, eventLoop: any EventLoop) {
    self.budget = budget
    self.eventLoop = eventLoop
  }

  /// The number of bytes that a connection may hold or release before its client's use is changed.
  private static let connectionStep = 16 * 1024

  /// Counts bytes that a connection holds, or with a negative number has released.
  func add(_ bytes: Int, of holder: any OutputHolder) {
    guard bytes != 0 else { return }
    pass(bytes, of: ObjectIdentifier(holder))
    uncounted &+= bytes
    if uncounted.magnitude >= UInt(budget.ledgerStep) { pass() }
  }

  private func pass(_ bytes: Int, of key: ObjectIdentifier) {
    guard let change = holders[key].map({ $0.uncounted &+ bytes }) else { return }
    guard change.magnitude >= UInt(Self.connectionStep) else {
      holders[key]?.uncounted = change
      return
    }
    holders[key]?.uncounted = 0
    guard let address = holders[key]?.holder.remoteAddress else { return }
    budget.uses.withLock { $0.hold(change, by: address) }
  }

  private func pass() {
    let bytes = uncounted
    uncounted = 0
    budget.count(bytes)
  }

  /// Adds a connection, which may be cut when memory is short.
  func insert(_ holder: any OutputHolder) {
    holders[ObjectIdentifier(holder)] = Held(holder: holder)
    if let address = holder.remoteAddress { budget.uses.withLock { $0.open(address) } }
  }

  func remove(_ holder: any OutputHolder) {
    guard holders.removeValue(forKey: ObjectIdentifier(holder)) != nil else { return }
    observations[ObjectIdentifier(holder)] = nil
    if let address = holder.remoteAddress { budget.uses.withLock { $0.close(address) } }
  }

  /// Begins to observe the connections, until memory is no longer about to be short. It may be called from any thread.
  fileprivate func beginRelief() {
    eventLoop.execute { [budget] in
      guard !self.isRelieving else { return }
      self.isRelieving = true
      self.relieve(budget)
    }
  }

  private func relieve(_ budget: OutputBudget) {
    guard budget.needsObservation else {
      isRelieving = false
      observations.removeAll()
      budget.record([:], of: self)
      return
    }
    relieve(at: .now())
    budget.grantWaiting()
    eventLoop.scheduleTask(in: Self.reliefInterval) { self.relieve(budget) }
  }

  /// Observes the connections, and cuts some if memory is short, until there is room: the slow ones of the client that
  /// holds the most, the slowest first, and then the silent ones of others, the longest silent first.
  func relieve(at now: NIODeadline) {
    let held = holders.filter { $0.value.holder.heldBytes > 0 }
    let addresses = held.compactMap { $0.value.holder.remoteAddress }
    let uses = budget.uses.withLock { uses in
      Dictionary(addresses.map { ($0, uses.connections[$0]) }) { first, _ in first }
    }
    let period = budget.idleReaderTimeout
    var clients: [RequestSender: OutputBudget.ClientOutput] = [:]
    var readers: [Reader] = []
    observations = observations.filter { held[$0.key] != nil }
    for (key, entry) in held {
      let holder = entry.holder
      let use = holder.remoteAddress.flatMap { uses[$0] ?? nil }
      let bytes = holder.heldBytes + (use?.reservedBytes ?? 0)
      var observation = observations[key] ?? Observation(mark: holder.takenMark, at: now)
      observation.update(mark: holder.takenMark, bytes: bytes, of: use?.client, at: now, period: period)
      observations[key] = observation
      readers.append((holder, observation))
      clients[observation.client, default: .init(bytes: 0, isSlow: false)].bytes += bytes
      if observation.isSlow { clients[observation.client]?.isSlow = true }
    }
    budget.record(clients, of: self)

    var excess = budget.excess
    guard excess > 0 else { return }
    let client = budget.clientToCut
    var slow: [Reader] = []
    var silent: [Reader] = []
    for reader in readers {
      if reader.observation.client == client, reader.observation.isSlow {
        slow.append(reader)
      } else if now - reader.observation.silentSince >= period {
        silent.append(reader)
      }
    }
    slow.sort {
      ($1.observation.drainSeconds, $0.observation.silentSince)
        < ($0.observation.drainSeconds, $1.observation.silentSince)
    }
    silent.sort { $0.observation.silentSince < $1.observation.silentSince }
    for (holder, observation) in slow + silent {
      guard excess > 0 else { break }
      excess -= observation.bytes
      holder.cutForMemory()
    }
  }
}

/// The buffer in which an event loop's connections gather responses, one after the other.
///
/// As a rule a response is sent before the next is begun, whatever its connection. One buffer for all stays in the
/// processor's cache where one for each of thousands would not, and idle connections hold none.
final class OutputMemory {
  private static let maximumCapacity = 128 * 1024

  private var spare = ByteBuffer()

  /// Takes the buffer: empty, and without capacity when it is taken already.
  func take() -> ByteBuffer {
    var taken = ByteBuffer()
    swap(&taken, &spare)
    return taken
  }

  /// Gives a buffer back, if there is no other reference to it: the channel has one while the socket is full.
  ///
  /// - Returns: a Boolean value that indicates whether there is no other reference.
  @discardableResult
  func giveBack(_ buffer: inout ByteBuffer) -> Bool {
    guard buffer.modifyIfUniquelyOwned({ $0.clear() }) != nil else { return false }
    if spare.capacity == 0, buffer.capacity <= Self.maximumCapacity { swap(&buffer, &spare) }
    return true
  }

  private static let perThread = PerThread { OutputMemory() }

  /// The calling thread's buffer; it must not leave the thread.
  static var current: OutputMemory { perThread.current }
}

/// An estimate of the memory of a channel's unsent output.
///
/// A channel reports the number of unsent bytes, but releases a buffer only when its last byte is sent. The estimate is
/// the number of unsent bytes plus the length of the longest buffer, at most the number of bytes written since the
/// channel was last empty.
struct PendingOutput {
  private(set) var bytes = 0

  private var written = 0
  private var longest = 0
  /// A Boolean value that indicates whether the connection awaits the end of what was written.
  var isAwaitingDrain = false
  var isEmpty: Bool { bytes == 0 && !isAwaitingDrain }

  mutating func record(written bytes: Int) {
    written += bytes
    longest = max(longest, bytes)
  }

  /// Records that the socket has taken all, where nothing was held before.
  mutating func taken() {
    written = 0
    longest = 0
  }

  /// Records the number of bytes that are left, and returns by how much the held bytes have changed.
  mutating func update(left: Int) -> Int {
    guard left > 0 else { return release() }
    let held = min(written, left + longest)
    defer { bytes = held }
    return held - bytes
  }

  /// Records that nothing is held, and returns by how much that is a change.
  mutating func release() -> Int {
    taken()
    defer { bytes = 0 }
    return -bytes
  }
}

extension Channel {
  /// The number of bytes that were written to the channel and not yet to its socket.
  var bufferedBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
}
