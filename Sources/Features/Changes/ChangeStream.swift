import APIDescription
import AccessControl
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import Synchronization

/// The streams of changes of a server: their limit and their counts.
package final class ChangeStreams: Sendable {
  /// The numbers of a server's streams.
  package struct Counts: Hashable, Sendable {
    /// The number of open streams.
    package var open = 0
    /// The number of events with a change.
    package var events = 0
    /// The number of bytes of all events.
    package var bytes = 0
    /// The number of times that a reader was slower than the changes, and was sent to the log.
    package var interruptions = 0
    /// The number of positions that were not known any more.
    package var resets = 0
    /// The sum of the times from changes to their events, in seconds.
    package var lagSeconds = 0.0
  }

  /// The streams and waits of a client.
  private struct Use {
    var streams = 0
    var waits = 0
    /// The number of bytes of the conditions of streams, and of requests that wait, without named areas.
    var conditionBytes = 0
    /// The named areas, each with the number of streams and requests that use it.
    var areas: [ChangeConditions.NamedArea: Int] = [:]

    var bytes: Int { areas.keys.reduce(conditionBytes) { $0 + $1.bytes } }
    var isEmpty: Bool { streams == 0 && waits == 0 && conditionBytes == 0 && areas.isEmpty }

    mutating func add(_ conditions: ChangeConditions, isStream: Bool) {
      if isStream { streams += 1 } else { waits += 1 }
      conditionBytes += conditions.bytes
      if let area = conditions.area { areas[area, default: 0] += 1 }
    }

    mutating func remove(_ conditions: ChangeConditions, isStream: Bool) {
      if isStream { streams -= 1 } else { waits -= 1 }
      conditionBytes -= conditions.bytes
      if let area = conditions.area, let count = areas[area] { areas[area] = count > 1 ? count - 1 : nil }
    }
  }

  private struct State {
    var counts = Counts()
    /// All clients together: a named area is in memory once.
    var all = Use()
    /// The streams and waits of each client that has some.
    var open: [RequestSender: Use] = [:]
  }

  private let limit: Int
  private let conditionLimit: Int
  private let state = Mutex(State())
  fileprivate let texts = ChangeTexts()

  /// The time after which a stream has a comment or a position, and its sender's access is checked again.
  fileprivate let interval: Duration

  /// Creates the streams of a server.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of streams.
  ///   - conditionBytes: the maximum number of bytes of the conditions of streams and of requests that wait.
  ///   - interval: the time after which a stream has a comment or a position, and its sender's access is checked again.
  package init(limit: Int = 10_000, conditionBytes: Int = 64 << 20, interval: Duration = .seconds(15)) {
    self.limit = limit
    conditionLimit = conditionBytes
    self.interval = interval
  }

  /// The numbers so far.
  package var counts: Counts {
    state.withLock { state in
      var counts = state.counts
      counts.open = state.all.streams
      return counts
    }
  }

  /// The number of requests that wait.
  var waitCount: Int { state.withLock { $0.all.waits } }

  fileprivate func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0.counts) } }

  /// Counts a stream of a client with its conditions until the result is released.
  ///
  /// A client may have as many streams as are free beside them. So one alone has half of them at most, and there is
  /// always room for another one. The memory of conditions is divided in the same way.
  ///
  /// - Throws: `Problem` 503 if there are too many.
  fileprivate func begin(for client: RequestSender, _ conditions: ChangeConditions) throws(Problem) -> Counted {
    try begin(conditions, isStream: true, of: client)
  }

  /// Counts a client's request that waits, with its conditions, until the result is released. As many may wait as there
  /// may be streams, divided in the same way.
  ///
  /// - Throws: `Problem` 503 if there are too many.
  func beginWait(for client: RequestSender, _ conditions: ChangeConditions) throws(Problem) -> Counted {
    try begin(conditions, isStream: false, of: client)
  }

  private func begin(
    _ conditions: ChangeConditions, isStream: Bool, of client: RequestSender
  ) throws(Problem) -> Counted {
    let excess: String? = state.withLock { state in
      var own = state.open[client] ?? Use()
      if isStream, own.streams >= limit - state.all.streams { return "too many streams of changes are open" }
      if !isStream, own.waits >= limit - state.all.waits { return "too many requests wait for changes" }
      let before = own.bytes
      own.add(conditions, isStream: isStream)
      // An area that others use too takes no further memory.
      let shared = conditions.area.flatMap { state.all.areas[$0] == nil ? nil : $0.bytes } ?? 0
      if own.bytes > before, own.bytes > conditionLimit - (state.all.bytes - shared) {
        return "the conditions of requests for changes take too much memory"
      }
      state.all.add(conditions, isStream: isStream)
      if !own.isEmpty { state.open[client] = own }
      return nil
    }
    if let excess {
      throw Problem(
        .serviceUnavailable, code: ProblemCode.overloaded.rawValue, title: "Overloaded",
        detail: "\(excess), of this client or of all clients",
        headers: ["retry-after": "\(Int.random(in: ChangeEvents.retrySeconds))"])
    }
    return Counted(self, client, conditions, isStream: isStream)
  }

  private func end(_ conditions: ChangeConditions, isStream: Bool, of client: RequestSender) {
    state.withLock { state in
      state.all.remove(conditions, isStream: isStream)
      guard var own = state.open[client] else { return }
      own.remove(conditions, isStream: isStream)
      state.open[client] = own.isEmpty ? nil : own
    }
  }

  /// A stream or a request that waits, which is counted.
  final class Counted: Sendable {
    let streams: ChangeStreams
    private let client: RequestSender
    private let conditions: ChangeConditions
    private let isStream: Bool

    fileprivate init(
      _ streams: ChangeStreams, _ client: RequestSender, _ conditions: ChangeConditions, isStream: Bool
    ) {
      (self.streams, self.client, self.conditions, self.isStream) = (streams, client, conditions, isStream)
    }

    deinit { streams.end(conditions, isStream: isStream, of: client) }
  }
}

