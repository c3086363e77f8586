import Basics
import Foundation
package import Logging
package import PointIndex
package import Points
package import PostgresStore
import Synchronization

/// The source of a database's places and their changes, for an index that follows them.
///
/// A standby has no positions of changes: the calls that return one throw `.readOnly` then.
package protocol PointChangeFeed: Sendable {
  /// Returns what has changed since a position, as of a moment during the call.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer

  /// Returns the position of everything that was committed before the call.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func currentPosition() async throws(PointStoreError) -> ChangePosition

  /// Returns an estimate of the number of places and of the bytes of their texts, from a sample.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int)

  /// Passes all places of one snapshot to a closure, one at a time.
  ///
  /// - Returns: the position of the snapshot, and the number of bytes that were received.
  /// - Throws: ``Points/PointStoreError``; some places may have been passed then.
  func copyPoints(
    _ body: @escaping @Sendable (BorrowedPoint) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int)

  /// Passes the places that have changed since a position to a closure, one at a time, each once.
  ///
  /// - Parameter maximum: the number of changes above which none is passed and the result is `lost`.
  /// - Throws: ``Points/PointStoreError``; some places may have been passed then.
  func copyChanges(
    after position: ChangePosition, upTo maximum: Int, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult

  /// Returns an anchor of a position: a write that was committed after it; `nil` if the server has restarted since the
  /// position, or is another one.
  ///
  /// - Parameter obsolete: the anchors that are needed no more.
  /// - Throws: ``Points/PointStoreError``.
  func anchor(
    _ position: ChangePosition, removing obsolete: [ChangeAnchor]
  ) async throws(PointStoreError) -> ChangeAnchor?

  /// Returns the position of an anchor on the present server; `nil` if it has no meaning there.
  ///
  /// - Throws: ``Points/PointStoreError``.
  func position(of anchor: ChangeAnchor) async throws(PointStoreError) -> ChangePosition?

  /// Calls a closure whenever changes may have been made, until the connection ends or the task is cancelled.
  ///
  /// - Returns: `false` where no notifications can be received.
  /// - Throws: ``Points/PointStoreError`` when the connection ends.
  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool
}

extension ChangeFeed: PointChangeFeed {}

/// The promise how fresh the results of reads are.
package struct ReadFreshness: Hashable, Sendable {
  /// The relation of a result to the writes before its request.
  package enum Consistency: Hashable, Sendable {
    /// A result contains every write that was committed before the request arrived.
    case strict
    /// A result contains every write that was committed more than this time before.
    case bounded(maximumAge: Duration)
  }

  /// The relation of a result to the writes before its request.
  package var consistency: Consistency

  /// The time after the last confirmation of the index for which reads are answered from it while they can't be
  /// current: the database is unavailable, or only the index can answer them and it catches up or is built again. Zero
  /// for none.
  package var staleLifetime: Duration

  package init(_ consistency: Consistency = .strict, staleLifetime: Duration = .zero) {
    self.consistency = consistency
    self.staleLifetime = staleLifetime
  }

  /// The time for which a result may lack writes; `nil` if it has all.
  package var maximumAge: Duration? {
    if case .bounded(let maximumAge) = consistency { maximumAge } else { nil }
  }

  /// The interval in which the index is confirmed without a request or a notification.
  var pollInterval: Duration {
    switch consistency {
    case .strict: .seconds(1)
    case .bounded(let maximumAge): max(.milliseconds(20), min(.seconds(1), maximumAge / 3))
    }
  }
}

/// An index of the places of a database, which follows the database's changes.
///
/// The index stands for a position: exactly what one snapshot of PostgreSQL sees. A *round* is one statement that
/// returns PostgreSQL's present snapshot together with the places that changed since the index's position; when they
/// are applied, the index stands for the present snapshot. A caller that waits for a round which began after its call
/// therefore reads everything that was committed before the call. All callers that wait at one time share a round.
///
/// While the index is being built, is too far behind or can't be confirmed, ``snapshot(isNeeded:)`` returns `nil`, and
/// the caller reads from the database. A caller that only the index can serve waits until it follows again, up to a
/// limit, or reads the last confirmed state where ``ReadFreshness/staleLifetime`` allows it.
package final class IndexFollower: Sendable {
  /// An index and what it stands for.
  fileprivate struct Standing: Sendable {
    var snapshot: PointSnapshot
    var position: ChangePosition
    /// The version that the places have had since the last change.
    var version: DataVersion
  }

  /// The phases of an index.
  package enum Phase: String, CaseIterable, Sendable {
    /// All places are being copied.
    case building
    /// Changes are applied as they are found.
    case following
    /// Many changes are being copied; the index is at the position before them.
    case catchingUp = "catching_up"
    /// The places need more memory than the index may use.
    case tooLarge = "too_large"
    /// The database is a standby, whose snapshots do not state which transactions are in progress on its primary.
    case standby
  }

  /// The state of an index, for operators.
  package struct Status: Sendable {
    package var phase: Phase
    /// The number of places in the index; while it is being built, the number of those that were copied so far.
    package var points: Int
    /// The time since the index was known to have everything that was committed; `nil` while it is not used.
    package var age: Duration?
    /// The number of times that the index was built.
    package var builds: Int
    /// The number of times that the index continued from its files.
    package var loads: Int
    /// The number of changed places that were applied.
    package var changes: Int
    /// The time for which the index has not followed the database, because it is built or catches up; zero while it
    /// follows, and where none is used.
    package var notReady: Duration

    /// A Boolean value that indicates whether no index is used, for a reason that waiting does not end. A standby behind
    /// an index that was complete is most likely one of a failover, which ends.
    package var isUnused: Bool { phase == .tooLarge || phase == .standby && builds + loads == 0 }
  }

  /// The outcome of a round for its callers.
  private enum RoundOutcome {
    /// The index may be read.
    case readable(PointSnapshot)
    /// The index does not follow the database.
    case notFollowing
    /// The round failed.
    case failed
  }

  private typealias RoundWaiter = CheckedContinuation<RoundOutcome, Never>

  /// The end of a wait for an index that follows the database.
  private enum PhaseOutcome {
    /// The index has everything that was committed before the read.
    case readable(PointSnapshot)
    /// The index follows.
    case following
    /// The deadline has passed, the caller was cancelled, or no index is used.
    case ended
  }

  /// A caller that waits until the index follows the database.
  private struct PhaseWaiter {
    /// The beginning of the read.
    let start: ContinuousClock.Instant
    let continuation: CheckedContinuation<PhaseOutcome, Never>
  }

  private struct State {
    var phase = Phase.building
    var standing: Standing?
    /// The latest moment at which the index is known to have had everything that was committed; `nil` before the first,
    /// and after a write of this instance that the index may not have yet.
    var confirmedAt: ContinuousClock.Instant?
    /// The moment to which ``confirmedAt`` was last set, whatever was written since.
    var lastConfirmedAt: ContinuousClock.Instant?
    /// The number of writes of this instance.
    var writes = 0
    /// A Boolean value that indicates whether the last round failed because the database was unavailable.
    var isDatabaseUnavailable = false
    /// The reads from the last confirmed state.
    var staleReads = StaleReads()
    /// The index, unless it is being built again.
    var usedStanding: Standing? { phase == .following || phase == .catchingUp ? standing : nil }
    var isInRound = false
    var waitersForThisRound: [RoundWaiter] = []
    var waitersForNextRound: [RoundWaiter] = []
    /// The callers that wait until the index follows, by their numbers.
    var phaseWaiters: [Int: PhaseWaiter] = [:]
    var lastPhaseWaiter = 0
    /// A Boolean value that indicates whether the index was complete, or found not to be used, at least once.
    var hasBeenComplete = false
    /// The beginning of the time for which the index has not followed the database; `nil` while it does, and where none
    /// is used.
    var notFollowingSince: ContinuousClock.Instant? = .now
    /// The number of places that were copied for the index that is being built.
    var copiedPoints = 0
    var builds = 0
    var loads = 0
    var changes = 0
  }

  private let feed: any PointChangeFeed
  /// The observers of the calls of the database.
  let observers: [any StoreObserver]
  private let freshness: ReadFreshness
  private let memoryLimit: Int?
  private let textConfiguration: TextIndexConfiguration
  private let waitLimit: Duration
  /// Waits before a build of an index that was lost soon.
  private let pause: @Sendable (Duration) async -> Void
  private let logger: Logger
  /// The files that the index is kept in; `nil` for none.
  private let files: IndexFiles?
  /// The hub to which changes are published; `nil` for none.
  private let changes: ChangeHub?
  private let state = Mutex(State())
  private let kept = Mutex(KeptIndexes())
  /// The notifications of changes, for one other reader of the log; those that arrive before it takes one are one.
  let notifications: AsyncStream<Void>
  private let onNotification: AsyncStream<Void>.Continuation
  /// Wakes up the building when the index is lost.
  private let lossSignal = Signal()
  /// The merges of large parts, which would delay a round and so every strict read. The next round adopts them.
  let merger = PartMerger()

  /// Creates a follower without an index; ``run()`` builds it.
  ///
  /// - Parameters:
  ///   - memoryLimit: the maximum number of bytes of the index, by an estimate before it is built; `nil` where any size
  ///     is allowed.
  ///   - text: the fields that texts are searched in.
  ///   - waitLimit: the longest wait of a read that only the index can answer while it is built or catches up.
  ///   - observers: the observers of the calls of the database.
  ///   - files: the files that the index is kept in; `nil` for none.
  ///   - changes: the hub to which changes are published; `nil` for none.
  ///   - pause: waits before a build of an index that was lost soon.
  package init(
    _ feed: any PointChangeFeed, freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil,
    text configuration: TextIndexConfiguration = .init(), waitLimit: Duration = .seconds(2),
    observers: [any StoreObserver] = [], files: IndexFiles? = nil, changes: ChangeHub? = nil,
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }, logger: Logger
  ) {
    self.feed = feed
    self.observers = observers
    self.files = files
    self.changes = changes
    self.freshness = freshness
    self.memoryLimit = memoryLimit
    textConfiguration = configuration
    self.waitLimit = waitLimit
    self.pause = pause
    self.logger = logger
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (notifications, onNotification) = (stream, continuation)
  }

  /// The state of the index.
  package var status: Status {
    state.withLock { state in
      let isUsed = state.phase == .following || state.phase == .catchingUp
      return Status(
        phase: state.phase, points: (isUsed ? state.standing?.snapshot.count : nil) ?? state.copiedPoints,
        age: isUsed ? state.lastConfirmedAt.map { ContinuousClock.now - $0 } : nil, builds: state.builds,
        loads: state.loads, changes: state.changes,
        notReady: state.notFollowingSince.map { ContinuousClock.now - $0 } ?? .zero)
    }
  }

  // MARK: Reading

  /// Returns an index that is fresh enough, or the last confirmed state where that may be read, without waiting; `nil`
  /// where there is neither.
  ///
  /// - Parameters:
  ///   - isNeeded: a Boolean value that indicates whether the database can't answer instead.
  ///   - position: the position that the last confirmed state must contain; `nil` for none.
  func freshSnapshot(isNeeded: Bool = false, notBefore position: String? = nil) -> PointSnapshot? {
    state.withLock { state in
      if case .bounded(let maximumAge) = freshness.consistency, let standing = state.usedStanding,
        let confirmedAt = state.confirmedAt, ContinuousClock.now - confirmedAt <= maximumAge
      {
        return standing.snapshot
      }
      // While the database is away, a round would only fail again, perhaps after a timeout.
      guard state.isDatabaseUnavailable || isNeeded && state.phase != .following else { return nil }
      return readStale(&state, notBefore: position)
    }
  }

  /// Returns the last confirmed state, where it may be read although writes may have followed it, and counts the read.
  func staleSnapshot(notBefore position: String?) -> PointSnapshot? {
    state.withLock { readStale(&$0, notBefore: position) }
  }

  private func readStale(_ state: inout State, notBefore required: String?) -> PointSnapshot? {
    guard let standing = state.standing, isServable(state, at: .now) else { return nil }
    if let required {
      guard let position = ChangePosition(text: required), standing.position.contains(position) else { return nil }
    }
    state.staleReads.count += 1
    state.staleReads.confirmedAt = state.lastConfirmedAt
    return standing.snapshot
  }

  /// Returns an index with everything that was committed before the call, or one that is fresh enough otherwise; `nil`
  /// where the caller must read from the database.
  ///
  /// - Parameters:
  ///   - isNeeded: a Boolean value that indicates whether the database can't answer instead. The call then waits up to
  ///     the limit for an index that follows the database.
  ///   - position: the position that the last confirmed state must contain; `nil` for none.
  func snapshot(isNeeded: Bool = false, notBefore position: String? = nil) async -> PointSnapshot? {
    await snapshot(isNeeded: isNeeded, notBefore: position, since: .now)
  }

  /// Returns an index with everything that was committed before an earlier moment, as ``snapshot(isNeeded:notBefore:)``
  /// does.
  func snapshot(
    isNeeded: Bool, notBefore position: String?, since start: ContinuousClock.Instant
  ) async -> PointSnapshot? {
    if let snapshot = freshSnapshot(isNeeded: isNeeded, notBefore: position) { return snapshot }
    let deadline = isNeeded ? start + waitLimit : nil
    while true {
      switch await round() {
      case .readable(let snapshot): return snapshot
      case .failed: return freshSnapshot(isNeeded: isNeeded, notBefore: position)
      case .notFollowing:
        guard let deadline else { return nil }
        // The round may have found that the index must catch up.
        if let snapshot = freshSnapshot(isNeeded: true, notBefore: position) { return snapshot }
        switch await waitUntilFollowing(since: start, before: deadline) {
        case .readable(let snapshot): return snapshot
        case .following: continue
        case .ended: return nil
        }
      }
    }
  }

  /// Runs a round that begins after the call, or joins the callers who wait for one.
  ///
  /// - Returns: the index after the round; `nil` where the caller must read from the database.
  @discardableResult func confirm() async -> PointSnapshot? {
    if case .readable(let snapshot) = await round() { snapshot } else { nil }
  }

  private func round() async -> RoundOutcome {
    await withCheckedContinuation { waiter in
      enum Step { case end, wait, start }
      let step: Step = state.withLock { state in
        guard state.phase == .following else { return .end }
        guard !state.isInRound else {
          state.waitersForNextRound.append(waiter)
          return .wait
        }
        state.isInRound = true
        state.waitersForThisRound = [waiter]
        return .start
      }
      switch step {
      case .end: waiter.resume(returning: .notFollowing)
      case .wait: break
      case .start: Task { await runRounds() }
      }
    }
  }

  /// Returns a Boolean value that indicates whether the index may be read although writes may have followed it.
  private func isServable(_ state: borrowing State, at now: ContinuousClock.Instant) -> Bool {
    guard state.standing != nil, let last = state.lastConfirmedAt else { return false }
    return now - last <= freshness.staleLifetime
  }

  /// A Boolean value that indicates whether reads may be answered from the last confirmed state.
  var hasServableState: Bool { state.withLock { isServable($0, at: .now) } }

  /// A Boolean value that indicates whether the index was complete, or found not to be used, at least once.
  var hasBeenComplete: Bool { state.withLock { $0.hasBeenComplete } }

  /// A Boolean value that indicates whether the opening hours of the index are being evaluated, after it was read from
  /// files.
  var evaluatesHours: Bool { state.withLock { $0.usedStanding?.snapshot }?.evaluatesHours ?? false }

  /// The position of the index; `nil` where it is not used.
  func position() -> ChangePosition? {
    state.withLock { $0.usedStanding?.position }
  }

  /// The version of the places in the index; `nil` where there is none that is used.
  func version() -> DataVersion? {
    state.withLock { $0.usedStanding?.version }
  }

  /// The reads from the last confirmed state; `nil` where there are never any.
  var staleReads: StaleReads? {
    freshness.staleLifetime > .zero ? state.withLock { $0.staleReads } : nil
  }

  /// Notes that the database has responded, so that the next read waits for a round.
  func noteAvailability() {
    state.withLock { $0.isDatabaseUnavailable = false }
  }

  /// Notes that this instance has written, so that its next read waits for a round in bounded mode too.
  func noteWrite() {
    state.withLock { state in
      state.writes += 1
      state.confirmedAt = nil
    }
  }

  // MARK: Phases

  /// Puts an index in place that stands for a moment after `start`, and has waiting callers use it.
  ///
  /// - Parameter writes: the number of writes of this instance at the start.
  private func follow(
    _ standing: Standing, since start: ContinuousClock.Instant, writes: Int, _ count: (inout State) -> Void
  ) {
    let former = state.withLock { state in
      defer { state.standing = standing }
      state.phase = .following
      state.hasBeenComplete = true
      state.notFollowingSince = nil
      state.lastConfirmedAt = start
      if state.writes == writes { state.confirmedAt = start }
      count(&state)
      return state.standing
    }
    // The last reference to the former index is released after the lock.
    withExtendedLifetime(former) {}
    changes?.interrupt()
    // The waiters that came before are served at once: while bulk commits go on, the next round might only find that the
    // index must catch up again.
    resumePhaseWaiters { $0.start <= start ? .readable(standing.snapshot) : .following }
    stopIfTooLarge(standing.snapshot)
  }

  /// Notes that no index is used.
  ///
  /// - Parameter phase: the reason.
  private func noteUnused(_ phase: Phase) {
    state.withLock { state in
      state.phase = phase
      state.notFollowingSince = nil
      state.hasBeenComplete = true
      // During a failover, the last confirmed state may be read as long as it is allowed.
      if phase != .standby || !isServable(state, at: .now) { state.standing = nil }
    }
    resumePhaseWaiters { _ in .ended }
  }

  /// Considers again whether an index that was not used can be.
  private func reconsider() {
    state.withLock { state in
      state.phase = .building
      state.notFollowingSince = .now
    }
  }

  private func resumePhaseWaiters(_ outcome: (PhaseWaiter) -> PhaseOutcome) {
    for waiter in state.withLock({ exchange(&$0.phaseWaiters, with: [:]) }).values {
      waiter.continuation.resume(returning: outcome(waiter))
    }
  }

  /// Waits until the index follows the database.
  ///
  /// - Parameter start: the beginning of the read, whose result must have everything that was committed before.
  private func waitUntilFollowing(
    since start: ContinuousClock.Instant, before deadline: ContinuousClock.Instant
  ) async -> PhaseOutcome {
    let number = state.withLock { state in
      state.lastPhaseWaiter += 1
      return state.lastPhaseWaiter
    }
    let timer = Task {
      try await Task.sleep(until: deadline, clock: .continuous)
      endPhaseWait(number)
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome: PhaseOutcome? = state.withLock { state in
          switch state.phase {
          case .following: return .following
          case .tooLarge, .standby: return .ended
          case .building, .catchingUp: break
          }
          guard deadline > .now else { return .ended }
          state.phaseWaiters[number] = PhaseWaiter(start: start, continuation: continuation)
          return nil
        }
        if let outcome {
          continuation.resume(returning: outcome)
        } else if Task.isCancelled {
          endPhaseWait(number)
        }
      }
    } onCancel: {
      endPhaseWait(number)
    }
  }

  private func endPhaseWait(_ number: Int) {
    state.withLock { $0.phaseWaiters.removeValue(forKey: number) }?.continuation.resume(returning: .ended)
  }

  // MARK: The database

  /// Returns the position of everything that was committed before the call.
  ///
  /// While reads come from the index, there may be no other calls of the database that show an outage.
  func currentPosition() async throws(PointStoreError) -> ChangePosition {
    try await observers.observe(.version) { () throws(PointStoreError) in try await feed.currentPosition() }
  }

  private func readChanges(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    try await observers.observe(.version) { () throws(PointStoreError) in try await feed.changes(after: position) }
  }

  // MARK: Rounds

  private func runRounds() async {
    while true {
      let start = ContinuousClock.now
      let writes = state.withLock { $0.writes }
      let result = await runRound()
      let (waiters, isLast) = state.withLock { state in
        switch result {
        case .success(.some):
          // A write that was made meanwhile may be missing.
          if state.writes == writes { state.confirmedAt = start }
          state.lastConfirmedAt = start
          state.isDatabaseUnavailable = false
        case .success(nil): state.isDatabaseUnavailable = false
        case .failure(.unavailable): state.isDatabaseUnavailable = true
        case .failure: break
        }
        let waiters = state.waitersForThisRound
        state.waitersForThisRound = state.waitersForNextRound
        state.waitersForNextRound = []
        state.isInRound = !state.waitersForThisRound.isEmpty
        return (waiters, !state.isInRound)
      }
      let outcome: RoundOutcome =
        switch result {
        case .success(let snapshot?): .readable(snapshot)
        case .success(nil): .notFollowing
        case .failure: .failed
        }
      for waiter in waiters { waiter.resume(returning: outcome) }
      if isLast { return }
    }
  }

  /// Reads the missing changes and applies them.
  ///
  /// - Returns: the index, or `nil` where it can't be used.
  private func runRound() async -> Result<PointSnapshot?, PointStoreError> {
    guard var standing = state.withLock({ $0.phase == .following ? $0.standing : nil }) else { return .success(nil) }
    do {
      switch try await readChanges(after: standing.position) {
      case .changes(let puts, let removals, let position):
        if let merged = merger.adopted(by: standing.snapshot) { standing.snapshot = merged }
        if let saved = kept.withLock({ $0.unreadSegments.take() }) {
          standing.snapshot = standing.snapshot.reading(saved)
        }
        let next = standing.applying(
          PointChanges(puts: puts, removals: removals.map(\.id)), to: position,
          joiningUpTo: PointSnapshot.largestPartOfChange)
        let isCurrent = state.withLock { state in
          // A round is the only one to change the index while it follows, so it still stands where it did.
          guard state.phase == .following else { return false }
          state.standing = next
          state.changes += puts.count + removals.count
          return true
        }
        guard isCurrent else { return .success(nil) }
        // A step without changes tells that there are none up to its position.
        if let changes, position != standing.position {
          changes.publish(
            .init(
              from: standing.snapshot, to: next.snapshot, puts: puts.map(\.id), removals: removals,
              position: position.text))
        }
        merger.merge(next.snapshot, upTo: memoryLimit ?? .max)
        return .success(stopIfTooLarge(next.snapshot) ? nil : next.snapshot)
      case .manyChanges:
        state.withLock { state in
          state.phase = .catchingUp
          state.notFollowingSince = .now
        }
        lossSignal.send()
        return .success(nil)
      case .lost(let reason):
        lose(reason: reason)
        return .success(nil)
      }
    } catch .readOnly(let reason) {
      lose(reason: reason)
      return .success(nil)
    } catch {
      return .failure(error)
    }
  }

  /// Stops using an index that has grown beyond the memory that it may use.
  ///
  /// - Returns: `true` where it has.
  @discardableResult private func stopIfTooLarge(_ snapshot: PointSnapshot) -> Bool {
    guard exceedsLimit(snapshot) else { return false }
    logger.warning(
      "the places no longer fit into memory: no index is used",
      metadata: ["places": .stringConvertible(snapshot.count), "limit_bytes": .stringConvertible(memoryLimit ?? 0)])
    noteUnused(.tooLarge)
    lossSignal.send()
    return true
  }

  /// Stops using the index, and has another one read from its files or built.
  private func lose(reason: String) {
    state.withLock { state in
      state.phase = .building
      if state.notFollowingSince == nil { state.notFollowingSince = .now }
    }
    logger.notice("the index no longer follows the database", metadata: ["reason": "\(reason)"])
    lossSignal.send()
  }

  // MARK: Building

  /// Builds the index, follows the changes, and builds it again when it is lost, until the task is cancelled.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { await self.keepBuilt() }
      group.addTask { await self.listen() }
      group.addTask { await self.poll() }
      if let files { group.addTask { await self.keep(in: files) } }
    }
  }

  /// The time after which a failed attempt is made again, doubled with each failure.
  private static let backOff = (least: Duration.milliseconds(100), most: Duration.seconds(10))

  private func keepBuilt() async {
    var delay = Self.backOff.least
    var rebuilding = RebuildBackOff(least: Self.backOff.least, most: Self.backOff.most)
    var failure: String?
    while !Task.isCancelled {
      let phase = state.withLock { $0.phase }
      do throws(PointStoreError) {
        switch phase {
        case .following:
          await lossSignal.wait()
          continue
        case .tooLarge:
          try? await Task.sleep(for: Self.estimateInterval)
          reconsider()
        case .standby:
          try? await Task.sleep(for: Self.standbyInterval)
          _ = try await currentPosition()
          logger.notice("the database is no longer a standby")
          reconsider()
        case .building:
          if let delay = rebuilding.delay(at: .now) { await pause(delay) }
          if try await resume() {
            rebuilding.noteBuild(at: .now)
          } else if let estimate = try await fittingEstimate(), try await build(estimate) {
            rebuilding.noteBuild(at: .now)
          }
        case .catchingUp:
          guard let standing = state.withLock({ $0.standing }) else {
            lose(reason: "there is no index to catch up")
            continue
          }
          if let reason = try await catchUp(from: standing) { lose(reason: reason) }
        }
        (delay, failure) = (Self.backOff.least, nil)
      } catch .readOnly {
        (delay, failure) = (Self.backOff.least, nil)
        if phase != .standby { logger.notice("the database is a standby: no index is used") }
        noteUnused(.standby)
      } catch {
        if failure != "\(error)" {
          failure = "\(error)"
          logger.warning("the index can't be built", metadata: ["reason": "\(error)"])
        }
        try? await Task.sleep(for: delay)
        delay = min(delay * 2, Self.backOff.most)
      }
    }
  }

  /// The time after which an index that was too large is considered again.
  private static let estimateInterval = Duration.seconds(600)

  /// The time after which a standby is asked again whether it was promoted.
  private static let standbyInterval = Duration.seconds(2)

  /// Returns an estimate of the places and their texts; `nil` if their index would not fit into memory.
  ///
  /// The estimate is from a sample, so ``build(_:)`` measures too.
  private func fittingEstimate() async throws(PointStoreError) -> (points: Int, textBytes: Int)? {
    let estimate = try await feed.estimatedSize()
    guard let memoryLimit else { return estimate }
    let bytes =
      files == nil
      ? estimate.points * PointSnapshot.bytesPerPoint + estimate.textBytes
      : estimate.points * PointSnapshot.residentBytesPerPoint
    let fits = bytes <= memoryLimit
    logger.info(
      fits ? "the places fit into memory: the index is used" : "the places do not fit into memory: no index is used",
      metadata: [
        "estimated_places": .stringConvertible(estimate.points), "estimated_bytes": .stringConvertible(bytes),
        "limit_bytes": .stringConvertible(memoryLimit),
      ])
    if fits { return estimate }
    noteUnused(.tooLarge)
    return nil
  }

  /// Returns a Boolean value that indicates whether the index of some places would need more memory than it may use at
  /// once.
  private func exceedsLimit(_ places: PointBuffer) -> Bool {
    guard let memoryLimit else { return false }
    return places.count * PointSnapshot.bytesPerPoint + places.textBytes > memoryLimit
  }

  /// Returns a Boolean value that indicates whether an index in files needs more memory than it may use.
  private func exceedsLimitInFiles(count: Int) -> Bool {
    guard let memoryLimit else { return false }
    return count * PointSnapshot.residentBytesPerPoint > memoryLimit
  }

  /// Returns a Boolean value that indicates whether an index needs more memory than it may use: with files, what
  /// searches always read, and what is not in files yet.
  private func exceedsLimit(_ snapshot: PointSnapshot) -> Bool {
    guard let memoryLimit else { return false }
    if files == nil { return snapshot.estimatedBytes > memoryLimit }
    return exceedsLimitInFiles(count: snapshot.count) || snapshot.bytesInMemory > memoryLimit
  }

  /// The places of an index that is being built.
  private struct BuildBuffer {
    /// The places that are not in pieces.
    var places = PointBuffer()
    /// The places that did not fit into memory at once, in files.
    var pieces: [IndexFiles.Piece] = []
    /// The reason why a piece could not be written; `nil` if there is none.
    var failure: IndexFileError?

    var count: Int { places.count + pieces.reduce(0) { $0 + $1.count } }
  }

  /// Copies all places and puts an index of them in place of the one before. With files, places that do not fit into
  /// memory at once are built in pieces that do.
  ///
  /// - Returns: `false` where the places do not fit into memory. The copy is stopped at the first that does not.
  private func build(_ estimate: (points: Int, textBytes: Int)) async throws(PointStoreError) -> Bool {
    let start = ContinuousClock.now
    logger.info("building the index")
    dropUnreadableIndex()
    let writes = state.withLock { state in
      state.copiedPoints = 0
      return state.writes
    }
    let buffer = Mutex(BuildBuffer())
    buffer.withLock { reserve(&$0.places, estimate) }
    var isUsed = false
    defer { if !isUsed { files?.remove(buffer.withLock { $0.pieces }) } }
    let copied = try await copyPoints { [self] point in
      let (count, fits) = buffer.withLock { buffer in
        buffer.places.append(point)
        let fits = !exceedsLimit(buffer.places) || writePiece(&buffer)
        return (buffer.count, fits)
      }
      if !fits { return false }
      if count.isMultiple(of: Self.progressStep) {
        state.withLock { $0.copiedPoints = count }
        dropUnreadableIndex()
      }
      return true
    }
    guard let (position, byteCount) = copied else {
      noteUnused(after: buffer.withLock { exchange(&$0, with: BuildBuffer(pieces: $0.pieces)) })
      return false
    }
    let built: PointSnapshot? = await offThreadPool { [self] in
      buffer.withLock { buffer -> PointSnapshot? in
        if buffer.pieces.isEmpty {
          return PointSnapshot(exchange(&buffer.places, with: PointBuffer()), text: textConfiguration)
        }
        return writePiece(&buffer) ? PointSnapshot(buffer.pieces, text: textConfiguration) : nil
      }
    }
    guard let snapshot = built else {
      noteUnused(after: buffer.withLock { $0 })
      return false
    }
    isUsed = true
    let duration = ContinuousClock.now - start
    follow(
      Standing(snapshot: snapshot, position: position, version: DataVersion(token: position.text)), since: start,
      writes: writes
    ) { $0.builds += 1 }
    logger.info(
      "the index is built",
      metadata: [
        "places": .stringConvertible(snapshot.count), "seconds": .stringConvertible(duration.rounded),
        "received_bytes": .stringConvertible(byteCount),
      ])
    return true
  }

  /// Notes that no index is used, because the places that were copied do not fit into memory or can't be written.
  private func noteUnused(after buffer: BuildBuffer) {
    if let failure = buffer.failure {
      logger.warning("the index can't be written to its files: no index is used", metadata: ["reason": "\(failure)"])
    } else {
      logger.warning(
        "the places do not fit into memory: no index is used",
        metadata: [
          "copied_places": .stringConvertible(buffer.count), "limit_bytes": .stringConvertible(memoryLimit ?? 0),
        ])
    }
    noteUnused(.tooLarge)
  }

  /// Allocates memory for places at once, as far as they may be in it: an array that grows is in memory twice while it is
  /// moved. Memory that is not used takes none of the machine's.
  private func reserve(_ places: inout PointBuffer, _ size: (points: Int, textBytes: Int)) {
    let limit = memoryLimit ?? Int(clamping: ProcessInfo.processInfo.physicalMemory / 2)
    // The size is known from a sample.
    let (points, textBytes) = (size.points + size.points / 32, size.textBytes + size.textBytes / 32)
    places.reserveCapacity(min(points, limit / PointSnapshot.bytesPerPoint), textBytes: min(textBytes, limit))
  }

  /// Builds the index of the places of a buffer as a piece in a file.
  ///
  /// - Returns: `false` if there are no files, if the index would need more memory than it may use, or if the file can't
  ///   be written.
  private func writePiece(_ buffer: inout BuildBuffer) -> Bool {
    guard let files else { return false }
    guard !exceedsLimitInFiles(count: buffer.count) else { return false }
    guard buffer.places.count > 0 else { return true }
    let size = (points: buffer.places.count, textBytes: buffer.places.textBytes)
    defer { reserve(&buffer.places, size) }
    do throws(IndexFileError) {
      buffer.pieces.append(
        try files.writePiece(exchange(&buffer.places, with: PointBuffer()), text: textConfiguration))
      return true
    } catch {
      buffer.failure = error
      return false
    }
  }

  /// Passes all places to a closure, until it returns `false`.
  ///
  /// - Returns: the position of the places and the number of bytes that were received; `nil` where the closure returned
  ///   `false`.
  private func copyPoints(
    _ body: @escaping @Sendable (BorrowedPoint) -> Bool
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int)? {
    typealias Copied = Result<(position: ChangePosition, byteCount: Int), PointStoreError>
    let stop = CopyStop()
    let result = await withTaskGroup(of: Copied?.self) { group in
      group.addTask { [feed] in
        do throws(PointStoreError) {
          let copied = try await feed.copyPoints { point in
            if !stop.isRequested.load(ordering: .relaxed), !body(point) { stop.request() }
          }
          return Copied.success(copied)
        } catch {
          return Copied.failure(error)
        }
      }
      group.addTask {
        await stop.signal.wait()
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    if stop.isRequested.load(ordering: .relaxed) { return nil }
    guard let result else { throw .unavailable(reason: "the copy was cancelled") }
    return try result.get()
  }

  private static let progressStep = 10_000

  /// Releases the former index, whose memory is needed, unless it may be read as the last confirmed state.
  private func dropUnreadableIndex() {
    if hasServableState { return }
    let former = state.withLock { exchange(&$0.standing, with: nil) }
    withExtendedLifetime(former) {}
  }

  /// The number of changes up to which an index of any size catches up. Above it, more changes than half of the places
  /// have it built again, which is faster: no place has to be found in the log or removed from the former parts.
  private static let fewestChangesOfBuild = 20_000

  /// Copies the changes since the position of an index, and applies them at once. Where they are most of the places, or
  /// the changed places alone do not fit into memory, the index must be built instead.
  ///
  /// - Returns: the reason for which the index must be built; `nil` if it follows.
  private func catchUp(from standing: Standing) async throws(PointStoreError) -> String? {
    let start = ContinuousClock.now
    let writes = state.withLock { $0.writes }
    let buffer = Mutex((changes: PointChanges(), fits: true))
    let result = try await feed.copyChanges(
      after: standing.position, upTo: max(Self.fewestChangesOfBuild, standing.snapshot.count / 2)
    ) { [self] change in
      buffer.withLock { buffer in
        guard buffer.fits else { return }
        switch change {
        case .put(let point): buffer.changes.puts.append(point)
        case .removal(let id): buffer.changes.removals.append(id)
        }
        if exceedsLimit(buffer.changes.puts) { buffer = (PointChanges(), false) }
      }
    }
    let (changes, fits) = buffer.withLock { exchange(&$0, with: (PointChanges(), true)) }
    switch result {
    case .lost(let reason): return reason
    case .copied where !fits: return "the changes do not fit into memory"
    case .copied(let position):
      let count = changes.puts.count + changes.removals.count
      // Large parts in files are merged later, as far as they fit into memory.
      let largestJoined = files == nil || memoryLimit == nil ? .max : PointSnapshot.largestPartOfChange
      let next = await offThreadPool { standing.applying(changes, to: position, joiningUpTo: largestJoined) }
      let duration = ContinuousClock.now - start
      follow(next, since: start, writes: writes) { $0.changes += count }
      logger.info(
        "the index has caught up",
        metadata: ["changes": .stringConvertible(count), "seconds": .stringConvertible(duration.rounded)])
      return nil
    }
  }

  // MARK: Files

  /// The index in the files, and what was put there but is not read from there yet.
  private struct KeptIndexes {
    /// The index as of an anchor; `nil` before the files were read, and if they can't be used.
    var last: (snapshot: PointSnapshot, version: DataVersion?, anchor: ChangeAnchor)?

    /// The time of the last write of the files.
    var writtenAt: ContinuousClock.Instant?

    /// The anchors that the manifest does not name, or no longer.
    var obsolete: [ChangeAnchor] = []

    /// A Boolean value that indicates whether the files were read.
    var areRead = false

    /// A Boolean value that indicates whether the files are being written.
    var isWriting = false

    /// The segments that the next round has the index read from the files.
    var unreadSegments: IndexFiles.SavedSegments?
  }

  /// The time after which the files get a new anchor although nothing has changed: the change log is pruned.
  private static let anchorLifetime = Duration.seconds(600)

  /// Writes the index into files whenever it has changed, until the task is cancelled.
  private func keep(in files: IndexFiles) async {
    await files.keep(isReady: { self.state.withLock { $0.phase == .following } }) { reason in
      self.logger.warning("the index can't be written to its files", metadata: ["reason": "\(reason)"])
    } _: {
      try await self.save(to: files)
    }
  }

  /// Writes the index into files, with an anchor that is committed before.
  ///
  /// - Returns: `false` if there is no index, if the files have it, or if the server has restarted meanwhile; `true` also
  ///   while another call writes.
  /// - Throws: ``Points/PointStoreError`` or ``PointIndex/IndexFileError``; the files are unchanged then.
  @discardableResult func save(to files: IndexFiles) async throws -> Bool {
    guard let standing = state.withLock({ $0.phase == .following ? $0.standing : nil }) else { return false }
    let former: KeptIndexes? = kept.withLock { kept in
      if kept.isWriting { return nil }
      kept.isWriting = true
      return kept
    }
    guard let former else { return true }
    defer { kept.withLock { $0.isWriting = false } }
    if former.last?.version == standing.version, let writtenAt = former.writtenAt,
      ContinuousClock.now - writtenAt < Self.anchorLifetime
    {
      return false
    }
    guard let anchor = try await feed.anchor(standing.position, removing: former.obsolete) else { return false }
    // Until the manifest names it.
    kept.withLock { $0.obsolete = [anchor] }
    let saved = try await offThreadPool {
      Result { () throws(IndexFileError) in try files.save(standing.snapshot, standingFor: anchor.text) }
    }.get()
    kept.withLock { kept in
      kept.obsolete = former.last.map { [$0.anchor] } ?? []
      kept.last = (standing.snapshot.reading(saved), standing.version, anchor)
      kept.writtenAt = .now
      if !saved.isEmpty { kept.unreadSegments = saved }
    }
    return true
  }

  /// Continues from the index in the files, if there is one that the present server knows the anchor of.
  ///
  /// - Returns: `false` where the index must be built.
  private func resume() async throws(PointStoreError) -> Bool {
    let start = ContinuousClock.now
    guard let files, let last = await lastKept(in: files) else { return false }
    guard let position = try await feed.position(of: last.anchor) else {
      dropKept("the database is another one, or does not have everything that it had")
      return false
    }
    let standing = Standing(
      snapshot: last.snapshot, position: position, version: DataVersion(token: position.text))
    if let reason = try await catchUp(from: standing) {
      dropKept(reason)
      return false
    }
    state.withLock { $0.loads += 1 }
    logger.info(
      "the index continues from its files",
      metadata: [
        "places": .stringConvertible(last.snapshot.count),
        "seconds": .stringConvertible((ContinuousClock.now - start).rounded),
      ])
    return true
  }

  /// Returns the index in the files, which are read at the first call; `nil` if there is none.
  private func lastKept(in files: IndexFiles) async -> (snapshot: PointSnapshot, anchor: ChangeAnchor)? {
    if !kept.withLock({ $0.areRead }) {
      let loaded = await offThreadPool { [textConfiguration] in
        Result { () throws(IndexFileError) in try files.load(text: textConfiguration) }
      }
      kept.withLock { $0.areRead = true }
      switch loaded {
      case .success(let loaded?):
        if let anchor = ChangeAnchor(text: loaded.state) {
          kept.withLock { $0.last = (loaded.snapshot, nil, anchor) }
        } else {
          dropKept("they are of another store")
        }
      case .success(nil): break
      case .failure(let error): dropKept("\(error)")
      }
    }
    return kept.withLock { $0.last.map { ($0.snapshot, $0.anchor) } }
  }

  /// Notes that the files can't be used.
  private func dropKept(_ reason: String) {
    logger.notice("the files of the index are not used", metadata: ["reason": "\(reason)"])
    kept.withLock { kept in
      if let last = kept.last.take() { kept.obsolete.append(last.anchor) }
    }
  }

  // MARK: Wake-ups

  private func listen() async {
    while !Task.isCancelled {
      // A standby sends no notifications.
      if state.withLock({ $0.phase == .standby }) {
        try? await Task.sleep(for: Self.standbyInterval)
        continue
      }
      let hasNotifications = try? await feed.listen { [self] in
        onNotification.yield()
        Task { await confirm() }
      }
      // Through a pooler none arrive; the poll finds the changes.
      if hasNotifications == false { return }
      try? await Task.sleep(for: .seconds(1))
    }
  }

  private func poll() async {
    while !Task.isCancelled {
      _ = await confirm()
      try? await Task.sleep(for: freshness.pollInterval)
    }
  }
}

extension IndexFollower.Standing {
  /// Returns the index after changes, at another position.
  ///
  /// - Parameter largestJoined: see ``PointIndex/PointSnapshot/applying(_:joiningUpTo:)``.
  fileprivate func applying(
    _ changes: PointChanges, to position: ChangePosition, joiningUpTo largestJoined: Int = .max
  ) -> Self {
    if changes.isEmpty { return Self(snapshot: snapshot, position: position, version: version) }
    return Self(
      snapshot: snapshot.applying(changes, joiningUpTo: largestJoined), position: position,
      version: DataVersion(token: position.text))
  }
}

/// Replaces a value, and returns the former one.
private func exchange<Value>(_ value: inout Value, with next: Value) -> Value {
  defer { value = next }
  return value
}

/// The request to stop a copy before its end.
private final class CopyStop: Sendable {
  let isRequested = Atomic(false)
  let signal = Signal()

  func request() {
    isRequested.store(true, ordering: .relaxed)
    signal.send()
  }
}

/// The delay before an index is built again, which doubles as long as each index is lost soon after it was built.
struct RebuildBackOff {
  private let least: Duration
  private let most: Duration
  private var next: Duration
  private var lastBuild: ContinuousClock.Instant?

  /// The time after a build from which on a loss does not count as soon.
  static let soon = Duration.seconds(60)

  init(least: Duration, most: Duration) {
    (self.least, self.most) = (least, most)
    next = least
  }

  /// Notes that an index was built.
  mutating func noteBuild(at time: ContinuousClock.Instant) { lastBuild = time }

  /// Returns the delay of a build that begins now; `nil` for none. Later calls return none until the next build.
  mutating func delay(at now: ContinuousClock.Instant) -> Duration? {
    guard let lastBuild else { return nil }
    self.lastBuild = nil
    guard now - lastBuild < Self.soon else {
      next = least
      return nil
    }
    defer { next = min(next * 2, most) }
    return next
  }
}

extension Duration {
  /// The seconds, rounded to hundredths.
  fileprivate var rounded: Double { (self / .milliseconds(10)).rounded() / 100 }
}

/// A wake-up of one waiter, which is kept until the waiter comes.
private final class Signal: Sendable {
  private enum State {
    case idle
    case sent
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.idle)

  /// Wakes up the waiter, or the next one.
  func send() {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      if case .waiting(let waiter) = state {
        state = .idle
        return waiter
      }
      state = .sent
      return nil
    }
    waiter?.resume()
  }

  /// Waits until a signal is sent or the task is cancelled; returns at once if one was sent since the last call.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isSent = state.withLock { state in
          if case .sent = state {
            state = .idle
            return true
          }
          state = .waiting(waiter)
          return false
        }
        if isSent { waiter.resume() }
      }
    } onCancel: {
      send()
    }
  }
}
