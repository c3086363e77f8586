import Dispatch
import Logging
import PointIndex
import Points
import PostgresStore
import Synchronization

extension IndexFollower {
  /// Builds the index, follows the changes, and builds it again when it is lost, until the task is cancelled.
  public func run() async {
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
          state.withLock { $0.phase = .building }
        case .building: if try await fits() { try await build() }
        case .catchingUp: try await catchUp()
        }
        (delay, failure) = (Self.backOff.least, nil)
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

  /// The estimated number of bytes of a place in the index, besides its texts: 220, and 90 of the index of its words.
  static let bytesPerPoint = 310

  /// Returns a Boolean value that indicates whether the index may be built, by an estimate of its size.
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
    if !fits { state.withLock { $0.phase = .tooLarge } }
    return fits
  }

  /// Copies all places and puts an index of them in place of the one before.
  private func build() async throws(PointStoreError) {
    let start = ContinuousClock.now
    logger.info("building the index")
    // The former index is not trusted any more, and its memory is needed.
    state.withLock { state in
      state.standing = nil
      state.copiedPoints = 0
    }
    let buffer = Mutex(PointBuffer())
    let (position, byteCount) = try await feed.copyPoints { [self] point in
      let count = buffer.withLock { buffer in
        buffer.append(point)
        return buffer.count
      }
      if count.isMultiple(of: Self.progressStep) { state.withLock { $0.copiedPoints = count } }
    }
    let snapshot = await Self.offThreadPool { [textConfiguration] in
      PointSnapshot(buffer.withLock { buffer in exchange(&buffer, with: PointBuffer()) }, text: textConfiguration)
    }
    let duration = ContinuousClock.now - start
    state.withLock { state in
      state.standing = Standing(
        snapshot: snapshot, position: position, version: DataVersion(token: position.text))
      state.phase = .following
      state.builds += 1
    }
    logger.info(
      "the index is built",
      metadata: [
        "places": .stringConvertible(snapshot.count), "seconds": .stringConvertible(duration.rounded),
        "received_bytes": .stringConvertible(byteCount),
      ])
  }

  private static let progressStep = 10_000

  /// Copies the changes since the index's position, and applies them some thousands at a time. Readers see all of them
  /// at once.
  private func catchUp() async throws(PointStoreError) {
    guard let standing = state.withLock({ $0.standing }) else {
      return lose(reason: "there is no index to catch up")
    }
    let start = ContinuousClock.now
    let changes = Mutex(BufferedChanges(standing.snapshot))
    let result = try await feed.copyChanges(after: standing.position) { change in
      changes.withLock { $0.append(change) }
    }
    switch result {
    case .lost(let reason): lose(reason: reason)
    case .copied(let position):
      let (snapshot, count) = changes.withLock { changes in
        changes.flush()
        return (changes.snapshot, changes.count)
      }
      let duration = ContinuousClock.now - start
      state.withLock { state in
        state.standing = Standing(snapshot: snapshot, position: position, version: DataVersion(token: position.text))
        state.phase = .following
        state.changes += count
      }
      logger.info(
        "the index has caught up",
        metadata: ["changes": .stringConvertible(count), "seconds": .stringConvertible(duration.rounded)])
    }
  }

  /// Runs long work without blocking the threads of Swift's concurrency, which requests need.
  private static func offThreadPool<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: work()) }
    }
  }

  // MARK: Wake-ups

  private func listen() async {
    while !Task.isCancelled {
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

/// Changes that are applied to a snapshot some thousands at a time.
private struct BufferedChanges {
  private(set) var snapshot: PointSnapshot
  private(set) var count = 0
  private var puts = PointBuffer()
  private var removals: [PointID] = []

  /// The number of changes that are applied at once.
  private static let batchCount = 50_000

  /// The number of bytes of texts that are applied at once.
  private static let batchBytes = 32 << 20

  init(_ snapshot: PointSnapshot) {
    self.snapshot = snapshot
  }

  mutating func append(_ change: ChangeFeed.Change) {
    switch change {
    case .put(let point): puts.append(point)
    case .removal(let id): removals.append(id)
    }
    count += 1
    if puts.count + removals.count >= Self.batchCount || puts.textBytes >= Self.batchBytes { flush() }
  }

  mutating func flush() {
    snapshot = snapshot.applying(
      PointChanges(puts: exchange(&puts, with: PointBuffer()), removals: exchange(&removals, with: [])))
  }
}

private func exchange<Value>(_ value: inout Value, with next: Value) -> Value {
  defer { value = next }
  return value
}

extension Duration {
  /// The seconds, rounded to hundredths.
  fileprivate var rounded: Double { (self / .milliseconds(10)).rounded() / 100 }
}