/// The memory of the conditions of a request for changes.
struct ChangeConditions: Sendable {
  /// A named area, which is in memory once however many requests use it.
  struct NamedArea: Hashable, Sendable {
    let id: PointID
    let version: Int64
    let bytes: Int
  }

  /// The bytes that conditions take for each byte of their text: up to 17 for categories, and 10 for filters.
  private static let bytesOfText = 20

  /// The number of bytes up to which conditions are not counted: less than a stream takes besides.
  private static let uncountedBytes = 8192

  /// The estimated number of bytes without that of a named area; 0 for short conditions.
  let bytes: Int

  /// The area that `in` names; `nil` if there is none or it is small.
  let area: NamedArea?

  /// Creates the conditions of a request.
  ///
  /// - Parameters:
  ///   - text: the query of its target.
  ///   - shape: the area of `in` or `within`.
  ///   - area: the area that `in` names; `nil` if it is not given.
  init(text: Substring?, shape: GeodesicArea?, area: Area?) {
    let shapeBytes = shape?.byteCount ?? 0
    let isCounted = shapeBytes > Self.uncountedBytes
    let own = Self.bytesOfText * (text?.utf8.count ?? 0) + (area == nil ? shapeBytes : 0)
    bytes = own > Self.uncountedBytes ? own : 0
    self.area = isCounted ? area.map { NamedArea(id: $0.id, version: $0.version, bytes: shapeBytes) } : nil
  }
}

extension ChangesRoute {
  static let eventStream = "text/event-stream"

  /// Returns the stream of events from a position, or from the present one.
  ///
  /// The first page is read before the head is sent, so that the errors of the request are responses. A position that
  /// is not known any more is an event: a browser's `EventSource` gives up after any status but 200.
  func stream(
    _ changes: any PointFeed, _ arguments: ChangesArguments, to request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    let counted = try streams.begin(for: request.sender, arguments.conditions)
    let subscription = changes.subscribe(matching: arguments.query, for: ChangeReader(request))
    let stream = ChangeStream(self, changes, arguments, request, subscription, counted)
    try await stream.open(arguments)
    return HTTPResponse(
      headers: [
        "content-type": Self.eventStream, "cache-control": "no-store", "vary": "accept",
        // nginx buffers responses otherwise.
        "x-accel-buffering": "no",
      ],
      body: .live { writer in try await stream.run(to: writer) })
  }
}

