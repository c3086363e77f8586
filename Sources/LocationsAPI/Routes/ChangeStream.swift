import AccessControl
import Basics
import HTTPServer
import JSONText
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

  private let limit: Int
  private let counted = Mutex(Counts())

  /// The time after which a stream has a comment or a position, and its sender's access is checked again.
  fileprivate let interval: Duration

  /// Creates the streams of a server.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of streams.
  ///   - interval: the time after which a stream has a comment or a position, and its sender's access is checked again.
  package init(limit: Int = 10_000, interval: Duration = .seconds(15)) {
    self.limit = limit
    self.interval = interval
  }

  /// The numbers so far.
  package var counts: Counts { counted.withLock { $0 } }

  fileprivate func count(_ change: (inout Counts) -> Void) { counted.withLock { change(&$0) } }

  /// Counts a stream until the result is released; `nil` if there are too many.
  fileprivate func begin() -> OpenStream? {
    let isAdmitted = counted.withLock { counts in
      guard counts.open < limit else { return false }
      counts.open += 1
      return true
    }
    return isAdmitted ? OpenStream(self) : nil
  }

  /// A stream that is counted.
  fileprivate final class OpenStream: Sendable {
    let streams: ChangeStreams

    init(_ streams: ChangeStreams) { self.streams = streams }

    deinit { streams.count { $0.open -= 1 } }
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
    guard let counted = streams.begin() else {
      throw Problem(
        .serviceUnavailable, code: ProblemCode.overloaded.rawValue, title: "Overloaded",
        detail: "too many streams of changes are open",
        headers: ["retry-after": "\(Int.random(in: ChangeEvents.retrySeconds))"])
    }
    let subscription = changes.subscribe(matching: arguments.query)
    let start = try await firstEvents(changes, arguments, request)
    let stream = ChangeStream(self, changes, arguments, request, subscription, counted)
    return HTTPResponse(
      headers: [
        "content-type": Self.eventStream, "cache-control": "no-store", "vary": "accept",
        // nginx buffers responses otherwise.
        "x-accel-buffering": "no",
      ],
      body: .live { writer in try await stream.run(from: start, to: writer) })
  }

  /// The events at the beginning of a stream, and the position that they lead to.
  struct FirstEvents: Sendable {
    var text: ByteBuffer
    var position: String
    /// A Boolean value that indicates whether there are more changes in the log.
    var hasMore = false
    var count = 0
  }

  private func firstEvents(
    _ changes: any PointFeed, _ arguments: ChangesArguments, _ request: HTTPRequest
  ) async throws(Problem) -> FirstEvents {
    var text = ByteBuffer()
    ChangeEvents.writeRetry(to: &text)
    if let since = arguments.since {
      do {
        try arguments.checkMark()
        let page = try await read(changes, after: since, limit: arguments.limit, arguments.query, request)
        ChangeEvents.write(page.changes, position: arguments.marking(page.position), to: &text)
        return FirstEvents(text: text, position: page.position, hasMore: page.hasMore, count: page.changes.count)
      } catch {
        guard error.code == ProblemCode.positionExpired.rawValue || arguments.isContinued && error.status == .badRequest
        else { throw error }
        let position = try await presentPosition(changes, request)
        streams.count { $0.resets += 1 }
        ChangeEvents.writeReset(reason: error.detail ?? "", position: arguments.marking(position), to: &text)
        return FirstEvents(text: text, position: position)
      }
    }
    let position = try await presentPosition(changes, request)
    ChangeEvents.writePosition(arguments.marking(position), to: &text)
    return FirstEvents(text: text, position: position)
  }

  private func presentPosition(_ changes: any PointFeed, _ request: HTTPRequest) async throws(Problem) -> String {
    try await request.reportingStoreErrors { () throws(PointStoreError) in try await changes.presentPosition() }
  }
}

/// A stream of changes: it reads the log up to the present, and then has what the subscription is sent. A reader that
/// is slower than the changes is sent to the log again.
private final class ChangeStream: Sendable {
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
  private let counted: ChangeStreams.OpenStream

  private var streams: ChangeStreams { counted.streams }

