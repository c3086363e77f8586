import NIOCore
import Synchronization

/// The bytes of responses that all connections of a server may hold together, for clients that have not taken them yet.
///
/// Connections count what their sockets did not take in the ``OutputLedger`` of their event loop, which passes it on in
/// pieces. Above ``highWaterMark`` memory is short: a response that may be long waits for its share before it is
/// produced, streams pause until their connections are drained, and connections whose peers acknowledge nothing are cut,
/// those that are idle for the longest first. The rest up to ``limit`` is for short responses.
final class OutputBudget: Sendable {
  /// The number of bytes that may be held.
  let limit: Int

  /// The number of bytes above which memory is short: three quarters of ``limit``.
  let highWaterMark: Int

  /// How long a peer may acknowledge nothing while memory is short.
  let idlePatience: TimeAmount

  /// The number of bytes that an event loop may hold or release before it says so.
  let ledgerPiece: Int

  private let queue: ShareQueue
  private let used = Atomic(0)
  private let ledgers = Mutex<[ObjectIdentifier: OutputLedger]>([:])

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
    ledgerPiece = max(1, min(64 * 1024, limit / 64))
    idlePatience = TimeAmount(timeouts.idleReader)
    queue = ShareQueue(
      patience: TimeAmount(timeouts.share), maximumCount: limits.requestsWaitingForMemory, eventLoop: eventLoop)
  }

  /// A Boolean value that indicates whether memory is short.
  var isShort: Bool { used.load(ordering: .relaxed) > highWaterMark }

  /// The number of bytes that are held, but for what ledgers have not passed on.
  var heldBytes: Int { used.load(ordering: .relaxed) }

  /// The number of bytes that are held above ``highWaterMark``.
  fileprivate var excess: Int { used.load(ordering: .relaxed) - highWaterMark }

  /// Returns whether so many more bytes may be held.
  func hasRoom(for bytes: Int) -> Bool { used.load(ordering: .relaxed) &+ bytes <= limit }

  // MARK: Shares

  /// Waits until there is room for a response that may be long. Where memory is not short that is at once, at the cost of
  /// looking at a number.
  ///
  /// - Returns: whether a share was waited for, which then is to be given back by ``endShare()``.
  /// - Throws: ``ShareQueue/Refusal`` where too many wait already, or where it took too long.
  nonisolated(nonsending) func awaitShare() async throws -> Bool {
    guard isShort || queue.count > 0 else { return false }
    try await queue.wait { self.grantedShares }
    return true
  }

  /// Gives a share back: the response has been produced, and what is held of it is counted.
  func endShare() { queue.endShare { self.grantedShares } }

  /// The number of bytes that a response is taken to need while it is being produced.
  private static let shareBytes = 1024 * 1024

  /// The number of responses that there is room for.
  private var grantedShares: Int {
    let room = highWaterMark - used.load(ordering: .relaxed)
    return room < 0 ? 0 : max(1, room / Self.shareBytes)
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

  /// Counts bytes that an event loop's connections hold, or hold no longer.
  fileprivate func count(_ bytes: Int) {
    let (before, now) = used.wrappingAdd(bytes, ordering: .relaxed)
    if before <= highWaterMark, now > highWaterMark {
      for ledger in ledgers.withLock({ Array($0.values) }) { ledger.beginRelief() }
    } else if now <= highWaterMark, queue.count > 0 {
      queue.grant { self.grantedShares }
    }
  }
}

/// A connection that may hold bytes for its client. It lives on an event loop.
protocol OutputHolder: AnyObject {
  /// The number of bytes that it holds.
  var heldBytes: Int { get }

  /// A number that changes whenever the peer takes something of what is held.
  var takenMark: Int { get }

  /// Cuts the connection, and holds nothing from then on.
  func cutForMemory()
}

/// What the connections of one event loop hold, counted without a lock.
///
/// `@unchecked Sendable`: everything but ``beginRelief()`` is called on the event loop only, and that hands over to it.
final class OutputLedger: @unchecked Sendable {
  private static let reliefInterval = TimeAmount.milliseconds(250)

  private unowned let budget: OutputBudget
  private let eventLoop: any EventLoop
  private var uncounted = 0
  private var holders: [ObjectIdentifier: any OutputHolder] = [:]
  private var marks: [ObjectIdentifier: (mark: Int, since: NIODeadline)] = [:]
  private var isRelieving = false

  fileprivate init(budget: OutputBudget, eventLoop: any EventLoop) {
    self.budget = budget
    self.eventLoop = eventLoop
  }

  /// Counts bytes that a connection has come to hold, or with a negative number to hold no longer.
  func add(_ bytes: Int) {
    uncounted &+= bytes
    if uncounted.magnitude >= UInt(budget.ledgerPiece) { pass() }
  }

  private func pass() {
    let bytes = uncounted
    uncounted = 0
    budget.count(bytes)
  }

  /// Adds a connection, which may be cut when memory is short.
  func insert(_ holder: any OutputHolder) { holders[ObjectIdentifier(holder)] = holder }

  /// Removes a connection.
  func remove(_ holder: any OutputHolder) {
    holders[ObjectIdentifier(holder)] = nil
    marks[ObjectIdentifier(holder)] = nil
  }

  /// Begins to look for idle readers, until memory is short no longer. It may be called from anywhere.
  fileprivate func beginRelief() {
    eventLoop.execute { [budget] in
      guard !self.isRelieving else { return }
      self.isRelieving = true
      self.relieve(budget)
    }
  }

  private func relieve(_ budget: OutputBudget) {
    guard budget.isShort else {
      isRelieving = false
      marks.removeAll()
      return
    }
    let now = NIODeadline.now()
    var idle: [(since: NIODeadline, holder: any OutputHolder)] = []
    for (key, holder) in holders where holder.heldBytes > 0 {
      let mark = holder.takenMark
      if let last = marks[key], last.mark == mark {
        if now - last.since >= budget.idlePatience { idle.append((last.since, holder)) }
      } else {
        marks[key] = (mark, now)
      }
    }
    idle.sort { $0.since < $1.since }
    var excess = budget.excess
    for (_, holder) in idle {
      guard excess > 0 else { break }
      excess -= holder.heldBytes
      holder.cutForMemory()
    }
    eventLoop.scheduleTask(in: Self.reliefInterval) { self.relieve(budget) }
  }
}