/// The texts of the changes of long places, each made once for all streams that send it.
private final class ChangeTexts: Sendable {
  /// A text, which is kept and counted as long as a stream sends it.
  final class Text: Sendable {
    let bytes: ByteBuffer
    private let reservation: MemoryReservation?
    private let onEnd: @Sendable () -> Void

    init(_ bytes: ByteBuffer, _ reservation: MemoryReservation?, onEnd: @escaping @Sendable () -> Void) {
      (self.bytes, self.reservation, self.onEnd) = (bytes, reservation, onEnd)
    }

    deinit { onEnd() }
  }

  private struct Key: Hashable {
    let id: PointID
    let version: Int64
  }

  private struct WeakText {
    weak var value: Text?
  }

  private enum Entry {
    case making(Task<Result<Text, Problem>, Never>)
    case made(WeakText)
  }

  /// The number of bytes of a name and tags up to which each stream writes a change by itself.
  static let shortBytes = 4 * 1024

  private let entries = Mutex<[Key: Entry]>([:])

  /// Returns the text of the change to a place, which is made beside the event loop unless another stream has it.
  ///
  /// - Parameter reservation: one of memory for the text; `nil` to wait for one.
  /// - Throws: `Problem` 503 if there is no memory.
  func text(
    of point: PointOfInterest, _ reservation: MemoryReservation?, for request: HTTPRequest
  ) async throws(Problem) -> Text {
    let key = Key(id: point.id, version: point.version)
    let (made, making) = entries.withLock { entries -> (Text?, Task<Result<Text, Problem>, Never>?) in
      switch entries[key] {
      case .made(let text): if let text = text.value { return (text, nil) }
      case .making(let task): return (nil, task)
      case nil: break
      }
      let task = Task(executorPreference: request.transferExecutor) {
        await self.make(point, key, reservation, for: request)
      }
      entries[key] = .making(task)
      return (nil, task)
    }
    if let made { return made }
    guard let making else { throw .internal }
    return try await making.value.get()
  }

  private func make(
    _ point: PointOfInterest, _ key: Key, _ reservation: MemoryReservation?, for request: HTTPRequest
  ) async -> Result<Text, Problem> {
    do throws(Problem) {
      let textBytes = point.draft.textBytes
      var held = reservation
      // The capacity of a buffer is a power of two.
      if held == nil { held = try await request.reserveMemory(bytes: 2 * textBytes, isShared: true) }
      var bytes = ByteBuffer()
      bytes.reserveCapacity(textBytes)
      var json = JSONWriter(bytes)
      bytes = ByteBuffer()
      ChangeJSON.write(.put(point), to: &json)
      let text = Text(json.sink, held) { [weak self] in self?.remove(key) }
      entries.withLock { $0[key] = .made(WeakText(value: text)) }
      return .success(text)
    } catch {
      entries.withLock { $0[key] = nil }
      return .failure(error)
    }
  }

  private func remove(_ key: Key) {
    entries.withLock { entries in
      if case .made(let text) = entries[key], text.value == nil { entries[key] = nil }
    }
  }
}

/// A stream of changes: it reads the log up to the present, and then has what the subscription is sent. A reader that
/// is slower than the changes is sent to the log again.
///
/// While its client takes nothing, a stream holds at most a piece of its own, texts of long places that it shares, and
/// changes that it shares with all subscriptions.
private final class ChangeStream: Sendable {
  /// Events that are written together.
  private struct Events {
    /// The texts of long places, each with the stream's own text before it.
    var shared: [(before: ByteBuffer, text: ChangeTexts.Text)] = []
    /// The text after these.
    var text = ByteBuffer()
    var count = 0
    var lagSeconds = 0.0

