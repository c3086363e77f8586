import Dispatch
import Logging
import PointIndex
import Points
import PostgresStore
import Synchronization

/// An index of the places of a database, which follows the database's changes.
///
/// The index stands for a position: exactly what one snapshot of PostgreSQL sees. A *round* is one statement that
/// returns PostgreSQL's present snapshot together with the places that changed since the index's position; when they
/// are applied, the index stands for the present snapshot. A caller that waits for a round which began after its call
/// therefore reads everything that was committed before the call. All callers that wait at one time share a round.
///
/// While the index is being built, is too far behind or can't be confirmed, ``snapshot()`` returns `nil`, and the
/// caller reads from the database.
public final class IndexFollower: Sendable {
  /// An index and what it stands for.
  struct Standing: Sendable {
    var snapshot: PointSnapshot
    var position: ChangePosition
    /// The version that the places have had since the last change.
    var version: DataVersion
  }

  /// The phases of an index.
  public enum Phase: String, CaseIterable, Sendable {
    /// All places are being copied.
    case building
    /// Changes are applied as they are found.
    case following
    /// Many changes are being copied; the index is at the position before them.
    case catchingUp = "catching_up"
    /// The places need more memory than the index may use.
    case tooLarge = "too_large"
  }

  /// The state of an index, for operators.
  public struct Status: Sendable {
    /// The phase.
    public var phase: Phase
    /// The number of places in the index; while it is being built, the number of those that were copied so far.
    public var points: Int
    /// The time since the index was known to have everything that was committed; `nil` while it is not used.
    public var age: Duration?
    /// The number of times that the index was built.
    public var builds: Int
    /// The number of changed places that were applied.
    public var changes: Int
  }

  fileprivate typealias Waiter = CheckedContinuation<PointSnapshot?, Never>

  struct State {
    var phase = Phase.building
    var standing: Standing?
    /// The latest moment at which the index is known to have had everything that was committed; `nil` before the first,
    /// and after a write of this instance that the index may not have yet.
    var confirmedAt: ContinuousClock.Instant?
    /// The moment to which ``confirmedAt`` was last set, whatever was written since.
    var lastConfirmedAt: ContinuousClock.Instant?
    /// The number of writes of this instance.
    fileprivate var writes = 0
    /// A Boolean value that indicates whether the last round failed because the database was unavailable.
    var isDatabaseUnavailable = false
    /// The reads while the database was unavailable.
    fileprivate var readsWhileUnavailable = ReadsWhileUnavailable()
    /// The index, where it may be read.
    fileprivate var usedStanding: Standing? { phase == .following || phase == .catchingUp ? standing : nil }
    fileprivate var isInRound = false
    fileprivate var waitersForThisRound: [Waiter] = []
    fileprivate var waitersForNextRound: [Waiter] = []
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
  let logger: Logger
  let state = Mutex(State())
  /// Wakes up the building when the index is lost.
  let lossSignal = Signal()

  /// Creates a follower without an index; ``run()`` builds it.
  ///
  /// - Parameters:
  ///   - memoryLimit: the maximum number of bytes of the index, by an estimate before it is built; `nil` where any size
  ///     is allowed.
  ///   - text: the fields that texts are searched in.
  public init(
    _ feed: any PointChangeFeed, freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil,
    text configuration: TextIndexConfiguration = .init(), logger: Logger
  ) {
    self.feed = feed
    self.freshness = freshness
    self.memoryLimit = memoryLimit
    textConfiguration = configuration
    self.logger = logger
  }

  /// The state of the index.
  public var status: Status {
    state.withLock { state in
      let isUsed = state.phase == .following || state.phase == .catchingUp
      return Status(
        phase: state.phase, points: (isUsed ? state.standing?.snapshot.count : nil) ?? state.copiedPoints,
        age: isUsed ? state.lastConfirmedAt.map { ContinuousClock.now - $0 } : nil, builds: state.builds,
        changes: state.changes)
    }
  }

  // MARK: Reading

