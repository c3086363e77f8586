import Dispatch
package import Logging
import PointIndex
package import Points
import PostgresStore
import Synchronization

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
  struct Standing: Sendable {
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
    /// The phase.
    package var phase: Phase
    /// The number of places in the index; while it is being built, the number of those that were copied so far.
    package var points: Int
    /// The time since the index was known to have everything that was committed; `nil` while it is not used.
    package var age: Duration?
    /// The number of times that the index was built.
    package var builds: Int
    /// The number of changed places that were applied.
    package var changes: Int
    /// The time for which the index has not followed the database, because it is built or catches up; zero while it
    /// follows, and where none is used.
    package var notReady: Duration

    /// A Boolean value that indicates whether no index is used, for a reason that waiting does not end. A standby behind
    /// an index that was complete is most likely one of a failover, which ends.
    package var isUnused: Bool { phase == .tooLarge || phase == .standby && builds == 0 }
  }

  /// The outcome of a round for its callers.
  fileprivate enum RoundOutcome {
    /// The index may be read.
    case readable(PointSnapshot)
    /// The index does not follow the database.
    case notFollowing
    /// The round failed.
    case failed
  }

  fileprivate typealias RoundWaiter = CheckedContinuation<RoundOutcome, Never>

  /// The end of a wait for an index that follows the database.
  fileprivate enum PhaseOutcome {
    /// The index has everything that was committed before the read.
    case readable(PointSnapshot)
    /// The index follows.
    case following
    /// The deadline has passed, the caller was cancelled, or no index is used.
    case ended
  }

  /// A caller that waits until the index follows the database.
  fileprivate struct PhaseWaiter {
    /// The beginning of the read.
    let start: ContinuousClock.Instant
    let continuation: CheckedContinuation<PhaseOutcome, Never>
  }

  struct State {
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
    fileprivate var staleReads = StaleReads()
    /// The index, unless it is being built again.
    fileprivate var usedStanding: Standing? { phase == .following || phase == .catchingUp ? standing : nil }
    fileprivate var isInRound = false
    fileprivate var waitersForThisRound: [RoundWaiter] = []
    fileprivate var waitersForNextRound: [RoundWaiter] = []
    /// The callers that wait until the index follows, by their numbers.
    fileprivate var phaseWaiters: [Int: PhaseWaiter] = [:]
    fileprivate var lastPhaseWaiter = 0
    /// A Boolean value that indicates whether large parts are being merged.
    fileprivate var isMerging = false
    /// Merged parts that the next round puts into the index.
    fileprivate var merge: PointSnapshot.Merge?
    /// A Boolean value that indicates whether the index was complete, or found not to be used, at least once.
    fileprivate var hasBeenComplete = false
    /// The beginning of the time for which the index has not followed the database; `nil` while it does, and where none
    /// is used.
    fileprivate var notFollowingSince: ContinuousClock.Instant? = .now
    /// The number of places that were copied for the index that is being built.
    var copiedPoints = 0
    var builds = 0
    var changes = 0
  }

  let feed: any PointChangeFeed
  let freshness: ReadFreshness
  /// The maximum number of bytes of the index; `nil` where any size is allowed.
  let memoryLimit: Int?
  /// The fields that texts are searched in.
  let textConfiguration: TextIndexConfiguration
  /// The longest wait of a caller for an index that follows the database.
  let waitLimit: Duration
  let logger: Logger
  let state = Mutex(State())
  /// Wakes up the building when the index is lost.
  let lossSignal = Signal()
  /// The queue of merges of large parts, which would delay a round and so every strict read.
  let merges = DispatchQueue(label: "index merges", qos: .utility)

  /// Creates a follower without an index; ``run()`` builds it.
  ///
  /// - Parameters:
  ///   - memoryLimit: the maximum number of bytes of the index, by an estimate before it is built; `nil` where any size
  ///     is allowed.
  ///   - text: the fields that texts are searched in.
  ///   - waitLimit: the longest wait of a read that only the index can answer while it is built or catches up.
  package init(
    _ feed: any PointChangeFeed, freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil,
    text configuration: TextIndexConfiguration = .init(), waitLimit: Duration = .seconds(2), logger: Logger
  ) {
    self.feed = feed
    self.freshness = freshness
    self.memoryLimit = memoryLimit
    textConfiguration = configuration
    self.waitLimit = waitLimit
    self.logger = logger
  }

  /// The state of the index.
  package var status: Status {
    state.withLock { state in
      let isUsed = state.phase == .following || state.phase == .catchingUp
      return Status(
        phase: state.phase, points: (isUsed ? state.standing?.snapshot.count : nil) ?? state.copiedPoints,
        age: isUsed ? state.lastConfirmedAt.map { ContinuousClock.now - $0 } : nil, builds: state.builds,
        changes: state.changes,
        notReady: state.notFollowingSince.map { ContinuousClock.now - $0 } ?? .zero)
    }
  }

  // MARK: Reading

  /// Returns an index that is fresh enough, or the last confirmed state where that may be read, without waiting; `nil`
  /// where there is neither.
  ///
  /// - Parameter isNeeded: a Boolean value that indicates whether the database can't answer instead.
  func freshSnapshot(isNeeded: Bool = false) -> PointSnapshot? {
    state.withLock { state in
      if case .bounded(let maximumAge) = freshness.consistency, let standing = state.usedStanding,
        let confirmedAt = state.confirmedAt, ContinuousClock.now - confirmedAt <= maximumAge
      {
        return standing.snapshot
      }
      // While the database is away, a round would only fail again, perhaps after a timeout.
      guard state.isDatabaseUnavailable || isNeeded && state.phase != .following else { return nil }
      return readStale(&state)
    }
  }

  /// Returns the last confirmed state, where it may be read although writes may have followed it, and counts the read.
  func staleSnapshot() -> PointSnapshot? {
    state.withLock { readStale(&$0) }
  }

  private func readStale(_ state: inout State) -> PointSnapshot? {
    guard let standing = state.standing, isServable(state, at: .now) else { return nil }
    if let required = RequiredPosition.text {
      guard let position = ChangePosition(text: required), standing.position.contains(position) else { return nil }
    }
    state.staleReads.count += 1
    state.staleReads.confirmedAt = state.lastConfirmedAt
    return standing.snapshot
  }

  /// Returns an index with everything that was committed before the call, or one that is fresh enough otherwise; `nil`
  /// where the caller must read from the database.
  ///
  /// - Parameter isNeeded: a Boolean value that indicates whether the database can't answer instead. The call then
  ///   waits up to the limit for an index that follows the database.
  func snapshot(isNeeded: Bool = false) async -> PointSnapshot? {
    await snapshot(isNeeded: isNeeded, since: .now)
  }

  /// Returns an index with everything that was committed before an earlier moment, as ``snapshot(isNeeded:)`` does.
  func snapshot(isNeeded: Bool, since start: ContinuousClock.Instant) async -> PointSnapshot? {
    if let snapshot = freshSnapshot(isNeeded: isNeeded) { return snapshot }
    let deadline = isNeeded ? start + waitLimit : nil
    while true {
      switch await round() {
      case .readable(let snapshot): return snapshot
      case .failed: return freshSnapshot(isNeeded: isNeeded)
      case .notFollowing:
        guard let deadline else { return nil }
        // The round may have found that the index must catch up.
        if let snapshot = freshSnapshot(isNeeded: true) { return snapshot }
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

  /// The position of the index; `nil` where it is not used.
  func position() -> ChangePosition? {
    state.withLock { $0.usedStanding?.position }
  }

  /// The version of the places in the index; `nil` where there is none that is used.
  func version() -> DataVersion? {
    state.withLock { $0.usedStanding?.version }
  }

  /// The time since the index was last confirmed, where it is read because the database is away; `nil` otherwise.
  func ageWhileUnavailable() -> Duration? {
    state.withLock { state in
      let now = ContinuousClock.now
      guard state.isDatabaseUnavailable, isServable(state, at: now), let last = state.lastConfirmedAt else {
        return nil
      }
      return now - last
    }
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
  func follow(_ standing: Standing, since start: ContinuousClock.Instant, writes: Int, _ count: (inout State) -> Void) {
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
    // The waiters that came before are served at once: while bulk commits go on, the next round might only find that the
    // index must catch up again.
    resumePhaseWaiters { $0.start <= start ? .readable(standing.snapshot) : .following }
    stopIfTooLarge(standing.snapshot)
  }

  /// Notes that no index is used.
  ///
  /// - Parameter phase: the reason.
  func noteUnused(_ phase: Phase) {
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
  func reconsider() {
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
      switch try await feed.changes(after: standing.position) {
      case .changes(let puts, let removals, let position):
        let merge = state.withLock { exchange(&$0.merge, with: nil) }
        if let merged = merge.flatMap({ standing.snapshot.adopting($0) }) { standing.snapshot = merged }
        let next = standing.applying(
          PointChanges(puts: puts, removals: removals), to: position, joiningUpTo: PointSnapshot.largestPartOfChange)
        let isCurrent = state.withLock { state in
          // A round is the only one to change the index while it follows, so it still stands where it did.
          guard state.phase == .following else { return false }
          state.standing = next
          state.changes += puts.count + removals.count
          return true
        }
        guard isCurrent else { return .success(nil) }
        mergeLargeParts(of: next.snapshot)
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

  /// Starts to merge large parts, unless a merge is in progress. A later round puts the result into the index.
  private func mergeLargeParts(of snapshot: PointSnapshot) {
    guard snapshot.hasLargePartsToMerge(above: PointSnapshot.largestPartOfChange) else { return }
    let isFirst = state.withLock { state in
      guard !state.isMerging, state.merge == nil else { return false }
      state.isMerging = true
      return true
    }
    guard isFirst else { return }
    merges.async { [self] in
      let merge = snapshot.mergingLargeParts(above: PointSnapshot.largestPartOfChange)
      state.withLock { state in
        state.isMerging = false
        state.merge = merge
      }
    }
  }

  /// Stops using an index that has grown beyond the memory that it may use.
  ///
  /// - Returns: `true` where it has.
  @discardableResult private func stopIfTooLarge(_ snapshot: PointSnapshot) -> Bool {
    guard exceedsLimit(count: snapshot.count, textBytes: snapshot.textBytes) else { return false }
    logger.warning(
      "the places no longer fit into memory: no index is used",
      metadata: ["places": .stringConvertible(snapshot.count), "limit_bytes": .stringConvertible(memoryLimit ?? 0)])
    noteUnused(.tooLarge)
    lossSignal.send()
    return true
  }

  /// Stops using the index, and has it built again.
  func lose(reason: String) {
    state.withLock { state in
      state.phase = .building
      state.confirmedAt = nil
      if state.notFollowingSince == nil { state.notFollowingSince = .now }
    }
    logger.notice("the index is built again", metadata: ["reason": "\(reason)"])
    lossSignal.send()
  }
}

extension IndexFollower.Standing {
  /// Returns the index after changes, at another position.
  ///
  /// - Parameter largestJoined: see ``PointIndex/PointSnapshot/applying(_:joiningUpTo:)``.
  func applying(_ changes: PointChanges, to position: ChangePosition, joiningUpTo largestJoined: Int = .max) -> Self {
    if changes.isEmpty { return Self(snapshot: snapshot, position: position, version: version) }
    return Self(
      snapshot: snapshot.applying(changes, joiningUpTo: largestJoined), position: position,
      version: DataVersion(token: position.text))
  }
}

/// Replaces a value, and returns the former one.
func exchange<Value>(_ value: inout Value, with next: Value) -> Value {
  defer { value = next }
  return value
}