    /// A Boolean value that indicates whether they are to be written before more are added.
    var isFull: Bool { !shared.isEmpty || text.readableBytes >= ChangesRoute.shortBytes }
  }

  /// The events at the beginning of a stream, and the position that they lead to.
  private struct Start {
    var events = Events()
    var position: String
    /// A Boolean value that indicates whether there are more changes in the log.
    var hasMore = false
  }

  /// The maximum number of changes of a page of the log.
  private static let maximumPage = 256

  /// The number of bytes of a long place that are written at once. The connection takes a long piece without a copy.
  private static let pieceBytes = 32 * 1024

  /// The time after which the log is read again after a failure.
  private static let retryInterval = Duration.seconds(2)

  private let route: ChangesRoute
  private let changes: any PointFeed
  private let limit: Int

  /// The area that the changes are in, as it was at the start; `nil` if there is none.
  private let area: (id: PointID, version: Int64, tag: String)?

  /// The mark of positions; `nil` if they have none.
  private let mark: String?
  private let request: HTTPRequest
  private let subscription: ChangeSubscription
  private let counted: ChangeStreams.Counted
  private let start = Mutex<Start?>(nil)

  private var streams: ChangeStreams { counted.streams }

  init(
    _ route: ChangesRoute, _ changes: any PointFeed, _ arguments: ChangesArguments, _ request: HTTPRequest,
    _ subscription: ChangeSubscription, _ counted: ChangeStreams.Counted
  ) {
    self.route = route
    self.changes = changes
    limit = arguments.limit
    area = arguments.area.map { ($0.id, $0.version, $0.tag) }
    mark = arguments.ownMark
    self.request = request
    self.subscription = subscription
    self.counted = counted
  }

  // Each idle stream has the frame of `run`. So neither it nor what it calls is inlined.

  /// Reads the events at the beginning.
  ///
  /// - Throws: `Problem` of the request.
  func open(_ arguments: ChangesArguments) async throws(Problem) {
    var start = try await beginning(arguments)
    var text = ByteBuffer()
    ChangeEvents.writeRetry(to: &text)
    if start.events.shared.isEmpty {
      text.writeBuffer(&start.events.text)
      start.events.text = text
    } else {
      text.writeBuffer(&start.events.shared[0].before)
      start.events.shared[0].before = text
    }
    self.start.withLock { $0 = start }
  }

  private func beginning(_ arguments: ChangesArguments) async throws(Problem) -> Start {
    if let since = arguments.since {
      do {
        try arguments.checkMark()
        let page = try await eventsOfPage(after: since, limit: min(limit, Self.maximumPage))
        return Start(events: page.events, position: page.position, hasMore: page.hasMore)
      } catch {
        guard error.code == ProblemCode.positionExpired.rawValue || arguments.isContinued && error.status == .badRequest
        else { throw error }
        var start = Start(position: try await presentPosition())
        streams.count { $0.resets += 1 }
        ChangeEvents.writeReset(reason: error.detail ?? "", position: marking(start.position), to: &start.events.text)
        return start
      }
    }
    var start = Start(position: try await presentPosition())
    ChangeEvents.writePosition(marking(start.position), to: &start.events.text)
    return start
  }

  private func presentPosition() async throws(Problem) -> String {
    try await request.result(of: await changes.presentPosition())
  }

  /// Writes events until the client has gone, its access has ended, or the server shuts down.
  @inline(never)
  func run(to writer: HTTPResponseWriter) async throws {
    var position = try await begin(writer)
    var nextCheck = ContinuousClock.now + streams.interval
    while true {
      if .now >= nextCheck {
        nextCheck = .now + streams.interval
        guard try await checkAccess(writer), try await checkAreas(writer) else { return }
        guard try await writeBookmark(&position, writer) else { return }
      }
      guard try await write(await subscription.next(until: nextCheck), &position, writer) else { return }
    }
  }