  init(
    _ route: ChangesRoute, _ changes: any PointFeed, _ arguments: ChangesArguments, _ request: HTTPRequest,
    _ subscription: ChangeSubscription, _ counted: ChangeStreams.OpenStream
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

  /// Writes events until the client has gone, its access has ended, or the server shuts down.
  @inline(never)
  func run(from start: ChangesRoute.FirstEvents, to writer: HTTPResponseWriter) async throws {
    var position = start.position
    try await begin(start, &position, writer)
    var nextCheck = ContinuousClock.now + streams.interval
    while true {
      if .now >= nextCheck {
        nextCheck = .now + streams.interval
        guard try await checkAccess(writer), try await checkAreas(writer) else { return }
        try await writeBookmark(&position, writer)
      }
      guard try await write(await subscription.next(until: nextCheck), &position, writer) else { return }
    }
  }

  @inline(never)
  private func begin(
    _ start: ChangesRoute.FirstEvents, _ position: inout String, _ writer: HTTPResponseWriter
  ) async throws {
    try await write(start.text, count: start.count, to: writer)
    if start.hasMore { try await readLog(after: &position, writer) }
  }

  /// Writes what a wait has ended with, and returns whether the stream goes on.
  @inline(never)
  private func write(
    _ event: ChangeSubscription.Event, _ position: inout String, _ writer: HTTPResponseWriter
  ) async throws -> Bool {
    switch event {
    case .batches(let batches):
      guard try await checkAreas(writer) else { return false }
      let events = events(of: batches, after: &position)
      try await write(events.text, count: events.count, lagSeconds: events.lagSeconds, to: writer)
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

  /// Returns the events of what was not written yet, and sets the position to the last one.
  @inline(never)
  private func events(
    of batches: [ChangeSubscription.Batch], after position: inout String
  ) -> (text: ByteBuffer, count: Int, lagSeconds: Double) {
    var events = (text: ByteBuffer(), count: 0, lagSeconds: 0.0)
    let now = ContinuousClock.now
    for batch in batches where !changes.includes(batch.position, in: position) {
      ChangeEvents.write(batch.changes, position: marking(batch.position), to: &events.text)
      position = batch.position
      events.count += batch.changes.count
      events.lagSeconds += (now - batch.time) / .seconds(1) * Double(batch.changes.count)
    }
    return events
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
        reason: "the area has changed", ChangesArguments.mark(route.restriction, present), writer)
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

  /// Writes a comment, or the position up to which the subscription has everything, if that is later.
  @inline(never)
  private func writeBookmark(_ position: inout String, _ writer: HTTPResponseWriter) async throws {
    var text = ByteBuffer()
    if let delivered = changes.deliveredPosition, !changes.includes(delivered, in: position) {
      position = delivered
      ChangeEvents.writePosition(marking(position), to: &text)
    } else {
      ChangeEvents.writeComment(to: &text)
    }
    try await write(text, to: writer)
  }

  /// Writes the changes of the log after a position, up to the present, and sets the position to that of everything
  /// that was written.
  @inline(never)
  private func readLog(after position: inout String, _ writer: HTTPResponseWriter) async throws {
    while true {
      var text = ByteBuffer()
      let read: Result<ChangePage, Problem>
      do throws(Problem) {
        read = .success(try await route.read(changes, after: position, limit: limit, subscription.query, request))
      } catch {
        read = .failure(error)
      }
      switch read {
      case .success(let page):
        ChangeEvents.write(page.changes, position: marking(page.position), to: &text)
        position = page.position
        try await write(text, count: page.changes.count, to: writer)
        if !page.hasMore { return }
      case .failure(let problem):
        if problem.code == ProblemCode.positionExpired.rawValue, let present = try? await changes.presentPosition() {
          streams.count { $0.resets += 1 }
          ChangeEvents.writeReset(reason: problem.detail ?? "", position: marking(present), to: &text)
          try await write(text, to: writer)
          position = present
          return
        }
        // The store is away. The client waits with the stream, unless it has gone.
        ChangeEvents.writeComment(to: &text)
        try await write(text, to: writer)
        try await Task.sleep(for: Self.retryInterval)
      }
    }
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

  /// Writes changes as events. The last one has the position: a client that has read a part of them continues before
  /// the first.
  static func write(_ changes: [PointChange], position: String, to text: inout ByteBuffer) {
    for (index, change) in changes.enumerated() {
      if index == changes.count - 1 { writeID(position, to: &text) }
      text.write("event: change\ndata: ")
      var json = JSONWriter(text)
      text = ByteBuffer()
      ChangeJSON.write(change, to: &json)
      text = json.sink
      text.write("\n\n")
    }
    if changes.isEmpty { writePosition(position, to: &text) }
  }

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
