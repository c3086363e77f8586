package import Basics
import Synchronization

/// A change of a place, as the present state of the place.
package enum PointChange: Hashable, Sendable {
  /// The place exists.
  case put(PointOfInterest)

  /// The place does not exist.
  case removal(PointRemoval)

  /// The place exists, and does not match the conditions of the reader.
  case outside(PointID, version: Int64)

  /// The id of the place.
  package var id: PointID {
    switch self {
    case .put(let point): point.id
    case .removal(let removal): removal.id
    case .outside(let id, _): id
    }
  }

  /// The version of the place, or of its removal.
  package var version: Int64 {
    switch self {
    case .put(let point): point.version
    case .removal(let removal): removal.version
    case .outside(_, let version): version
    }
  }
}

extension [PointChange] {
  /// The number of bytes of the names and tags of the places.
  package var textBytes: Int {
    reduce(0) { bytes, change in
      if case .put(let point) = change { bytes + point.draft.textBytes } else { bytes }
    }
  }
}

/// A place that does not exist any more.
package struct PointRemoval: Hashable, Sendable {
  package let id: PointID

  /// A version that is greater than every one that the place had.
  package let version: Int64

  package init(id: PointID, version: Int64) {
    (self.id, self.version) = (id, version)
  }
}

/// The changes after a position, each id once at most.
package struct ChangePage: Sendable {
  package let changes: [PointChange]

  /// The position to continue from: an opaque text of letters, digits, dots and hyphens.
  @ComparedByBytes package private(set) var position: String

  /// A Boolean value that indicates whether there are more changes after the position.
  package let hasMore: Bool

  package init(changes: [PointChange], position: String, hasMore: Bool) {
    self.changes = changes
    self.hasMore = hasMore
    self.position = position
  }
}

/// The form of the text of a position, of any store.
package enum PositionText {
  /// The maximum number of characters. A position states the transactions in progress.
  private static let maximumLength = 100_000

  /// The character before the mark of a position.
  private static let separator: Character = "~"

  /// Returns a position with a mark, which stands for what else the feed depends on, in letters and digits.
  package static func marking(_ position: String, _ mark: String?) -> String {
    mark.map { position + String(separator) + $0 } ?? position
  }

  /// Returns a position without its mark, and the mark; `nil` if it has none.
  package static func parts(of text: String) -> (position: String, mark: String?) {
    guard let end = text.firstIndex(of: separator) else { return (text, nil) }
    return (String(text[..<end]), String(text[text.index(after: end)...]))
  }

  /// Returns a Boolean value that indicates whether a text has the form of a position: numbers of base 36, separated by
  /// dots and hyphens.
  package static func isPosition(_ text: String) -> Bool {
    guard text.utf8.count <= maximumLength else { return false }
    let numbers = text.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "-" }
    return numbers.count >= 2 && numbers.allSatisfy { UInt64($0, radix: 36) != nil }
  }
}

/// The error of a read of changes.
package enum ChangeReadError: Error, Hashable, Sendable {
  /// The changes after the position are not known: it is too old, of another store, or can't be proven. The reason may
  /// be shown to clients.
  case expired(reason: String)

  /// The text is not a position.
  case malformed

  /// The store failed.
  case store(PointStoreError)
}

/// The log of the changes of a store's places.
///
/// A position names a state of the places. Reading the pages from a position to the end gives every place that has
/// changed since, at least once and as it is at some moment after the change.
package protocol ChangeLog: Sendable {
  /// Returns the position of everything that was committed before the call.
  ///
  /// - Throws: ``PointStoreError``.
  func presentPosition() async throws(PointStoreError) -> String

  /// Returns the first changes after a position. Everything that was committed before the call is on this page or a
  /// later one.
  ///
  /// - Parameter limit: the maximum number of changes; there may be fewer although there are more to come.
  /// - Throws: ``ChangeReadError``.
  func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage

  /// Returns a Boolean value that indicates whether everything up to a position is certainly included in another one.
  func includes(_ position: String, in other: String) -> Bool
}

/// The changes of a store's places, for clients: pages of the log, and subscriptions to what happens now.
package protocol PointFeed: ChangeLog {
  /// Returns the same page as ``ChangeLog/page(after:limit:)`` for a reader, to whom the evaluation of conditions counts.
  ///
  /// - Throws: ``ChangeReadError``.
  func page(
    after position: String, limit: Int, for reader: ChangeReader
  ) async throws(ChangeReadError) -> ChangePage

  /// Returns changes with ``PointChange/outside(_:version:)`` for places that do not match a query, by computation
  /// alone. The query's order, limit and position are ignored.
  ///
  /// - Throws: ``PointStoreError/filterTimeout``.
  func changes(_ changes: [PointChange], matching query: PointQuery) throws(PointStoreError) -> [PointChange]

  /// Returns a subscription to the changes of places that match the query before or after the change. It has those that
  /// a position does not include which is read after the call.
  func subscribe(matching query: PointQuery, for reader: ChangeReader) -> ChangeSubscription

  /// Ends all subscriptions, and those to come.
  func close()
}

extension PointFeed {
  package func page(
    after position: String, limit: Int, for reader: ChangeReader
  ) async throws(ChangeReadError) -> ChangePage {
    try await page(after: position, limit: limit)
  }

  /// Returns a subscription of the server itself.
  package func subscribe(matching query: PointQuery) -> ChangeSubscription { subscribe(matching: query, for: .server) }
}

