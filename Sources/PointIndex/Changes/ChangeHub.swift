import Basics
import Dispatch
package import Points
import Synchronization

/// The changes of a store's places for its clients: the log, and one fan-out to all subscriptions.
///
/// The store publishes each step from one state of its places to the next. For each changed place, the subscriptions
/// that may match it are found through a ``SubscriptionIndex``, and their conditions are evaluated on the place before
/// and after. So the cost of a change is that of the subscriptions that it concerns.
package final class ChangeHub: PointFeed {
  /// The conditions of a subscription.
  private final class Subscriber: Hashable, Sendable {
    let filter: QueryFilter
    /// The condition of the restriction of the query; `nil` if it has none.
    let restriction: QueryFilter?
    private let subscription = Mutex<WeakSubscription>(.init())

    init(_ query: PointQuery) {
      filter = QueryFilter(query)
      restriction = query.restriction.map { QueryFilter(PointQuery(restriction: $0)) }
    }

    func attach(_ subscription: ChangeSubscription) { self.subscription.withLock { $0.value = subscription } }

    var current: ChangeSubscription? { subscription.withLock { $0.value } }

    static func == (left: Subscriber, right: Subscriber) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  private struct WeakSubscription {
    weak var value: ChangeSubscription?
  }

  private struct State {
    var index = SubscriptionIndex<Subscriber>()
    var all: Set<Subscriber> = []
    /// The position of the last step that subscriptions have.
    var position: String?
    /// The number of steps that wait to be delivered.
    var waitingSteps = 0
    var isClosed = false
    /// A Boolean value that indicates whether waits are ended at their deadlines.
    var isEndingWaits = false
  }

  /// A step from one state of the places to the next.
  package struct Step: Sendable {
    /// The places before; `nil` if they are not known.
    let former: PointSnapshot?
    /// Places after, the changed ones among them.
    let next: PointSnapshot
    let puts: [PointID]
    let removals: [PointRemoval]
    /// The position of the state after.
    let position: String
    private(set) var time = ContinuousClock.now

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - former: the places before; `nil` if they are not known. Then a changed place that does not match a
    ///     subscription may have matched it.
    ///   - next: places after, with those of `puts`.
    package init(
      from former: PointSnapshot?, to next: PointSnapshot, puts: [PointID], removals: [PointRemoval], position: String
    ) {
      self.former = former
      self.next = next
      self.puts = puts
      self.removals = removals
      self.position = position
    }

    /// Creates a step of a page of changes, without the places before.
    package init(of page: ChangePage) {
      var (buffer, puts, removals): (PointBuffer, [PointID], [PointRemoval]) = (PointBuffer(), [], [])
      for change in page.changes {
        switch change {
        case .put(let point):
          buffer.append(point)
          puts.append(point.id)
        case .removal(let removal): removals.append(removal)
        case .outside: break
        }
      }
      self.init(
        from: nil, to: PointSnapshot(buffer, text: TextIndexConfiguration(nameTags: [])), puts: puts,
        removals: removals, position: page.position)
    }
  }

  /// The maximum number of steps that wait. With more, subscribers read the log.
  private static let maximumSteps = 64

  /// The time between the ends of waits whose deadlines have passed. One timer ends them all, since one for each takes
  /// several times the memory of the wait.
  private static let waitInterval = DispatchTimeInterval.milliseconds(500)

  private let log: any ChangeLog
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "waymark.changes")

  package init(_ log: any ChangeLog) {
    self.log = log
  }

  // MARK: The log

  package func presentPosition() async throws(PointStoreError) -> String { try await log.presentPosition() }

  package func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
    try await log.page(after: position, limit: limit)
  }

  package func includes(_ position: String, in other: String) -> Bool { log.includes(position, in: other) }

  package func changes(_ changes: [PointChange], matching query: PointQuery) throws(PointStoreError) -> [PointChange] {
    guard query.hasConditions else { return changes }
    var buffer = PointBuffer()
    for case .put(let point) in changes { buffer.append(point) }
    guard buffer.count > 0 else { return changes }
    let segment = Segment(buffer, text: TextIndexConfiguration(nameTags: []))
    let limit = SearchLimit(query.timeLimit)
    let filter = QueryFilter(query, limit)
    let steps = query.filter?.stepsPerEvaluation ?? 0
    let matched = changes.map { change in
      guard case .put(let point) = change, limit.spend(steps) else { return change }
      guard let slot = segment.slot(of: point.id), filter.matches(slot, of: segment) else {
        return .outside(point.id, version: point.version)
      }
      return change
    }
    if limit.isExpired { throw limit.error }
    return matched
  }

  // MARK: Subscriptions

  package func subscribe(matching query: PointQuery) -> ChangeSubscription {
    let subscriber = Subscriber(query)
    let subscription = ChangeSubscription(matching: query) { [weak self] in self?.remove(subscriber, $0) }
    subscriber.attach(subscription)
    let (isClosed, isFirst) = state.withLock { state in
      state.index.insert(subscriber, query)
      state.all.insert(subscriber)
      defer { state.isEndingWaits = true }
      return (state.isClosed, !state.isEndingWaits)
    }
    if isClosed { subscription.close() }
    if isFirst { endWaitsLater() }
    return subscription
  }

  /// Ends the waits whose deadlines have passed, again and again while there are subscriptions.
  private func endWaitsLater() {
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.waitInterval) { [weak self] in self?.endWaits() }
  }

  private func endWaits() {
    let subscribers = state.withLock { state in
      state.isEndingWaits = !state.all.isEmpty
      return state.all
    }
    let now = ContinuousClock.now
    for subscriber in subscribers { subscriber.current?.endWait(at: now) }
    if !subscribers.isEmpty { endWaitsLater() }
  }

  private func remove(_ subscriber: Subscriber, _ query: PointQuery) {
    state.withLock { state in
      state.index.remove(subscriber, query)
      state.all.remove(subscriber)
    }
  }

  package func close() {
    let all = state.withLock { state in
      state.isClosed = true
      return state.all
    }
    for subscriber in all { subscriber.current?.close() }
  }

  package var deliveredPosition: String? { state.withLock { $0.position } }

  /// A Boolean value that indicates whether there are subscriptions.
  package var hasSubscriptions: Bool { state.withLock { !$0.all.isEmpty } }

  // MARK: Fan-out

  /// Delivers a step to the subscriptions, some time after the call. Steps are delivered in the order of the calls.
  ///
  /// Without subscriptions no step is made: those that come later read the log from a state that has it.
  package func publish(_ step: @autoclosure () -> Step) {
    let isWaiting = state.withLock { state in
      if state.all.isEmpty, state.waitingSteps == 0 {
        state.position = nil
        return false
      }
      state.waitingSteps += 1
      return true
    }
    guard isWaiting else { return }
    let step = step()
    queue.async { [self] in
      let isTooMany = state.withLock { state in
        state.waitingSteps -= 1
        return state.waitingSteps >= Self.maximumSteps
      }
      if isTooMany { Self.interrupt(state.withLock { $0.all }) } else { deliver(step) }
    }
  }

  /// Has all subscribers read the log, because changes were made that are not published.
  package func interrupt() {
    // Those that come later read the log from a state that has the changes.
    let subscribers = state.withLock { $0.all }
    queue.async { Self.interrupt(subscribers) }
  }

  private static func interrupt(_ subscribers: Set<Subscriber>) {
    for subscriber in subscribers { subscriber.current?.interrupt() }
  }

  private func deliver(_ step: Step) {
    var changes: [Subscriber: [PointChange]] = [:]
    for id in step.puts { distribute(id, nil, step, to: &changes) }
    for removal in step.removals { distribute(removal.id, removal, step, to: &changes) }
    for (subscriber, changes) in changes {
      subscriber.current?.send(.init(changes: changes, position: step.position, time: step.time))
    }
    state.withLock { $0.position = step.position }
  }

  private func distribute(
    _ id: PointID, _ removal: PointRemoval?, _ step: Step, to changes: inout [Subscriber: [PointChange]]
  ) {
    let former = step.former.flatMap { PlaceState(id, in: $0) }
    let next = removal == nil ? PlaceState(id, in: step.next) : nil
    let isUnknown = step.former == nil
    if next == nil, former == nil, !isUnknown { return }
    let candidates = state.withLock { state in
      if isUnknown { return state.all }
      var candidates: Set<Subscriber> = []
      for place in [former, next].compactMap(\.self) {
        state.index.forEach(matching: place.keys) { candidates.insert($0) }
      }
      return candidates
    }
    guard !candidates.isEmpty else { return }
    let put = next.map { PointChange.put($0.point) }
    for subscriber in candidates {
      let change: PointChange
      if let next, let put, next.matches(subscriber.filter) {
        change = put
      } else if isUnknown || former?.matches(subscriber.filter) == true {
        let version = next?.point.version ?? 0
        if let restriction = subscriber.restriction, next?.matches(restriction) != true {
          // The state before is unknown, so a removal could reveal a place that the reader never saw. The reader has to
          // read the log.
          if isUnknown {
            subscriber.current?.interrupt()
            continue
          }
          change = .removal(removal ?? PointRemoval(id: id, version: version))
        } else {
          change = removal.map { .removal($0) } ?? .outside(id, version: version)
        }
      } else {
        continue
      }
      changes[subscriber, default: []].append(change)
    }
  }
}

/// A place in a snapshot.
private struct PlaceState {
  let point: PointOfInterest
  private let segment: Segment
  private let slot: Int

  init?(_ id: PointID, in snapshot: PointSnapshot) {
    guard let location = snapshot.location(of: id) else { return nil }
    segment = snapshot.parts[Int(location.part)].segment
    slot = Int(location.slot)
    point = segment.point(at: slot)
  }

  var keys: PlaceKeys {
    PlaceKeys(
      coordinate: point.draft.coordinate, category: point.draft.category.map { ExactText($0) },
      source: point.draft.origin.map { ExactText($0.source) })
  }

  func matches(_ filter: QueryFilter) -> Bool { filter.matches(slot, of: segment) }
}
