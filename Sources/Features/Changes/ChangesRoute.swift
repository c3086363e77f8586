import APIDescription
import AccessControl
import Basics
import HTTPServer
import JSONText
package import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import Synchronization

/// The call that returns the changes of places.
package struct ChangeCalls: Sendable {
  private let api: LocationsAPI
  private let streams: ChangeStreams

  package init(_ api: LocationsAPI, streams: ChangeStreams) {
    self.api = api
    self.streams = streams
  }

  package var endpoints: [Endpoint] {
    let configuration = api.configuration
    let changes = ChangesRoute(
      changes: configuration.changes, service: configuration.service, filtering: configuration.filtering,
      access: configuration.access, streams: streams, areas: configuration.areas,
      restriction: configuration.restriction)
    return [changes.endpoint]
  }
}

/// `GET /changes`: what has changed since a position, as a page or as a stream.
struct ChangesRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/changes", scope: .read, joinsRestriction: true, id: "listChanges", group: .changes, link: "changes",
    summary: "List changes",
    description:
      "The places that have changed since a position, each with its present state. An export's `Waymark-Position` and"
      + " the pages from there on are a complete copy. A place may come twice, and none is missing. Without `since` the"
      + " present position. With `Accept: text/event-stream` the same as server-sent events, without end. With `in`,"
      + " positions of before a change of the area are expired.",
    parameters: .changeFilters.union([.since, .limit, .wait]),
    describing: [
      "limit": .init(
        "Maximum number of changes.",
        Schema(
          .integer, nil,
          [
            "minimum": .count(limits.lowerBound), "maximum": .count(limits.upperBound),
            "default": .count(defaultLimit),
          ])),
      "radius": .init(
        "Maximum distance from the position in metres along the ellipsoid, inclusive. Given together with `lat` and"
          + " `long`.",
        Schema(.number, nil, ["minimum": 0], example: 1500)),
    ],
    requestHeaders: [.lastEventID], caching: .forbidden,
    responses: [
      .init(
        200, "The changes.",
        media: [
          .init(.json, .changes, example: Examples.changes),
          .init(
            eventStream,
            Schema(
              .string,
              "Server-sent events (WHATWG HTML, section 9.2) `change` with a change, `position`, `reset` where changes"
                + " are missing, and `end`.")),
        ])
    ],
    problems: [.init(410, .positionExpired)])

  static let limits = 1...10_000
  static let defaultLimit = 1_000

  /// The accepted range of `wait`, in seconds.
  static let waits = 0...60

  /// The number of bytes of memory up to which a page is written on the event loop, and is not counted.
  static let shortBytes = 64 * 1024

  /// The changes; `nil` if the store has none.
  let changes: (any PointFeed)?
  let service: PointsService
  let filtering: Filtering

  /// The access of the senders of streams, which may end.
  let access: AccessControl
  let streams: ChangeStreams
  let areas: any AreaStore

  /// The restriction of the senders of all requests; `nil` for none.
  let restriction: Restriction?

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    let arguments = try await request.compiling(values, areJoined: restriction != nil) { () throws(Problem) in
      try ChangesArguments(values, request, filtering, restriction)
    }
    guard let changes else { throw Problem(.indexRequired) }
    if arguments.query.needsIndex || restriction != nil, !service.usesIndex { throw Problem(.indexRequired) }
    if arguments.isStream { return try await stream(changes, arguments, to: request) }
    guard let since = arguments.since else {
      let position = try await request.result(of: await changes.presentPosition())
      return response(ChangeJSON.text(of: [], position: arguments.marking(position)))
    }
    try arguments.checkMark()
    let counts =
      arguments.wait > .zero
      ? try streams.beginWait(for: request.sender, arguments.conditions) : nil
    defer { extendLifetime(counts) }
    // Before the first page, so that nothing is missed between the two.
    let subscription =
      arguments.wait > .zero ? changes.subscribe(matching: arguments.query, for: ChangeReader(request)) : nil
    let deadline = ContinuousClock.now + arguments.wait
    // An empty page has no reservation, so that nothing is held during the wait.
    var counted = try await read(changes, after: since, limit: arguments.limit, arguments.query, request)
    if let subscription {
      while counted.page.changes.isEmpty,
        let next = try await wait(
          for: subscription, until: deadline, after: counted.page.position, changes, arguments, request)
      {
        counted = next
      }
    }
    return try await respond(with: counted, arguments, to: request)
  }

  /// Waits for changes after a position.
  ///
  /// - Returns: the changes, which may be none; `nil` after the deadline.
  private func wait(
    for subscription: ChangeSubscription, until deadline: ContinuousClock.Instant, after position: String,
    _ changes: any PointFeed, _ arguments: ChangesArguments, _ request: HTTPRequest
  ) async throws(Problem) -> CountedPage? {
    switch await request.waiting({ await subscription.next(until: deadline) }) {
    case .timedOut, .closing: return nil
    case .interrupted: break
    case .batches(let batches):
      let page = Self.page(of: batches.filter { !changes.includes($0.position, in: position) }, after: position)
      if page.changes.count <= arguments.limit {
        if page.memoryBytes <= Self.shortBytes { return CountedPage(page: page) }
        if let reservation = request.reserveMemoryAtOnce(bytes: page.memoryBytes) {
          return CountedPage(page: page, reservation: reservation)
        }
      }
    }
    return try await read(changes, after: position, limit: arguments.limit, arguments.query, request)
  }

  /// Returns the last change of each place of batches after a position.
  private static func page(of batches: [ChangeSubscription.Batch], after position: String) -> ChangePage {
    var latest: [PointID: PointChange] = [:]
    var ids: [PointID] = []
    for change in batches.flatMap(\.changes) where latest.updateValue(change, forKey: change.id) == nil {
      ids.append(change.id)
    }
    return ChangePage(
      changes: ids.compactMap { latest[$0] }, position: batches.last?.position ?? position, hasMore: false)
  }

  /// A page of changes, and the reservation of its memory while it is held; `nil` for a short one.
  struct CountedPage: Sendable {
    var page: ChangePage
    var reservation: MemoryReservation?
  }

  /// Returns the first page after a position that is not empty, or else the last.
  ///
  /// - Parameter maximumBytes: the maximum number of bytes of memory of a page with several changes.
  func read(
    _ changes: any PointFeed, after position: String, limit: Int, maximumBytes: Int = .max, _ query: PointQuery,
    _ request: HTTPRequest
  ) async throws(Problem) -> CountedPage {
    var limit = limit
    var page = try await firstPage(of: changes, after: position, limit: limit, request)
    while page.changes.count > 1, page.memoryBytes > maximumBytes {
      limit = page.count(within: maximumBytes)
      page = try await firstPage(of: changes, after: position, limit: limit, request)
    }
    var reservation: MemoryReservation?
    let bytes = page.memoryBytes
    if bytes > Self.shortBytes {
      reservation = request.reserveMemoryAtOnce(bytes: bytes)
      if reservation == nil {
        // Nothing counts the page yet, so it is not held while this waits.
        page = ChangePage(changes: [], position: position, hasMore: true)
        reservation = try await request.reserveMemory(bytes: bytes)
        page = try await firstPage(of: changes, after: position, limit: limit, request)
      }
    }
    guard query.hasConditions, !page.changes.isEmpty else { return CountedPage(page: page, reservation: reservation) }
    let found = page.changes
    let filtered = try await request.computing { () throws(Problem) in
      try request.searchResult(of: changes.changes(found, matching: query))
    }
    return CountedPage(
      page: ChangePage(changes: filtered, position: page.position, hasMore: page.hasMore), reservation: reservation)
  }

  private func firstPage(
    of changes: any PointFeed, after position: String, limit: Int, _ request: HTTPRequest
  ) async throws(Problem) -> ChangePage {
    let refusal = Mutex<Problem?>(nil)
    let reader = ChangeReader(request) { problem in refusal.withLock { $0 = problem } }
    var page: ChangePage
    var start = position
    repeat {
      do throws(ChangeReadError) {
        page = try await request.waitingForStore { () async throws(ChangeReadError) in
          try await service.observingChanges { () async throws(ChangeReadError) in
            try await changes.page(after: start, limit: limit, for: reader)
          }
        }
      } catch {
        throw refusal.withLock { $0 } ?? request.problem(for: error)
      }
      start = page.position
    } while page.changes.isEmpty && page.hasMore
    return page
  }

  private func respond(
    with counted: CountedPage, _ arguments: ChangesArguments, to request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    defer { extendLifetime(counted.reservation) }
    let page = counted.page
    func text() -> ByteBuffer {
      ChangeJSON.text(of: page.changes, position: arguments.marking(page.position), hasMore: page.hasMore)
    }
    let text = page.memoryBytes > Self.shortBytes ? try await request.computing { text() } : text()
    var response = response(text)
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    return response
  }

  private func response(_ text: ByteBuffer) -> HTTPResponse {
    var response = HTTPResponse(contentType: PointFormat.json.mediaType, bytes: text)
    response.headers.add(name: "cache-control", value: "no-store")
    response.headers.add(name: "vary", value: "accept, accept-encoding")
    return response
  }
}

