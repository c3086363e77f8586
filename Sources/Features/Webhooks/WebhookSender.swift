import Basics
package import Logging
package import Points
import Synchronization

/// A way to send messages to endpoints.
package protocol WebhookTransport: Sendable {
  /// Returns why messages can't be sent to an address; `nil` if they can, as it is now.
  ///
  /// - Throws: ``WebhookCheckOverload``.
  func rejection(of url: String) async throws(WebhookCheckOverload) -> String?

  /// Sends a request with a JSON body, in bounded time and memory. Redirects are not followed.
  func send(_ body: String, headers: [(name: String, value: String)], to url: String) async -> WebhookOutcome
}

/// The error of a check of an address beside which too many others are in progress.
package struct WebhookCheckOverload: Error {
  package init() {}
}

/// The outcome of a request.
package enum WebhookOutcome: Sendable {
  case response(status: Int, retryAfterSeconds: Int?)
  /// There was no response, for a reason that is for operators.
  case failure(reason: String)
}

/// Sends the changes of places to webhooks.
///
/// Each webhook has one message at a time, which is stored before its first attempt; so each change is sent at least
/// once and in order, whenever the program ends, and a repeated message has the same id and body. The instance that has
/// the lease of the store sends.
package final class WebhookSender: Sendable {
  /// The numbers of a sender.
  package struct Counts: Sendable {
    /// The number of messages that were received.
    package var sent = 0
    /// The number of attempts that failed.
    package var failed = 0
    /// The number of disabled webhooks; 0 without the lease.
    package var disabled = 0
    /// The age of the oldest message of an enabled webhook that was not received yet, in seconds; 0 without the lease.
    package var lagSeconds = 0.0
  }

  /// The time between two looks for changes.
  private static let interval = Duration.seconds(1)

  /// The time between two attempts to acquire the lease, while another sender has it or there is no webhook.
  private static let standbyInterval = Duration.seconds(5)

  /// The time for which a lease is acquired. It is extended after half of it.
  static let leaseDuration = Duration.seconds(30)

  /// The maximum number of changes of a message.
  private static let maximumChanges = 100

  /// The number of changes of the first page that is read for a webhook. Later ones have what fits into a message, and
  /// ``pageBytes``.
  private static let firstPageChanges = 25

  /// The number of bytes of names and tags that a page has about, but for one of a longer place.
  private static let pageBytes = 128 * 1024

  /// The maximum number of pages that are read at a time, so that reads of others do not wait for all webhooks.
  private static let maximumReads = 2

  /// The maximum number of messages of a webhook in a row, before it is looked at again.
  private static let maximumMessages = 1000

  /// The time after which the position of a webhook is stored that has nothing to send, so that it does not expire, and
  /// the next sender does not begin far back.
  private static let bookmarkInterval = Duration.seconds(300)

  /// The time to wait until the changes of a message were sent to subscriptions.
  private static let deliveryTimeout = Duration.seconds(10)

  package let store: WebhookRecords
  package let changes: any PointFeed
  private let sources: [MessageSource]
  package let transport: any WebhookTransport
  package let clock: any WallClock
  private let conditions: @Sendable (String) async throws -> (query: PointQuery, areaMark: String?)
  private let placeURL: @Sendable (PointID) -> String
  private let jitter: @Sendable () -> Double
  private let logger: Logger
  private let owner = Int64.random(in: 1 ... .max)
  private let state = Mutex(State())

  private struct State {
    var counts = Counts()
    var leaseExpiry: Timestamp?
    /// The webhooks that messages are being sent to.
    var busy: Set<PointID> = []
    /// The positions up to which revisions of webhooks have nothing to send.
    var progress: [PointID: (revision: Int64, position: String)] = [:]
    var watches: [PointID: Watch] = [:]
    /// The number of pages that are being read.
    var readCount = 0
    /// The reads that wait for another one to end, in their order.
    var waitingReads: [CheckedContinuation<Void, Never>] = []
  }

  /// The places that have matched a webhook's filter, before a change or after it, since a position. So another place
  /// that does not match now has not matched since then either.
  private struct Watch {
    /// The maximum number of ids.
    static let capacity = 10_000

    let filter: String

    /// The mark of the area that the filter names; `nil` if it names none.
    let areaMark: ExactText?
    let subscription: ChangeSubscription

    /// The position; `nil` until it is known.
    var start: String?

    /// The ids of the places, with the positions of their changes.
    var matched: [(id: PointID, position: String)] = []
  }

  /// Creates a sender, which has no effect until ``run()``.
  ///
  /// - Parameters:
  ///   - sources: what webhooks may follow besides changes of places.
  ///   - conditions: returns the conditions of a webhook's filter, and a mark of the area that it names, which changes
  ///     with it.
  ///   - placeURL: returns the address of a place.
  ///   - jitter: returns a random number from 0 to 1.
  package init(
    store: WebhookRecords, changes: any PointFeed,
    sources: [MessageSource] = [],
    transport: any WebhookTransport,
    conditions: @escaping @Sendable (String) async throws -> (query: PointQuery, areaMark: String?),
    placeURL: @escaping @Sendable (PointID) -> String,
    clock: any WallClock = SystemClock(), jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    logger: Logger
  ) {
    self.store = store
    self.changes = changes
    self.sources = sources
    self.transport = transport
    self.conditions = conditions
    self.placeURL = placeURL
    self.clock = clock
    self.jitter = jitter
    self.logger = logger
  }

  /// The numbers so far.
  package var counts: Counts { state.withLock { $0.counts } }

  /// Sends until the task is cancelled. A request in progress is cancelled then too, and repeated by the next sender.
  package func run() async {
    await withDiscardingTaskGroup { group in
      while !Task.isCancelled {
        for webhook in await dueWebhooks() where begin(webhook.id) {
          group.addTask { [self] in
            await send(to: webhook)
            end(webhook.id)
          }
        }
        let isSender = state.withLock { $0.leaseExpiry != nil }
        try? await Task.sleep(for: isSender ? Self.interval : Self.standbyInterval)
      }
    }
    await Task { await releaseLease() }.value
  }

  /// Sends what is due to all webhooks, and returns when that is done.
  func runOnce() async {
    let webhooks = await dueWebhooks()
    await withDiscardingTaskGroup { group in
      for webhook in webhooks { group.addTask { [self] in await send(to: webhook) } }
    }
  }

  private func begin(_ id: PointID) -> Bool { state.withLock { $0.busy.insert(id).inserted } }

  private func end(_ id: PointID) { _ = state.withLock { $0.busy.remove(id) } }

  // MARK: The lease

  /// Acquires or extends the lease, if that is due.
  private func hasLease(at now: Timestamp) async throws(PointStoreError) -> Bool {
    let extensionTime = now.adding(Self.leaseDuration / 2)
    if state.withLock({ $0.leaseExpiry.map { extensionTime < $0 } ?? false }) { return true }
    let expiry = now.adding(Self.leaseDuration)
    let isAcquired = try await store.acquireLease(owner: owner, at: now, until: expiry)
    state.withLock { state in
      state.leaseExpiry = isAcquired ? expiry : nil
      if !isAcquired { (state.counts.disabled, state.counts.lagSeconds) = (0, 0) }
    }
    return isAcquired
  }

  private func releaseLease() async {
    guard state.withLock({ $0.leaseExpiry != nil }) else { return }
    let now = clock.now()
    // Otherwise it expires.
    _ = try? await store.acquireLease(owner: owner, at: now, until: now)
  }

  // MARK: Sending

  /// Returns the webhooks that have a message to send now; none if another sender has the lease, or the store is
  /// unavailable.
  private func dueWebhooks() async -> [Webhook] {
    do throws(PointStoreError) {
      let now = clock.now()
      guard try await hasLease(at: now) else {
        await watch([])
        return []
      }
      let webhooks = try await store.webhooks(id: nil)
      note(webhooks, at: now)
      let enabled = webhooks.filter { $0.disabledReason == nil }
      await watch(enabled)
      guard !enabled.isEmpty else { return [] }
      let present = try await changes.presentPosition()
      noteWatches(since: present)
      var summaries: [(source: MessageSource, summary: RecordSummary)] = []
      for source in sources where enabled.contains(where: { $0.follows(source) }) {
        summaries.append((source, try await source.summary(now)))
      }
      var due: [Webhook] = []
      for webhook in enabled {
        if let pending = webhook.pending {
          if pending.nextAttemptAt <= now { due.append(webhook) }
        } else if !changes.includes(present, in: start(of: webhook)) {
          due.append(webhook)
        } else if summaries.contains(where: { webhook.isBehind($0.summary, of: $0.source) }) {
          due.append(webhook)
        } else if webhook.areaMark != nil, let (_, mark) = try await conditions(of: webhook), isNew(mark, for: webhook)
        {
          due.append(webhook)
        }
      }
      return due
    } catch {
      log(error)
      return []
    }
  }

  private func note(_ webhooks: [Webhook], at now: Timestamp) {
    let ages = webhooks.filter { $0.disabledReason == nil }.compactMap(\.pending).map { message in
      Double(now.microsecondsSinceEpoch - message.createdAt.microsecondsSinceEpoch) / 1_000_000
    }
    let disabled = webhooks.count { $0.disabledReason != nil }
    state.withLock { ($0.counts.disabled, $0.counts.lagSeconds) = (disabled, max(0, ages.max() ?? 0)) }
  }

  /// Sends messages until there is no change, or one fails.
  private func send(to webhook: Webhook) async {
    do throws(PointStoreError) {
      var webhook = webhook
      var pageSize = Self.firstPageChanges
      for _ in 0..<Self.maximumMessages {
        if webhook.pending == nil {
          guard let prepared = try await prepareMessage(for: webhook, pageSize: &pageSize) else { return }
          webhook = prepared
        }
        guard let message = webhook.pending, webhook.disabledReason == nil, message.nextAttemptAt <= clock.now() else {
          return
        }
        let delivery = await attempt(message, to: webhook)
        // A request that was cut short says nothing about the endpoint.
        guard !Task.isCancelled else { return }
        guard let updated = try await note(delivery, of: webhook), delivery.isSuccess else { return }
        webhook = updated
      }
    } catch {
      log(error)
    }
  }

  private func attempt(_ message: WebhookMessage, to webhook: Webhook) async -> WebhookDelivery {
    let (time, start) = (clock.now(), ContinuousClock.now)
    let outcome = await transport.send(
      message.body, headers: webhook.secrets.headers(of: message, at: time), to: webhook.url)
    return WebhookDelivery(
      messageID: message.id, time: time, milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1)), outcome)
  }

  private func note(_ delivery: WebhookDelivery, of webhook: Webhook) async throws(PointStoreError) -> Webhook? {
    state.withLock { state in
      if delivery.isSuccess { state.counts.sent += 1 } else { state.counts.failed += 1 }
    }
    let jitter = jitter()
    let updated = try await store.update(webhook.id) { webhook in
      guard let pending = webhook.pending, pending.id.utf8.elementsEqual(delivery.messageID.utf8) else { return false }
      webhook.note(delivery, jitter: jitter)
      return true
    }
    if let updated, let reason = updated.disabledReason { logDisabled(updated, because: reason) }
    return updated
  }

  /// Sends a message without changes, once.
  package func sendTest(to webhook: Webhook) async -> WebhookDelivery {
    let body = WebhookBody(type: "webhook.test", at: clock.now())
    return await attempt(message(body, position: webhook.position), to: webhook)
  }

  // MARK: Messages

  /// Stores the next message of a webhook.
  ///
  /// - Parameter pageSize: the maximum number of changes of the next page, by the length of those before.
  /// - Returns: the webhook with the message; `nil` if there are no changes, or others have changed the webhook.
  private func prepareMessage(
    for webhook: Webhook, pageSize: inout Int
  ) async throws(PointStoreError) -> Webhook? {
    var webhook = webhook
    guard let (conditions, mark) = try await conditions(of: webhook) else { return nil }
    if isNew(mark, for: webhook) {
      webhook.prepare(message(WebhookBody(type: "places.reset", at: clock.now()), position: webhook.position))
    }
    webhook.note(areaMark: mark)
    for source in sources where webhook.pending == nil && webhook.follows(source) {
      let summary = try await source.summary(clock.now())
      guard webhook.isBehind(summary, of: source) else { continue }
      let body = WebhookBody(type: source.messageType, stating: (source.countMember, summary.count), at: clock.now())
      webhook.prepare(message(body, position: webhook.position))
      webhook.note(summary, of: source)
    }
    if webhook.pending != nil {
      guard try await store.replace(webhook) else { return nil }
      webhook.revision += 1
      return webhook
    }
    // The message has the changes from one position to the other.
    var start = start(of: webhook)
    var end = start
    var body = WebhookBody(at: clock.now())
    var ids: Set<PointID> = []
    var readCount = 0
    var deadline = ContinuousClock.now + Self.deliveryTimeout
    while readCount < Self.maximumChanges {
      var limit = min(pageSize, Self.maximumChanges - readCount)
      if let count = body.estimatedRest(ofChangesLike: readCount) {
        if count == 0 { break }
        limit = min(limit, count)
      }
      let page: ChangePage
      do throws(ChangeReadError) {
        page = try await self.page(after: end, limit: limit)
      } catch {
        if case .store(let error) = error { throw error }
        if body.count > 0 { break }
        try await disable(
          webhook, because: "the changes since its position are not known any more; replay it from another position")
        return nil
      }
      let found: [PointChange]
      do throws(PointStoreError) {
        found = try changes.changes(page.changes, matching: conditions)
      } catch .filterTimeout where limit > 1 {
        pageSize = limit / 2
        continue
      } catch .filterTimeout {
        if body.count > 0 { break }
        try await disable(webhook, because: "its filter takes too long")
        return nil
      }
      let relevant = await relevant(found, of: webhook, after: start, upTo: page.position, until: deadline)
      // A place that has changed again since an earlier page comes in the next message.
      guard ids.isDisjoint(with: relevant.map(\.id)) else { break }
      var next = body
      guard let count = next.append(relevant, position: page.position, placeURL: placeURL) else { break }
      if count < relevant.count {
        // A position is that after all changes of a page: a shorter page is read, whose changes fit.
        guard count > 0, let fitting = found.firstIndex(where: { $0.id == relevant[count].id }) else { break }
        pageSize = fitting
        continue
      }
      (body, end) = (next, page.position)
      ids.formUnion(relevant.map(\.id))
      readCount += page.changes.count
      pageSize = Self.size(ofPageAfter: page, limit: limit)
      if body.count > 0 {
        if page.hasMore { continue } else { break }
      }
      if webhook.positionTime.adding(Self.bookmarkInterval) <= clock.now() {
        webhook.move(to: end, at: clock.now())
        guard try await store.replace(webhook) else { return nil }
        webhook.revision += 1
      }
      note(end, of: webhook, after: start)
      if !page.hasMore { return nil }
      (start, body, readCount) = (end, WebhookBody(at: clock.now()), 0)
      deadline = .now + Self.deliveryTimeout
    }
    // The next message takes about as many.
    pageSize = min(pageSize, readCount)
    webhook.prepare(message(body, position: end))
    guard try await store.replace(webhook) else { return nil }
    webhook.revision += 1
    note(end, of: webhook, after: start)
    return webhook
  }

  /// Returns the maximum number of changes of the page after another one: up to twice as many, unless they are long.
  private static func size(ofPageAfter page: ChangePage, limit: Int) -> Int {
    let fitting = pageBytes * page.changes.count / max(1, page.changes.textBytes)
    return min(2 * limit, maximumChanges, page.changes.isEmpty ? .max : max(1, fitting))
  }

  /// Returns a page of changes, once fewer than ``maximumReads`` are being read.
  private func page(after position: String, limit: Int) async throws(ChangeReadError) -> ChangePage {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        let isFree = state.readCount < Self.maximumReads
        if isFree { state.readCount += 1 } else { state.waitingReads.append(continuation) }
        return isFree
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
        if !state.waitingReads.isEmpty { return state.waitingReads.removeFirst() }
        state.readCount -= 1
        return nil
      }
      next?.resume()
    }
    return try await changes.page(after: position, limit: limit)
  }

  /// Returns the position up to which there is nothing more to send.
  private func start(of webhook: Webhook) -> String {
    state.withLock { state in
      guard let progress = state.progress[webhook.id], progress.revision == webhook.revision else {
        return webhook.position
      }
      return progress.position
    }
  }

  /// Notes that a webhook has everything up to a position, or a message with it.
  ///
  /// - Parameter start: the position after which the changes were read.
  private func note(_ position: String, of webhook: Webhook, after start: String) {
    state.withLock { state in
      state.progress[webhook.id] = webhook.pending == nil ? (webhook.revision, position) : nil
      state.watches[webhook.id]?.matched.removeAll { changes.includes($0.position, in: position) }
      // A webhook that is behind its watch reaches the start of it first.
      if let first = state.watches[webhook.id]?.start,
        isKnown(since: first, after: start) || changes.includes(first, in: position)
      {
        state.watches[webhook.id]?.start = position
      }
    }
  }

  // MARK: Filters

  /// Returns a Boolean value that indicates whether what has matched a filter since a position is known for all changes
  /// after another one. Within the changes of a version, a position does not include others.
  private func isKnown(since first: String, after start: String) -> Bool {
    first.utf8.elementsEqual(start.utf8) || changes.includes(first, in: start)
  }

  /// Subscribes to the changes that concern the filters of webhooks, and to no others.
  private func watch(_ webhooks: [Webhook]) async {
    let former = state.withLock { $0.watches }
    var watches: [PointID: Watch] = [:]
    for webhook in webhooks {
      guard let filter = webhook.filter else { continue }
      let watch = former[webhook.id].flatMap { $0.filter.utf8.elementsEqual(filter.utf8) ? $0 : nil }
      if let watch, watch.areaMark == nil {
        watches[webhook.id] = watch
      } else if let (query, mark) = try? await conditions(filter), query.hasConditions {
        let areaMark = mark.map { ExactText($0) }
        watches[webhook.id] =
          watch.flatMap { $0.areaMark == areaMark ? $0 : nil }
          ?? Watch(filter: filter, areaMark: areaMark, subscription: changes.subscribe(matching: query))
      }
    }
    let ids = Set(webhooks.map(\.id))
    state.withLock { state in
      // Messages that were made meanwhile have changed or ended those that stay.
      for (id, watch) in watches where watch.subscription === former[id]?.subscription {
        watches[id] = state.watches[id]
      }
      state.watches = watches
      state.progress = state.progress.filter { ids.contains($0.key) }
    }
  }

  /// Notes the position from which on new subscriptions have all changes.
  private func noteWatches(since position: String) {
    state.withLock { state in
      for id in state.watches.keys where state.watches[id]?.start == nil { state.watches[id]?.start = position }
    }
  }

  /// Returns changes without places that are known not to have matched the filter since a position, and do not match
  /// or do not exist now.
  ///
  /// - Parameter deadline: the time until which this waits for what is known.
  private func relevant(
    _ found: [PointChange], of webhook: Webhook, after start: String, upTo end: String,
    until deadline: ContinuousClock.Instant
  ) async -> [PointChange] {
    guard !found.allSatisfy(\.isPut),
      let matched = await matched(webhook, after: start, upTo: end, until: deadline)
    else { return found }
    return found.filter { $0.isPut || matched.contains($0.id) }
  }

  /// Returns the ids of the places that have matched the filter of a webhook between two positions, and of some others;
  /// `nil` if they are not known.
  private func matched(
    _ webhook: Webhook, after start: String, upTo end: String, until deadline: ContinuousClock.Instant
  ) async -> Set<PointID>? {
    guard let watch = state.withLock({ $0.watches[webhook.id] }), let first = watch.start,
      watch.filter.utf8.elementsEqual((webhook.filter ?? "").utf8),
      isKnown(since: first, after: start)
    else { return nil }
    while watch.subscription.deliveredPosition.map({ !changes.includes(end, in: $0) }) ?? true {
      guard ContinuousClock.now < deadline, !Task.isCancelled else { return nil }
      try? await Task.sleep(for: .milliseconds(20))
    }
    var new: [(id: PointID, position: String)] = []
    switch await watch.subscription.next(until: .now) {
    case .batches(let batches): new = batches.flatMap { batch in batch.changes.map { ($0.id, batch.position) } }
    case .timedOut: break
    case .interrupted, .closing:
      // Some are missing: the next round subscribes again.
      state.withLock { $0.watches[webhook.id] = nil }
      return nil
    }
    return state.withLock { state in
      state.watches[webhook.id]?.matched += new
      guard let all = state.watches[webhook.id]?.matched, all.count <= Watch.capacity else {
        state.watches[webhook.id] = nil
        return nil
      }
      return Set(all.map(\.id))
    }
  }

  private func message(_ body: WebhookBody, position: String) -> WebhookMessage {
    var generator = SystemRandomNumberGenerator()
    return WebhookMessage(
      id: "msg_\(PointID(at: body.time, using: &generator))", body: body.text(position: position), position: position,
      changeCount: body.count, createdAt: body.time)
  }

  /// Returns the conditions of a webhook; `nil` if its filter is not valid any more, after it was disabled.
  private func conditions(
    of webhook: Webhook
  ) async throws(PointStoreError) -> (query: PointQuery, areaMark: String?)? {
    guard let filter = webhook.filter else { return (PointQuery(), nil) }
    do {
      return try await conditions(filter)
    } catch {
      if let error = error as? PointStoreError { throw error }
      try await disable(webhook, because: "its filter is not valid with the present settings and areas")
      return nil
    }
  }

  /// Returns a Boolean value that indicates whether the area of a webhook's filter has changed since its last message.
  private func isNew(_ mark: String?, for webhook: Webhook) -> Bool {
    guard let former = webhook.areaMark, let mark else { return false }
    return !mark.utf8.elementsEqual(former.utf8)
  }

  private func disable(_ webhook: Webhook, because reason: String) async throws(PointStoreError) {
    var webhook = webhook
    webhook.disable(because: reason)
    if try await store.replace(webhook) { logDisabled(webhook, because: reason) }
  }

  private func logDisabled(_ webhook: Webhook, because reason: String) {
    logger.warning("a webhook was disabled", metadata: ["id": "\(webhook.id)", "reason": "\(reason)"])
  }

  private func log(_ error: PointStoreError) {
    // Outages are logged by the store.
    let level: Logger.Level = if case .unexpected = error { .error } else { .debug }
    logger.log(level: level, "webhooks could not be sent", metadata: ["error": "\(error)"])
  }
}

extension PointChange {
  fileprivate var isPut: Bool { if case .put = self { true } else { false } }
}
