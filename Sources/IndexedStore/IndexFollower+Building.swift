import Logging
import PointIndex
import Points
import PostgresStore
import Synchronization

extension IndexFollower {
  /// Builds the index, follows the changes, and builds it again when it is lost, until the task is cancelled.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { await self.keepBuilt() }
      group.addTask { await self.listen() }
      group.addTask { await self.poll() }
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
          _ = try await feed.currentPosition()
          logger.notice("the database is no longer a standby")
          reconsider()
        case .building:
          if let delay = rebuilding.delay(at: .now) { try? await Task.sleep(for: delay) }
          if try await fits(), try await build() { rebuilding.noteBuild(at: .now) }
        case .catchingUp: try await catchUp()
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

  /// The estimated number of bytes of a place in the index, besides its texts: 220, and 90 of the index of its words.
  static let bytesPerPoint = 310

  /// Returns a Boolean value that indicates whether the index may be built, by an estimate of its size.
  ///
  /// The estimate is from a sample, so ``build()`` measures too.
  private func fits() async throws(PointStoreError) -> Bool {
    guard let memoryLimit else { return true }
    let estimate = try await feed.estimatedSize()
    let bytes = estimate.points * Self.bytesPerPoint + estimate.textBytes
    let fits = bytes <= memoryLimit
    logger.info(
      fits ? "the places fit into memory: the index is used" : "the places do not fit into memory: no index is used",
      metadata: [
        "estimated_places": .stringConvertible(estimate.points), "estimated_bytes": .stringConvertible(bytes),
        "limit_bytes": .stringConvertible(memoryLimit),
      ])
    if !fits { noteUnused(.tooLarge) }
    return fits
  }

  /// Returns a Boolean value that indicates whether an index of some places needs more memory than it may use.
  private func exceedsLimit(_ places: PointBuffer) -> Bool {
    exceedsLimit(count: places.count, textBytes: places.textBytes)
  }

  /// Returns a Boolean value that indicates whether an index needs more memory than it may use.
  func exceedsLimit(count: Int, textBytes: Int) -> Bool {
    guard let memoryLimit else { return false }
    return count * Self.bytesPerPoint + textBytes > memoryLimit
  }

  /// Copies all places and puts an index of them in place of the one before.
  ///
  /// - Returns: `false` where the places do not fit into memory. The copy is stopped at the first that does not.
  private func build() async throws(PointStoreError) -> Bool {
    let start = ContinuousClock.now
    logger.info("building the index")
    dropUnreadableIndex()
    let writes = state.withLock { state in
      state.copiedPoints = 0
      return state.writes
    }
    let buffer = Mutex(PointBuffer())
    let copied = try await copyPoints { [self] point in
      let (count, fits) = buffer.withLock { buffer in
        buffer.append(point)
        return (buffer.count, !exceedsLimit(buffer))
      }
      if !fits { return false }
      if count.isMultiple(of: Self.progressStep) {
        state.withLock { $0.copiedPoints = count }
        dropUnreadableIndex()
      }
      return true
    }
    guard let (position, byteCount) = copied else {
      let count = buffer.withLock { exchange(&$0, with: PointBuffer()).count }
      logger.warning(
        "the places do not fit into memory: no index is used",
        metadata: ["copied_places": .stringConvertible(count), "limit_bytes": .stringConvertible(memoryLimit ?? 0)])
      noteUnused(.tooLarge)
      return false
    }
    let snapshot = await offThreadPool { [textConfiguration] in
      PointSnapshot(buffer.withLock { buffer in exchange(&buffer, with: PointBuffer()) }, text: textConfiguration)
    }
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

  /// Passes all places to a closure, until it returns `false`.
  ///
  /// - Returns: the position of the places and the number of bytes that were received; `nil` where the closure returned
  ///   `false`.
  private func copyPoints(
    _ body: @escaping @Sendable (PointFields) -> Bool
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

  /// Copies the changes since the index's position, and applies them at once. Where the changed places alone do not fit
  /// into memory, the index is built again instead, which finds out whether all places do.
  private func catchUp() async throws(PointStoreError) {
    guard let standing = state.withLock({ $0.standing }) else {
      return lose(reason: "there is no index to catch up")
    }
    let start = ContinuousClock.now
    let writes = state.withLock { $0.writes }
    let buffer = Mutex((changes: PointChanges(), fits: true))
    let result = try await feed.copyChanges(after: standing.position) { [self] change in
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
    case .lost(let reason): lose(reason: reason)
    case .copied where !fits: lose(reason: "the changes do not fit into memory")
    case .copied(let position):
      let count = changes.puts.count + changes.removals.count
      let next = await offThreadPool { standing.applying(changes, to: position) }
      let duration = ContinuousClock.now - start
      follow(next, since: start, writes: writes) { $0.changes += count }
      logger.info(
        "the index has caught up",
        metadata: ["changes": .stringConvertible(count), "seconds": .stringConvertible(duration.rounded)])
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
      let hasNotifications = try? await feed.listen { [self] in Task { await confirm() } }
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