extension ChangeReader {
  /// Creates the reader of a request, to whose sender the evaluation of conditions counts.
  ///
  /// - Parameter onRefusal: takes the problem of work that was not done.
  init(_ request: HTTPRequest, onRefusal: @escaping @Sendable (Problem) -> Void = { _ in }) {
    self.init(client: Client(request.sender)) { work in
      do throws(Problem) {
        try await request.computing { () throws(Problem) in work() }
        return true
      } catch {
        onRefusal(error)
        return false
      }
    }
  }
}

extension ChangePage {
  /// The estimated number of bytes of a change and its text, beside those of its place.
  private static let changeBytes = 512

  /// The estimated number of bytes of the page and its text.
  fileprivate var memoryBytes: Int { changes.count * Self.changeBytes + 2 * changes.textBytes }

  /// Returns the number of the first changes that take at most so many bytes, at least 1.
  fileprivate func count(within bytes: Int) -> Int {
    var (count, sum) = (0, 0)
    for change in changes {
      sum += Self.changeBytes + 2 * [change].textBytes
      if sum > bytes { break }
      count += 1
    }
    return max(1, count)
  }
}

extension Parameter {
  static let wait = Parameter("wait", .integer, order: 260) {
    .init(
      "Seconds to wait for a change, if there is none yet.",
      Schema(
        .integer, nil,
        [
          "minimum": .count(ChangesRoute.waits.lowerBound), "maximum": .count(ChangesRoute.waits.upperBound),
          "default": 0,
        ]))
  }
}