  /// Returns an index that is fresh enough, without waiting; `nil` where there is none.
  func freshSnapshot() -> PointSnapshot? {
    state.withLock { state in
      guard let standing = state.usedStanding else { return nil }
      let now = ContinuousClock.now
      if case .bounded(let maximumAge) = freshness.consistency, let confirmedAt = state.confirmedAt,
        now - confirmedAt <= maximumAge
      {
        return standing.snapshot
      }
      // While the database is away, a round would only fail again, perhaps after a timeout.
      guard state.isDatabaseUnavailable, isServable(state, at: now) else { return nil }
      state.readsWhileUnavailable.count += 1
      state.readsWhileUnavailable.confirmedAt = state.lastConfirmedAt
      return standing.snapshot
    }
  }

  /// Returns an index with everything that was committed before the call, or one that is fresh enough otherwise; `nil`
  /// where the caller must read from the database.
  func snapshot() async -> PointSnapshot? {
    if let snapshot = freshSnapshot() { return snapshot }
    return await confirm()
  }

  /// Runs a round that begins after the call, or joins the callers who wait for one.
  ///
  /// - Returns: the index after the round; `nil` where the caller must read from the database.
  func confirm() async -> PointSnapshot? {
    await withCheckedContinuation { waiter in
      enum Step { case read, wait, start }
      let step: Step = state.withLock { state in
        guard state.phase == .following else { return .read }
        guard !state.isInRound else {
          state.waitersForNextRound.append(waiter)
          return .wait
        }
        state.isInRound = true
        state.waitersForThisRound = [waiter]
        return .start
      }
      switch step {
      case .read: waiter.resume(returning: nil)
      case .wait: break
      case .start: Task { await runRounds() }
      }
    }
  }

  /// Returns a Boolean value that indicates whether the index may be read although the database is away.
  private func isServable(_ state: borrowing State, at now: ContinuousClock.Instant) -> Bool {
    guard let last = state.lastConfirmedAt else { return false }
    return now - last <= freshness.maximumAgeWhenUnavailable
  }

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

  /// The reads while the database was unavailable; `nil` where there are never any.
  var readsWhileUnavailable: ReadsWhileUnavailable? {
    freshness.maximumAgeWhenUnavailable > .zero ? state.withLock { $0.readsWhileUnavailable } : nil
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
      let snapshot: PointSnapshot? =
        switch result {
        case .success(let snapshot): snapshot
        case .failure(.unavailable): freshSnapshot()
        case .failure: nil
        }
      for waiter in waiters { waiter.resume(returning: snapshot) }
      if isLast { return }
    }
  }

  /// Reads the missing changes and applies them.
  ///
  /// - Returns: the index, or `nil` where it can't be used.
  private func runRound() async -> Result<PointSnapshot?, PointStoreError> {
    guard let standing = state.withLock({ $0.phase == .following ? $0.standing : nil }) else { return .success(nil) }
    do {
      switch try await feed.changes(after: standing.position) {
      case .changes(let puts, let removals, let position):
        let next = standing.applying(PointChanges(puts: puts, removals: removals), to: position)
        let isCurrent = state.withLock { state in
          // A round is the only one to change the index while it follows, so it still stands where it did.
          guard state.phase == .following else { return false }
          state.standing = next
          state.changes += puts.count + removals.count
          return true
        }
        return .success(isCurrent ? next.snapshot : nil)
      case .manyChanges:
        state.withLock { $0.phase = .catchingUp }
        lossSignal.send()
        return .success(nil)
      case .lost(let reason):
        lose(reason: reason)
        return .success(nil)
      }
    } catch {
      return .failure(error)
    }
  }

  /// Stops using the index, and has it built again.
  func lose(reason: String) {
    state.withLock { state in
      state.phase = .building
      state.confirmedAt = nil
      state.lastConfirmedAt = nil
    }
    logger.notice("the index is built again", metadata: ["reason": "\(reason)"])
    lossSignal.send()
  }
}

extension IndexFollower.Standing {
  /// Returns the index after changes, at another position.
  func applying(_ changes: PointChanges, to position: ChangePosition) -> Self {
    if changes.isEmpty { return Self(snapshot: snapshot, position: position, version: version) }
    return Self(
      snapshot: snapshot.applying(changes), position: position, version: DataVersion(token: position.text))
  }
}