  /// Writes the events at the beginning, and returns the position after them.
  @inline(never)
  private func begin(_ writer: HTTPResponseWriter) async throws -> String {
    guard var start = start.withLock({ $0.take() }) else { throw HTTPConnectionClosed() }
    try await write(&start.events, to: writer)
    if start.hasMore { try await readLog(after: &start.position, writer) }
    return start.position
  }

  /// Writes what a wait has ended with, and returns whether the stream goes on.
  @inline(never)
  private func write(
    _ event: ChangeSubscription.Event, _ position: inout String, _ writer: HTTPResponseWriter
  ) async throws -> Bool {
    switch event {
    case .batches(let batches):
      guard try await checkAreas(writer) else { return false }
      if try await !write(batches, &position, writer) { try await readLog(after: &position, writer) }
    case .interrupted:
      streams.count { $0.interruptions += 1 }
      try await readLog(after: &position, writer)
    case .timedOut:
      // A wait that is cancelled ends at once.
      try Task.checkCancellation()
    case .closing:
      var text = ByteBuffer()
      ChangeEvents.writePosition(marking(position), to: &text)
      try await write(text, to: writer)
      return false
    }
    return true
  }

  /// Writes the events of what was not written yet, and sets the position to that of the last one.
  ///
  /// - Returns: `false` if there was no memory for a long place, so that the log must be read.
  @inline(never)
  private func write(
    _ batches: [ChangeSubscription.Batch], _ position: inout String, _ writer: HTTPResponseWriter
  ) async throws -> Bool {
    var events = Events()
    let now = ContinuousClock.now
    for batch in batches where !changes.includes(batch.position, in: position) {
      for (index, change) in batch.changes.enumerated() {
        let isLast = index == batch.changes.count - 1
        do throws(Problem) {
          try await append(change, position: isLast ? batch.position : nil, to: &events)
        } catch {
          try await write(&events, to: writer)
          try await pause(writer)
          return false
        }
        if events.isFull { try await write(&events, to: writer) }
      }
      position = batch.position
      events.lagSeconds += (now - batch.time) / .seconds(1) * Double(batch.changes.count)
    }
    try await write(&events, to: writer)
    return true
  }

  /// Appends the event of a change.
  ///
  /// - Parameters:
  ///   - position: the position that the event has; `nil` for none.
  ///   - reservation: one of memory for the text of a long place; `nil` to wait for one.
  private func append(
    _ change: PointChange, position: String?, to events: inout Events, _ reservation: MemoryReservation? = nil
  ) async throws(Problem) {
    var shared: ChangeTexts.Text?
    if case .put(let point) = change, point.draft.textBytes > ChangeTexts.shortBytes {
      shared = try await streams.texts.text(of: point, reservation, for: request)
    }
    ChangeEvents.beginChange(position: position.map(marking), to: &events.text)
    if let shared {
      events.shared.append((events.text, shared))
      events.text = ByteBuffer()
    } else {
      ChangeEvents.write(change, to: &events.text)
    }
    ChangeEvents.endChange(to: &events.text)
    events.count += 1
  }

  /// Ends the stream and returns `false` where the request would be rejected now.
  @inline(never)
  private func checkAccess(_ writer: HTTPResponseWriter) async throws -> Bool {
    let principal: Principal
    do throws(Problem) {
      principal = try await route.access.principal(of: request, for: .read)
    } catch {
      // Without the keys of tokens, it is not known.
      if error.status == .serviceUnavailable { return true }
      var text = ByteBuffer()
      ChangeEvents.writeEnd(code: error.code, detail: error.detail ?? "", to: &text)
      try await write(text, to: writer)
      return false
    }
    if principal.restriction == request.restriction { return true }
    return try await reset(reason: "the filter or the areas of the key or token have changed", nil, writer)
  }