/// The arguments of `GET /changes`.
struct ChangesArguments: Sendable {
  /// The conditions.
  let query: PointQuery

  /// The memory of the conditions.
  let conditions: ChangeConditions

  /// The position without its mark.
  let since: String?

  /// The mark of the position: that of the restriction and the area that it is a position of.
  private let mark: String?

  /// The mark of positions of the request.
  let ownMark: String?

  /// The area of `in`; `nil` if it is not given.
  let area: Area?

  private let isRestricted: Bool
  let limit: Int
  let wait: Duration

  /// A Boolean value that indicates whether the response is a stream of events.
  let isStream: Bool

  /// A Boolean value that indicates whether the position is that of the last event of a stream.
  let isContinued: Bool

  /// Creates the arguments from the parameters of a request.
  ///
  /// - Throws: `Problem` 400 with every invalid parameter, or 406.
  init(
    _ values: ParameterValues, _ request: HTTPRequest, _ filtering: Filtering, _ restriction: Restriction?
  ) throws(Problem) {
    var values = values
    var query = values.changeFilters(by: filtering)
    isRestricted = restriction != nil
    limit = values.limit(in: ChangesRoute.limits, default: ChangesRoute.defaultLimit)
    isStream =
      try MediaRange.preferred(
        [PointFormat.json.mediaType, ChangesRoute.eventStream], mediaType: { $0 },
        accept: request.headers[canonicalForm: "accept"]
      ).hasSameBytes(as: ChangesRoute.eventStream)
    // A client that connects again sends its first request with the position of its last event.
    let lastEvent = isStream ? request.headers.first(name: "last-event-id").flatMap { $0.isEmpty ? nil : $0 } : nil
    isContinued = lastEvent != nil
    let position = (lastEvent ?? values[.since]).map(PositionText.parts)
    (since, mark) = (position?.position, position?.mark)
    area = values.areas?.named
    conditions = ChangeConditions(text: request.query, shape: query.area, area: area)
    ownMark = Restriction.mark(restriction, area)
    wait = .seconds(values.integer(.wait, in: ChangesRoute.waits) ?? 0)
    if values.has(.wait), !values.has(.since) {
      values.note(.missing, Parameter.since.name, "must be given if wait is given")
    }
    try values.check()
    // Two filters are compiled as one here, and not by the feed.
    if let restriction, query.filter != nil {
      do throws(PointStoreError) {
        query = try query.joined(to: restriction.points)
      } catch {
        throw Problem(error)
      }
    }
    self.query = query
  }