/// The client that reads a subscription, to whom the evaluation of its conditions counts.
package struct ChangeReader: Sendable {
  /// The identity of a client.
  package struct Client: Hashable, Sendable {
    private let value: any Hashable & Sendable

    package init(_ value: some Hashable & Sendable) { self.value = value }

    package static func == (left: Client, right: Client) -> Bool { AnyHashable(left.value) == AnyHashable(right.value) }

    package func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
  }

  /// Runs work beside other threads' work, and returns `false` if the client's share does not allow it.
  package typealias Compute = @Sendable (_ work: @escaping @Sendable () -> Void) async -> Bool

  package let client: Client
  package let compute: Compute

  package init(client: Client, compute: @escaping Compute) {
    (self.client, self.compute) = (client, compute)
  }

  /// The server itself.
  package static let server = ChangeReader(client: Client("server")) { work in
    await offThreadPool(work)
    return true
  }
}

/// A subscription to changes. It holds a bounded number of them until its reader takes them, and ends with the last
/// reference to it.
package final class ChangeSubscription: Sendable {
  /// Some changes, and the position that includes them and everything before.
  package struct Batch: Sendable {
    package let changes: [PointChange]
    @ComparedByBytes package private(set) var position: String

    /// The time at which the store made the changes visible.
    package let time: ContinuousClock.Instant

    package init(changes: [PointChange], position: String, time: ContinuousClock.Instant = .now) {
      self.changes = changes
      self.time = time
      self.position = position
    }

    /// The number of bytes of the texts of the places.
    fileprivate var textBytes: Int { changes.textBytes }
  }

  /// The result of a wait.
  package enum Event: Sendable {
    /// Changes, in their order.
    case batches([Batch])
    /// Changes may be missing: they must be read from the log.
    case interrupted
    /// The time has passed, or the task was cancelled.
    case timedOut
    /// No more changes come, because the server is shutting down.
    case closing
  }

  private struct State {
    var batches: [Batch] = []
    var changeCount = 0
    var textBytes = 0
    var isInterrupted = false
    var isClosing = false
    var waiter: (deadline: ContinuousClock.Instant, continuation: CheckedContinuation<Event, Never>)?

    mutating func interrupt() { (batches, changeCount, textBytes, isInterrupted) = ([], 0, 0, true) }

    /// Removes what a reader gets; `nil` if there is nothing.
    mutating func take() -> Event? {
      if isInterrupted {
        isInterrupted = false
        return .interrupted
      }
      guard !batches.isEmpty else { return isClosing ? .closing : nil }
      defer { (batches, changeCount, textBytes) = ([], 0, 0) }
      return .batches(batches)
    }
  }

  /// The maximum number of changes that wait for the reader. With more, it is interrupted.
  package static let capacity = 256

  /// The maximum number of bytes of texts that wait for the reader beside the last batch.
  package static let textCapacity = 1024 * 1024

  /// The query whose places it is about.
  package let query: PointQuery

  private let state = Mutex(State())
  private let delivered: @Sendable () -> String?
  private let onEnd: @Sendable () -> Void

  /// Creates a subscription to the changes of places that match a query.
  ///
  /// - Parameters:
  ///   - delivered: returns the ``deliveredPosition``.
  ///   - onEnd: called when there is no reference to the subscription any more.
  package init(
    matching query: PointQuery, delivered: @escaping @Sendable () -> String? = { nil },
    onEnd: @escaping @Sendable () -> Void = {}
  ) {
    self.query = query
    self.delivered = delivered
    self.onEnd = onEnd
  }

  deinit { onEnd() }

  /// The position up to which all changes were sent to the subscription; `nil` if it is not known. The subscription has
  /// received them when this is read, and the next calls of ``next(until:)`` return them.
  package var deliveredPosition: String? { delivered() }

  /// Adds changes for the reader.
  package func send(_ batch: Batch) {
    deliver { state in
      if state.isInterrupted { return }
      state.changeCount += batch.changes.count
      if state.changeCount > Self.capacity || state.textBytes > Self.textCapacity {
        state.interrupt()
      } else {
        state.textBytes += batch.textBytes
        state.batches.append(batch)
      }
    }
  }

  /// Notes that changes are missing.
  package func interrupt() {
    deliver { $0.interrupt() }
  }

  /// Notes that no more changes come.
  package func close() {
    deliver { $0.isClosing = true }
  }

  private func deliver(_ change: (inout State) -> Void) {
    let (waiter, event): (CheckedContinuation<Event, Never>?, Event?) = state.withLock { state in
      change(&state)
      guard let waiter = state.waiter, let event = state.take() else { return (nil, nil) }
      state.waiter = nil
      return (waiter.continuation, event)
    }
    if let event { waiter?.resume(returning: event) }
  }

  /// Waits for changes. One call at a time.
  ///
  /// - Parameter deadline: the time after which to return without changes, once ``endWait(at:)`` is called.
  package func next(until deadline: ContinuousClock.Instant) async -> Event {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let event: Event? = state.withLock { state in
          if let event = state.take() { return event }
          if Task.isCancelled || deadline <= .now { return .timedOut }
          state.waiter = (deadline, continuation)
          return nil
        }
        if let event { continuation.resume(returning: event) }
      }
    } onCancel: {
      endWait()
    }
  }

  /// Ends the reader's wait if its deadline has passed.
  ///
  /// - Parameter time: the present; `nil` to end the wait in any case.
  package func endWait(at time: ContinuousClock.Instant? = nil) {
    let waiter: CheckedContinuation<Event, Never>? = state.withLock { state in
      guard let waiter = state.waiter else { return nil }
      if let time, time < waiter.deadline { return nil }
      state.waiter = nil
      return waiter.continuation
    }
    waiter?.resume(returning: .timedOut)
  }
}