  /// Ends the stream and returns `false` where the area of `in` or one of the restriction has changed: with a reset, after
  /// which the client connects again for the areas as they are then.
  @inline(never)
  private func checkAreas(_ writer: HTTPResponseWriter) async throws -> Bool {
    if let restriction = route.restriction,
      await !restriction.isCurrent(as: request.restriction, in: route.areas)
    {
      return try await reset(reason: "the areas of the key or token have changed", nil, writer)
    }
    // While the store is away, the area is not known to have changed.
    guard let area, let areas = try? await route.areas.areas(isCurrent: false) else { return true }
    if let present = areas[area.id] {
      if present.version == area.version { return true }
      return try await reset(
        reason: "the area has changed", Restriction.mark(route.restriction, present), writer)
    }
    var text = ByteBuffer()
    ChangeEvents.writeEnd(code: ParameterProblem.invalid.rawValue, detail: "the area was deleted", to: &text)
    try await write(text, to: writer)
    return false
  }

  /// Ends the stream with a reset and returns `false`; returns `true` while the position can't be read.
  ///
  /// - Parameter mark: the mark of the position; `nil` for none, so that the client's next stream begins with a reset.
  @inline(never)
  private func reset(reason: String, _ mark: String?, _ writer: HTTPResponseWriter) async throws -> Bool {
    guard let position = try? await changes.presentPosition() else { return mark != nil && route.restriction == nil }
    streams.count { $0.resets += 1 }
    var text = ByteBuffer()
    ChangeEvents.writeReset(reason: reason, position: PositionText.marking(position, mark), to: &text)
    try await write(text, to: writer)
    return false
  }

  private func marking(_ position: String) -> String { PositionText.marking(position, mark) }

  /// Writes what the subscription was sent, or else the position up to which it has everything, if that is later than
  /// the stream's, or a comment.
  ///
  /// - Returns: `false` if the stream ends.
  @inline(never)
  private func writeBookmark(_ position: inout String, _ writer: HTTPResponseWriter) async throws -> Bool {
    // What was sent before this is read must be written first: the position has it.
    let delivered = subscription.deliveredPosition
    let event = await subscription.next(until: .now)
    guard case .timedOut = event else { return try await write(event, &position, writer) }
    try Task.checkCancellation()
    var text = ByteBuffer()
    if let delivered, !changes.includes(delivered, in: position) {
      position = delivered
      ChangeEvents.writePosition(marking(position), to: &text)
    } else {
      ChangeEvents.writeComment(to: &text)
    }
    try await write(text, to: writer)
    return true
  }

  /// Returns the events of the next page of the log. The page itself is not held while they are written.
  @inline(never)
  private func eventsOfPage(
    after position: String, limit: Int
  ) async throws(Problem) -> (events: Events, position: String, hasMore: Bool) {
    let counted = try await route.read(
      changes, after: position, limit: limit, maximumBytes: ChangesRoute.shortBytes, subscription.query, request)
    let page = counted.page
    var events = Events()
    for (index, change) in page.changes.enumerated() {
      let isLast = index == page.changes.count - 1
      try await append(change, position: isLast ? page.position : nil, to: &events, counted.reservation)
    }
    if page.changes.isEmpty { ChangeEvents.writePosition(marking(page.position), to: &events.text) }
    return (events, page.position, page.hasMore)
  }

  /// Writes the changes of the log after a position, up to the present, and sets the position to that of everything
  /// that was written.
  @inline(never)
  private func readLog(after position: inout String, _ writer: HTTPResponseWriter) async throws {
    let maximum = min(limit, Self.maximumPage)
    var pageLimit = maximum
    while true {
      let read: Result<(events: Events, position: String, hasMore: Bool), Problem>
      do throws(Problem) {
        read = .success(try await eventsOfPage(after: position, limit: pageLimit))
      } catch {
        read = .failure(error)
      }
      switch read {
      case .success(var page):
        position = page.position
        pageLimit = min(maximum, 2 * pageLimit)
        try await write(&page.events, to: writer)
        if !page.hasMore { return }
      case .failure(let problem):
        if problem.code == ProblemCode.positionExpired.rawValue, let present = try? await changes.presentPosition() {
          streams.count { $0.resets += 1 }
          var text = ByteBuffer()
          ChangeEvents.writeReset(reason: problem.detail ?? "", position: marking(present), to: &text)
          try await write(text, to: writer)
          position = present
          return
        }
        // The conditions may take too long for so many changes.
        pageLimit = max(1, pageLimit / 2)
        try await pause(writer)
      }
    }
  }