  /// Returns a position as responses have it: with the restriction and the area of `in`, so that a change of these is
  /// noticed.
  func marking(_ position: String) -> String { PositionText.marking(position, ownMark) }

  /// Checks that the restriction and the area are as they were at the position.
  ///
  /// - Throws: `Problem` 410.
  func checkMark() throws(Problem) {
    guard since != nil else { return }
    if let ownMark {
      if mark?.hasSameBytes(as: ownMark) == true { return }
    } else if mark?.hasPrefix(Restriction.markPrefix) != true {
      return
    }
    throw Problem(
      .gone, code: ProblemCode.positionExpired.rawValue, title: "Position expired",
      detail: isRestricted
        ? "the position is not one of the filter and the areas of the key or token, and of 'in', as they are now; begin"
          + " again with an export"
        : "the position is not one of the area as it is now; begin again with an export with the same 'in'")
  }
}

extension ChangeJSON {
  /// Returns a page of changes.
  ///
  /// - Parameter hasMore: whether there are more changes after the position.
  static func text(of changes: [PointChange], position: String, hasMore: Bool = false) -> ByteBuffer {
    var json = JSONWriter(ByteBuffer())
    json.beginObject()
    json.write(name: "changes")
    json.beginArray()
    for change in changes { write(change, to: &json) }
    json.endArray()
    json.write(name: "position")
    json.write(string: position)
    json.write(name: "more")
    json.write(boolean: hasMore)
    json.endObject()
    return json.sink
  }
}

extension Examples {
  fileprivate static let changes: JSONValue = [
    "changes": [
      ["id": .string(id), "version": 3, "place": place],
      ["id": "0199a1c2-7b3f-7c44-8a11-2f6d5e9b0c22", "version": 8, "deleted": true],
    ],
    "position": "2bv0aw9dz0.1k3.1k3", "more": false,
  ]
}

extension Schema {
  private static let position = Schema(.string, "An opaque position.", ["minLength": 1])

  fileprivate static let changes = Schema(
    .object(
      [
        .required("changes", Schema(.array(of: .change))), .required("position", position),
        .required("more", Schema(.boolean, "Whether there are more changes after the position.")),
      ], others: nil)
  ).named("Changes", order: 350)

  fileprivate static let change = Schema(
    .object(
      [
        .required("id", uuid), .required("version", Schema(.integer, nil, ["minimum": 1])),
        .optional("place", .place),
        .optional("deleted", Schema(.boolean, "The place does not exist any more.")),
        .optional("outside", Schema(.boolean, "The place exists, and does not match the filters.")),
      ], others: nil),
    "A changed place: it has one of `place`, `deleted` and `outside`."
  ).named("Change", order: 360)
}
