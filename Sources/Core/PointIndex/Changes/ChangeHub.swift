import Basics
import Dispatch
package import Points
import Synchronization

/// The changes of a store's places for its clients: the log, and one fan-out to all subscriptions.
///
/// The store publishes each step from one state of its places to the next. For each changed place, the conditions that
/// it may match are found through a ``SubscriptionIndex``, and evaluated on the place before and after. Equal conditions
/// are evaluated once. So the cost of a change is that of the conditions that it concerns.
///
/// A step is delivered in three stages, and none waits for the one after it: subscriptions without conditions have it
/// first; then those with conditions that take little; the evaluation of the others counts to the clients that read
/// them, one after the other for each client. Conditions with which that does not keep up have their readers read the
/// log.
package final class ChangeHub: PointFeed {
  /// A subscription, which ends with the last reference of its reader.
  private final class Subscriber: Hashable, Sendable {
    let reader: ChangeReader
    private let subscription = Mutex<WeakSubscription>(.init())

    init(_ reader: ChangeReader) { self.reader = reader }

    func attach(_ subscription: ChangeSubscription) { self.subscription.withLock { $0.value = subscription } }

    var current: ChangeSubscription? { subscription.withLock { $0.value } }

    static func == (left: Subscriber, right: Subscriber) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  private struct WeakSubscription {
    weak var value: ChangeSubscription?
  }

  /// The conditions of equal subscriptions.
  private final class Conditions: Hashable, Sendable {
    /// A step of which some places may match.
    struct Waiting {
      let delivery: Delivery
      let places: [ChangedPlace]
    }

    struct State {
      var subscribers: Set<Subscriber> = []
      /// The steps that wait to be evaluated, in their order.
      var waiting: [Waiting] = []
      var isEvaluating = false
      /// The position of the last step that was evaluated.
      var position: String?
    }

    let query: PointQuery
    let filter: QueryFilter
    /// The condition of the restriction of the query; `nil` if it has none.
    let restriction: QueryFilter?
    let state = Mutex(State())

    init(_ query: PointQuery) {
      self.query = query
      filter = QueryFilter(query)
      restriction = query.restriction.map { QueryFilter(PointQuery(restriction: $0)) }
    }

    var isLong: Bool { query.needsIndex }

    var subscribers: Set<Subscriber> { state.withLock { $0.subscribers } }

    /// The reader of a client; `nil` if the client has none any more.
    func reader(of client: ChangeReader.Client) -> ChangeReader? {
      subscribers.first { $0.reader.client == client }?.reader
    }

    func send(_ batch: ChangeSubscription.Batch) {
      for subscriber in subscribers { subscriber.current?.send(batch) }
    }

    /// Has subscribers read the log. Steps that wait are evaluated only for others.
    ///
    /// - Parameter client: the client of the subscribers; `nil` for all.
    func interrupt(_ client: ChangeReader.Client? = nil) {
      // In the lock, so that a step is either dropped before the interruption or kept, and the position of what was
      // delivered is one of after it. The references outlive it, because the last one to a subscription takes it too.
      let interrupted = state.withLock { state in
        let own = state.subscribers.filter { client == nil || $0.reader.client == client }
        if own.count == state.subscribers.count { state.waiting = [] }
        let subscriptions = own.compactMap(\.current)
        for subscription in subscriptions { subscription.interrupt() }
        return subscriptions
      }
      extendLifetime(interrupted)
    }

    static func == (left: Conditions, right: Conditions) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  private struct State {
    var index = SubscriptionIndex<Conditions>()
    /// All conditions by their queries, those of subscriptions without any among them.
    var conditions: [PointQuery: Conditions] = [:]
    var subscribers: Set<Subscriber> = []
    /// The position of the last step that subscriptions without conditions have.
    var plainPosition: String?
    /// The position of the last step that subscriptions with short conditions have, and that waits or was evaluated for
    /// the others.
    var position: String?
    /// The number of steps that wait to be delivered at all, and that wait to be delivered by conditions.
    var waitingSteps = 0
    var waitingConditionalSteps = 0
    /// The number of steps so far.
    var stepCount = 0
    var isClosed = false
    /// A Boolean value that indicates whether waits are ended at their deadlines.
    var isEndingWaits = false

    var plain: Conditions? { conditions[PointQuery()] }
  }

  /// The long conditions that wait for a client's next computation.
  private struct Lane {
    var waiting: [Conditions] = []
    var members: Set<Conditions> = []
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
  package static let maximumSteps = 64

  /// The time after which a computation makes room for those of other clients.
  private static let turn = Duration.milliseconds(5)

  /// The time between the ends of waits whose deadlines have passed. One timer ends them all, since one for each takes
  /// several times the memory of the wait.
  private static let waitInterval = DispatchTimeInterval.milliseconds(500)

  private let log: any ChangeLog
  private let state = Mutex(State())
  private let lanes = Mutex<[ChangeReader.Client: Lane]>([:])

  /// The queue of the steps for subscriptions without conditions.
  private let queue = DispatchQueue(label: "waymark.changes")

  /// The queue of the steps for the others, after the first.
  private let conditionQueue = DispatchQueue(label: "waymark.changes.conditions")

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

  package func subscribe(matching query: PointQuery, for reader: ChangeReader) -> ChangeSubscription {
    let subscriber = Subscriber(reader)
    let key = query.conditions
    let (conditions, isClosed, isFirst) = state.withLock { state in
      let existing = state.conditions[key]
      let conditions = existing ?? Conditions(key)
      if existing == nil {
        state.conditions[key] = conditions
        if key.hasConditions { state.index.insert(conditions, key) }
      }
      conditions.state.withLock { _ = $0.subscribers.insert(subscriber) }
      state.subscribers.insert(subscriber)
      defer { state.isEndingWaits = true }
      return (conditions, state.isClosed, !state.isEndingWaits)
    }
    // What is sent before it is attached, every position includes that its reader takes as the first.
    let subscription = ChangeSubscription(matching: query) { [weak self] in
      self?.deliveredPosition(of: conditions)
    } onEnd: { [weak self] in
      self?.remove(subscriber, of: conditions)
    }
    subscriber.attach(subscription)
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
      state.isEndingWaits = !state.subscribers.isEmpty
      return state.subscribers
    }
    let now = ContinuousClock.now
    for subscriber in subscribers { subscriber.current?.endWait(at: now) }
    if !subscribers.isEmpty { endWaitsLater() }
  }

  private func remove(_ subscriber: Subscriber, of conditions: Conditions) {
    state.withLock { state in
      state.subscribers.remove(subscriber)
      let isLast = conditions.state.withLock { own in
        own.subscribers.remove(subscriber)
        if own.subscribers.isEmpty { own.waiting = [] }
        return own.subscribers.isEmpty
      }
      guard isLast else { return }
      state.conditions[conditions.query] = nil
      if conditions.query.hasConditions { state.index.remove(conditions, conditions.query) }
    }
  }

  package func close() {
    let (subscribers, conditions) = state.withLock { state in
      state.isClosed = true
      return (state.subscribers, Array(state.conditions.values))
    }
    for subscriber in subscribers { subscriber.current?.close() }
    for conditions in conditions { conditions.state.withLock { $0.waiting = [] } }
  }

  private func deliveredPosition(of conditions: Conditions) -> String? {
    guard conditions.query.hasConditions else { return state.withLock { $0.plainPosition } }
    // Before the steps that wait, which are all up to this position.
    let position = state.withLock { $0.position }
    return conditions.state.withLock { $0.waiting.isEmpty && !$0.isEvaluating ? position : $0.position }
  }

  /// A Boolean value that indicates whether there are subscriptions.
  package var hasSubscriptions: Bool { state.withLock { !$0.subscribers.isEmpty } }

  // MARK: Fan-out

  /// Delivers a step to the subscriptions, some time after the call. Steps are delivered in the order of the calls.
  ///
  /// Without subscriptions no step is made: those that come later read the log from a state that has it.
  package func publish(_ step: @autoclosure () -> Step) {
    let number = state.withLock { state -> Int? in
      if state.subscribers.isEmpty, state.waitingSteps == 0, state.waitingConditionalSteps == 0 {
        (state.plainPosition, state.position) = (nil, nil)
        return nil
      }
      state.waitingSteps += 1
      state.waitingConditionalSteps += 1
      state.stepCount += 1
      return state.stepCount
    }
    guard let number else { return }
    let step = step()
    queue.async { [self] in
      let delivery = Delivery(step, number)
      let (isTooMany, plain) = state.withLock { state in
        state.waitingSteps -= 1
        return (state.waitingSteps >= Self.maximumSteps, state.plain)
      }
      if isTooMany { plain?.interrupt() } else { deliver(delivery, toPlain: plain) }
      conditionQueue.async { [self] in
        let isTooMany = state.withLock { state in
          state.waitingConditionalSteps -= 1
          return state.waitingConditionalSteps >= Self.maximumSteps
        }
        if isTooMany { interruptConditions() } else { deliver(delivery) }
      }
    }
  }

  /// Has all subscribers read the log, because changes were made that are not published.
  package func interrupt() {
    // Those that come later read the log from a state that has the changes.
    queue.async { [self] in
      state.withLock { $0.plain }?.interrupt()
      conditionQueue.async { [self] in interruptConditions() }
    }
  }

  private func interruptConditions() {
    let conditions = state.withLock { $0.conditions.values.filter(\.query.hasConditions) }
    for conditions in conditions { conditions.interrupt() }
  }

  private func deliver(_ delivery: Delivery, toPlain plain: Conditions?) {
    if let plain {
      let changes = delivery.places.compactMap { place in
        place.next == nil ? place.removal.map { PointChange.removal($0) } : place.put
      }
      if !changes.isEmpty { plain.send(delivery.batch(changes)) }
    }
    state.withLock { $0.plainPosition = delivery.position }
  }

  /// Delivers a step to the subscriptions with short conditions, and has the others evaluated.
  private func deliver(_ delivery: Delivery) {
    var concerned: [Conditions: [ChangedPlace]] = [:]
    state.withLock { state in
      for place in delivery.places {
        if delivery.isUnknown {
          for conditions in state.conditions.values where conditions.query.hasConditions {
            concerned[conditions, default: []].append(place)
          }
          continue
        }
        var found: Set<Conditions> = []
        for keys in [place.former?.keys, place.next?.keys].compactMap(\.self) {
          state.index.forEach(matching: keys) { found.insert($0) }
        }
        for conditions in found { concerned[conditions, default: []].append(place) }
      }
    }
    for (conditions, places) in concerned where !conditions.isLong {
      Self.deliver(places, of: delivery, to: conditions)
    }
    for (conditions, places) in concerned where conditions.isLong { enqueue(places, of: delivery, conditions) }
    let isSweep = state.withLock { state in
      state.position = delivery.position
      return delivery.number % (Self.maximumSteps / 2) == 0
    }
    if isSweep { interruptConditions(waitingSince: delivery.number - Self.maximumSteps) }
  }

  /// Has those read the log whose conditions were not evaluated on a step that is too old, so that no more steps are
  /// kept.
  private func interruptConditions(waitingSince number: Int) {
    let conditions = state.withLock { $0.conditions.values.filter(\.isLong) }
    for conditions in conditions
    where conditions.state.withLock({ ($0.waiting.first?.delivery.number ?? .max) < number }) {
      conditions.interrupt()
    }
  }

  /// Sends what changed places are to the subscribers of conditions, or has them read the log where that is not known.
  private static func deliver(
    _ places: [ChangedPlace], of delivery: Delivery, to conditions: Conditions, limit: SearchLimit? = nil
  ) {
    let filter = limit.map { QueryFilter(conditions.query, $0) } ?? conditions.filter
    let steps = conditions.query.filter?.stepsPerEvaluation ?? 0
    var changes: [PointChange] = []
    for place in places where limit?.spend(steps) != false {
      switch place.outcome(for: filter, conditions.restriction, isUnknown: delivery.isUnknown) {
      case .none: continue
      case .change(let change): changes.append(change)
      case .missing: return conditions.interrupt()
      }
    }
    if limit?.isExpired == true { return conditions.interrupt() }
    if !changes.isEmpty { conditions.send(delivery.batch(changes)) }
  }

  // MARK: Long conditions

  /// Has long conditions evaluated on places of a step, after the steps before.
  private func enqueue(_ places: [ChangedPlace], of delivery: Delivery, _ conditions: Conditions) {
    let isTooMany = conditions.state.withLock { state in
      guard state.waiting.count < Self.maximumSteps else { return true }
      state.waiting.append(.init(delivery: delivery, places: places))
      return false
    }
    if isTooMany { conditions.interrupt() } else { enqueue(conditions) }
  }

  /// Has conditions evaluated for each of the clients that read them, by the one whose turn is first.
  private func enqueue(_ conditions: Conditions) {
    for client in Set(conditions.subscribers.map(\.reader.client)) {
      let isFirst = lanes.withLock { lanes in
        let isFirst = lanes[client] == nil
        if lanes[client, default: Lane()].members.insert(conditions).inserted {
          lanes[client]?.waiting.append(conditions)
        }
        return isFirst
      }
      if isFirst { Task { await evaluateConditions(of: client) } }
    }
  }

  /// Removes and returns the conditions whose turn is the next of a client.
  private func next(of client: ChangeReader.Client, endingLane: Bool) -> Conditions? {
    lanes.withLock { lanes in
      guard var lane = lanes.removeValue(forKey: client) else { return nil }
      guard !lane.waiting.isEmpty else {
        if !endingLane { lanes[client] = lane }
        return nil
      }
      let first = lane.waiting.removeFirst()
      lane.members.remove(first)
      lanes[client] = lane
      return first
    }
  }

  private func evaluateConditions(of client: ChangeReader.Client) async {
    while let first = next(of: client, endingLane: true) {
      // Another client's turn may have been first. Whoever evaluates them now has them enqueued again.
      guard first.state.withLock({ !$0.waiting.isEmpty && !$0.isEvaluating }), let reader = first.reader(of: client)
      else { continue }
      let isComputed = await reader.compute { [self] in
        let end = ContinuousClock.now + Self.turn
        var conditions: Conditions? = first
        while let current = conditions {
          evaluate(current)
          conditions = .now < end ? next(of: client, endingLane: false) : nil
        }
      }
      if !isComputed { first.interrupt(client) }
    }
  }

  /// Evaluates conditions on the first step that waits, unless another client does.
  private func evaluate(_ conditions: Conditions) {
    let first = conditions.state.withLock { state -> Conditions.Waiting? in
      guard !state.isEvaluating, !state.waiting.isEmpty else { return nil }
      state.isEvaluating = true
      return state.waiting.removeFirst()
    }
    guard let first else { return }
    Self.deliver(
      first.places, of: first.delivery, to: conditions, limit: SearchLimit(conditions.query.timeLimit))
    let hasMore = conditions.state.withLock { state in
      state.isEvaluating = false
      state.position = first.delivery.position
      return !state.waiting.isEmpty
    }
    if hasMore { enqueue(conditions) }
  }
}

/// A step that is being delivered.
private final class Delivery: Sendable {
  /// The number of the step.
  let number: Int
  let position: String

  /// A Boolean value that indicates whether the places before are not known.
  let isUnknown: Bool
  let places: [ChangedPlace]
  private let time: ContinuousClock.Instant

  init(_ step: ChangeHub.Step, _ number: Int) {
    self.number = number
    position = step.position
    time = step.time
    isUnknown = step.former == nil
    places =
      step.puts.compactMap { ChangedPlace($0, nil, in: step) }
      + step.removals.compactMap { ChangedPlace($0.id, $0, in: step) }
  }

  func batch(_ changes: [PointChange]) -> ChangeSubscription.Batch {
    .init(changes: changes, position: position, time: time)
  }
}

/// A place that a step has changed.
private final class ChangedPlace: Sendable {
  /// The relation of a change to conditions.
  enum Outcome {
    case none
    case change(PointChange)
    /// It is not known whether the reader has the place.
    case missing
  }

  /// The place before and after; `nil` if it did not exist, or is not known.
  let former: PlaceState?
  let next: PlaceState?
  let removal: PointRemoval?
  private let id: PointID
  private let loaded = Mutex<PointChange?>(nil)

  /// Creates the change of a place; `nil` if it existed neither before nor after.
  init?(_ id: PointID, _ removal: PointRemoval?, in step: ChangeHub.Step) {
    self.id = id
    self.removal = removal
    former = step.former.flatMap { PlaceState(id, in: $0) }
    next = removal == nil ? PlaceState(id, in: step.next) : nil
    if next == nil, former == nil, step.former != nil { return nil }
  }

  /// The change with the place after, which all readers share; `nil` if it does not exist.
  var put: PointChange? {
    guard let next else { return nil }
    return loaded.withLock { loaded in
      let change = loaded ?? .put(next.point)
      loaded = change
      return change
    }
  }

  /// Returns what the change is for the readers of conditions.
  ///
  /// - Parameters:
  ///   - restriction: the condition of the readers' restriction; `nil` if they have none.
  ///   - isUnknown: a Boolean value that indicates whether the places before are not known.
  func outcome(for filter: QueryFilter, _ restriction: QueryFilter?, isUnknown: Bool) -> Outcome {
    if let next, next.matches(filter), let put { return .change(put) }
    guard isUnknown || former?.matches(filter) == true else { return .none }
    let version = next?.version ?? 0
    if let restriction, next?.matches(restriction) != true {
      // The state before is unknown, so a removal could reveal a place that the reader never saw.
      if isUnknown { return .missing }
      return .change(.removal(removal ?? PointRemoval(id: id, version: version)))
    }
    return .change(removal.map { .removal($0) } ?? .outside(id, version: version))
  }
}

/// A place in a snapshot.
private struct PlaceState: Sendable {
  private let segment: Segment
  private let slot: Int

  init?(_ id: PointID, in snapshot: PointSnapshot) {
    guard let location = snapshot.location(of: id) else { return nil }
    segment = snapshot.parts[Int(location.part)].segment
    slot = Int(location.slot)
  }

  var point: PointOfInterest { segment.point(at: slot) }
  var version: Int64 { segment.records.stamp(at: slot).version }

  var keys: PlaceKeys {
    let category = segment.records.category(at: slot)
    return PlaceKeys(
      coordinate: segment.columns.coordinates[slot],
      category: category == PointRecord.none ? nil : ExactText(segment.categories.names[Int(category)]),
      source: segment.records.origin(at: slot).map { ExactText($0.source) })
  }

  func matches(_ filter: QueryFilter) -> Bool { filter.matches(slot, of: segment) }
}

extension PointQuery {
  /// The query with its conditions alone, by which subscriptions are equal.
  fileprivate var conditions: PointQuery {
    guard hasConditions else { return PointQuery() }
    var query = self
    (query.limit, query.after) = (Self.defaultLimit, nil)
    return query
  }
}