  /// Waits where the store is away, or there is no memory or processor time. The client waits with the stream, unless
  /// it has gone.
  @inline(never)
  private func pause(_ writer: HTTPResponseWriter) async throws {
    var text = ByteBuffer()
    ChangeEvents.writeComment(to: &text)
    try await write(text, to: writer)
    try await Task.sleep(for: Self.retryInterval)
  }

  /// Writes events, and removes them.
  @inline(never)
  private func write(_ events: inout Events, to writer: HTTPResponseWriter) async throws {
    let written = events
    events = Events()
    for (before, shared) in written.shared {
      try await write(before, to: writer)
      var rest = shared.bytes
      while let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceBytes)), piece.readableBytes > 0 {
        try await write(piece, to: writer)
      }
    }
    try await write(written.text, count: written.count, lagSeconds: written.lagSeconds, to: writer)
  }

  @inline(never)
  private func write(
    _ text: ByteBuffer, count: Int = 0, lagSeconds: Double = 0, to writer: HTTPResponseWriter
  ) async throws {
    guard text.readableBytes > 0 else { return }
    try await writer.write(text)
    streams.count { counts in
      counts.events += count
      counts.bytes += text.readableBytes
      counts.lagSeconds += lagSeconds
    }
  }
}

/// Server-sent events (WHATWG HTML, section 9.2).
enum ChangeEvents {
  /// The seconds after which clients connect again, each after a time of its own, so that they do not all come at once.
  static let retrySeconds = 1...10

  /// Begins the event of a change. Of several that were made together, the last one has the position: a client that has
  /// read a part of them continues before the first.
  static func beginChange(position: String?, to text: inout ByteBuffer) {
    if let position { writeID(position, to: &text) }
    text.write("event: change\ndata: ")
  }

  /// Writes the data of a change.
  static func write(_ change: PointChange, to text: inout ByteBuffer) {
    var json = JSONWriter(text)
    text = ByteBuffer()
    ChangeJSON.write(change, to: &json)
    text = json.sink
  }

  static func endChange(to text: inout ByteBuffer) { text.write("\n\n") }

  /// Writes a position without a change.
  static func writePosition(_ position: String, to text: inout ByteBuffer) {
    write("position", position, ["position": position], to: &text)
  }

  /// Writes that changes are missing between the client's position and another one.
  static func writeReset(reason: String, position: String, to text: inout ByteBuffer) {
    write("reset", position, ["position": position, "detail": reason], to: &text)
  }

  /// Writes that the stream ends for a reason that connecting again does not change.
  static func writeEnd(code: String, detail: String, to text: inout ByteBuffer) {
    write("end", nil, ["code": code, "detail": detail], to: &text)
  }

  static func writeComment(to text: inout ByteBuffer) { text.write(":\n\n") }

  static func writeRetry(to text: inout ByteBuffer) {
    let milliseconds = Int.random(in: retrySeconds.lowerBound * 1000...retrySeconds.upperBound * 1000)
    text.write(text: "retry: \(milliseconds)\n\n")
  }

  private static func writeID(_ position: String, to text: inout ByteBuffer) {
    text.write("id: ")
    text.write(text: position)
    text.write("\n")
  }

  private static func write(
    _ name: String, _ position: String?, _ members: KeyValuePairs<StaticString, String>, to text: inout ByteBuffer
  ) {
    if let position { writeID(position, to: &text) }
    text.write(text: "event: \(name)\ndata: ")
    var json = JSONWriter(text)
    json.beginObject()
    for (name, value) in members {
      json.write(name: name)
      json.write(string: value)
    }
    json.endObject()
    text = json.sink
    text.write("\n\n")
  }
}
