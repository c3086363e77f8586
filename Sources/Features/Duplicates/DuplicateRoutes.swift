import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
package import LocationsAPI
import NIOHTTP1
import PointFormats
package import Points

/// The calls of pairs of places that are likely the same.
package struct DuplicateCalls: Sendable {
  private let api: LocationsAPI
  private let decisions: DuplicateDecisions

  package init(_ api: LocationsAPI, decisions: DuplicateDecisions) {
    self.api = api
    self.decisions = decisions
  }

  package var endpoints: [Endpoint] {
    let configuration = api.configuration
    let handlers: [any CallHandler] = [
      DuplicatesRoute(
        service: configuration.service, decisions: decisions, filtering: configuration.filtering,
        address: configuration.address),
      DecideDuplicateRoute(service: configuration.service, decisions: decisions),
    ]
    return handlers.map(\.endpoint)
  }
}

/// `GET /duplicates`: pairs of places of two data sets that are likely the same.
struct DuplicatesRoute: CallHandler {
  static let call = Call(
    .GET, "/duplicates", scope: .read, id: "listDuplicates", group: .search, link: "duplicates",
    summary: "List places that are likely the same",
    description:
      "Pairs of places of two data sets, or of one, each place in at most one pair, the highest score first. The score"
      + " is a weighted mean of its parts. At most \(maximumPlaces) places are compared: larger data sets are read box by"
      + " box. A page ends early, but not without a pair, where its places have more than"
      + " \(PointPage.maximumTextBytes >> 20) MiB of names and tags. A `Link` leads to the next page. Nothing is merged"
      + " or deleted.",
    parameters: [.box, .limit, .cursor, .source, .other, .minimumScore, .states],
    describing: [
      "source": Parameter.source.description.required,
      "bbox": .init("Only pairs of which both places are in the box.", Parameter.box.description.schema),
      "limit": .init("Maximum number of pairs of a page.", Parameter.limit.description.schema),
    ],
    caching: .forbidden,
    responses: [.init(200, "A page of pairs.", headers: [.link], media: .json(.duplicatePage))],
    problems: ProblemDescription.index)

  /// The maximum number of places that a request compares.
  static let maximumPlaces = 100_000

  /// The estimated number of bytes of a pair beside the names and tags of its places.
  private static let pairBytes = 1024

  /// The number of times that the bytes of a page are in memory: in the text, which grows by doubling, and as it is sent.
  private static let copies = 3

  /// The estimated number of bytes of a candidate while the pairs are chosen.
  private static let candidateBytes = 512

  let service: PointsService
  let decisions: DuplicateDecisions
  let filtering: Filtering
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try DuplicateArguments(request, filtering)
    let snapshot = try await service.requiredSnapshot(as: .duplicates, for: request)
    // First, since it may wait for a database, during which no candidates are held.
    let decisions = try await request.result(of: await service.observed(.records, await self.decisions.all()))
    let found = try await request.computing { () throws(Problem) in
      try request.searchResult(of: service.searched(.duplicates, try snapshot.duplicates(matching: arguments.query)))
    }
    guard let found else {
      throw .invalidParameter(
        Parameter.box.name,
        "must be a box with at most \(Self.maximumPlaces) places of the two data sets; there are more")
    }
    let working = try await request.reserveMemory(bytes: found.count * Self.candidateBytes)
    defer { extendLifetime(working) }
    let page = try await request.computing { () throws(Problem) in
      let pairs = try request.searchResult(of: DuplicatePair.pairs(among: found, decisions, in: arguments.states))
      return Page(pairs, arguments, in: snapshot)
    }
    let reservation = try await request.reserveMemory(
      bytes: Self.copies * (page.textBytes + page.pairs.count * Self.pairBytes), beside: working)
    defer { extendLifetime(reservation) }
    return try await request.computing { () throws(Problem) in
      response(page, arguments, in: snapshot, for: request)
    }
  }

  /// The pairs of a page.
  private struct Page {
    /// The number of all pairs.
    let count: Int
    let pairs: ArraySlice<DuplicatePair>
    let hasMore: Bool

    /// The number of bytes of the names and tags of the places.
    private(set) var textBytes = 0

    init(_ all: [DuplicatePair], _ arguments: DuplicateArguments, in snapshot: any IndexSnapshot) {
      count = all.count
      let rest = arguments.after.map { after in all.drop { !(after < $0.candidate.rank) } } ?? all[...]
      var sizes: [Int] = []
      let fitting = PointPage.fittingCount(of: min(rest.count, arguments.limit)) { index in
        let candidate = rest[rest.startIndex + index].candidate
        let places = [candidate.first, candidate.second].compactMap { snapshot.point(id: $0) }
        let bytes = places.reduce(0) { $0 + $1.draft.textBytes }
        sizes.append(bytes)
        return bytes
      }
      pairs = rest.prefix(fitting)
      hasMore = rest.count > fitting
      textBytes = sizes.prefix(fitting).reduce(0, +)
    }
  }

  private func response(
    _ page: Page, _ arguments: DuplicateArguments, in snapshot: any IndexSnapshot, for request: HTTPRequest
  ) -> HTTPResponse {
    let json = JSONWriter.object { json in
      json.write(member: "count", page.count)
      json.write(name: "duplicates")
      json.writeArray(of: page.pairs) { pair, json in
        pair.write(to: &json)
        json.write(name: "places")
        json.beginArray()
        for id in [pair.candidate.first, pair.candidate.second] {
          guard let point = snapshot.point(id: id) else { continue }
          var bytes: [UInt8] = []
          PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: .all, to: &bytes)
          bytes.withUnsafeBufferPointer { json.write(json: $0) }
        }
        json.endArray()
      }
    }
    var response = HTTPResponse(json).uncacheable
    if page.hasMore, let last = page.pairs.last {
      let rank = last.candidate.rank
      let cursor = Cursor.text(for: (rank.score, rank.pair.lower, rank.pair.upper), of: arguments.fingerprint)
      response.addLink(toNext: address.nextPage(of: "/duplicates", cursor: cursor, for: request))
    }
    return response
  }
}

extension DuplicatePair {
  /// Writes the members of the pair without its places.
  func write(to json: inout JSONWriter<[UInt8]>) {
    func thousandths(_ number: Int16) { json.write(number: Double(number) / 1000) }
    let score = candidate.score
    json.write(member: "id", candidate.pair.description)
    json.write(member: "state", state.rawValue)
    json.write(name: "score")
    thousandths(score.total)
    json.write(member: "distance", Int(candidate.distanceMetres))
    json.write(name: "parts")
    json.beginObject()
    json.write(name: "distance")
    thousandths(score.distance)
    json.write(name: "name")
    thousandths(score.name)
    if let part = score.category {
      json.write(name: "category")
      thousandths(part)
    }
    if let part = score.phone {
      json.write(name: "phone")
      thousandths(part)
    }
    if let part = score.website {
      json.write(name: "website")
      thousandths(part)
    }
    if let part = score.address {
      json.write(name: "address")
      thousandths(part)
    }
    json.endObject()
  }
}

extension Parameter {
  static let other = Parameter("other") {
    .init(
      "Name of the other data set; that of `source` without it, whose places are compared with each other.",
      .origin(example: "overture"))
  }

  static let minimumScore = Parameter("minScore", .number) {
    .init(
      "Minimum score of a pair.",
      Schema(
        .number, nil,
        [
          "minimum": .number("\(Double(DuplicateQuery.minimumScores.lowerBound) / 1000)"), "maximum": 1,
          "default": .number("\(Double(DuplicateQuery.defaultMinimumScore) / 1000)"),
        ]))
  }

  static let states = Parameter("states", .list) {
    .init(
      "States of the pairs, separated by commas: `open,confirmed` without it.",
      Schema(
        .array(of: .duplicateState), nil, ["minItems": 1],
        example: ["open", "confirmed"]))
  }
}

/// The arguments of `GET /duplicates`.
struct DuplicateArguments {
  let query: DuplicateQuery
  let states: Set<DuplicateState>
  let limit: Int
  let fingerprint: QueryFingerprint

  /// The position after which the page begins; `nil` for the first page.
  private(set) var after: DuplicateCandidate.Rank?

  /// Creates the arguments from a request.
  ///
  /// - Throws: `Problem` 400 with every invalid parameter, or 406.
  init(_ request: HTTPRequest, _ filtering: Filtering) throws(Problem) {
    var values = try ParameterValues(request, allowing: DuplicatesRoute.call.parameters)
    let source = values.source()
    if !values.has(.source) { values.note(.missing, Parameter.source.name, "must name a data set") }
    let other = values.originText(.other)
    var query = DuplicateQuery(
      source: source?.name ?? "", other: other.map { ExactText($0) } ?? source?.name ?? "")
    query.box = values.box()
    query.minimumScore = values.minimumScore()
    query.maximumPlaces = DuplicatesRoute.maximumPlaces
    query.timeLimit = filtering.timeLimit
    let states = values.states()
    for state in states { values.fingerprint.add(.states, state.rawValue) }
    limit = values.limit()
    (self.query, self.states, fingerprint) = (query, states, values.fingerprint)
    after = values.position { [fingerprint] in
      Cursor.pairPosition(from: $0, of: fingerprint).flatMap { position in
        PlacePair(position.lower, position.upper).map { .init(score: position.score, pair: $0) }
      }
    }
    try values.check()
    _ = try PointFormat.chosen(by: nil, accept: request.headers, from: [.json])
  }
}

extension ParameterValues {
  /// Returns the least score in thousandths.
  fileprivate mutating func minimumScore() -> Int {
    guard let text = self[.minimumScore] else { return DuplicateQuery.defaultMinimumScore }
    if let score = Self.number(text).flatMap(DuplicateQuery.thousandths) {
      if score != DuplicateQuery.defaultMinimumScore { fingerprint.add(.minimumScore, number: Double(score)) }
      return score
    }
    note(.invalid, Parameter.minimumScore.name, "must be a number from 0.5 to 1, got \(quoted(text))")
    return DuplicateQuery.defaultMinimumScore
  }

  /// Returns the states of pairs.
  fileprivate mutating func states() -> Set<DuplicateState> {
    guard let text = self[.states] else { return [.open, .confirmed] }
    var states: Set<DuplicateState> = []
    for name in Self.list(text) where !hasAllErrors {
      if let state = DuplicateState(rawValue: String(name)) {
        states.insert(state)
      } else {
        let names = DuplicateState.allCases.map(\.rawValue).joined(separator: ", ")
        note(.invalid, Parameter.states.name, "must be names out of \(names), got \(quoted(String(name)))")
      }
    }
    return states
  }
}

/// `POST /duplicates/{pair}`: confirms or refutes that two places are the same.
struct DecideDuplicateRoute: CallHandler {
  static let call = Call(
    .POST, "/duplicates/{pair}", scope: .write, id: "decideDuplicate", group: .write,
    summary: "Confirm or refute a duplicate",
    description:
      "Records whether two places are the same; `open` takes that back. A repeat changes nothing. The places remain as"
      + " they are.",
    isIdempotent: true,
    describing: [
      "pair": .init(
        "The `id` of a pair: the ids of two places, the smaller first, separated by a full stop.",
        Schema(
          .string, nil, ["pattern": "^[0-9A-Fa-f-]{36}\\.[0-9A-Fa-f-]{36}$"],
          example: .string(Examples.pair)), isRequired: true)
    ],
    body: BodyDescription(description: "The decision.", media: [.init(.json, .duplicateDecision)]),
    responses: [.init(200, "The decision, as it is kept.", media: .json(.decidedDuplicate))])

  let service: PointsService
  let decisions: DuplicateDecisions

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let text = request.pathParameters["pair"]
    guard let pair = PlacePair(text) else {
      throw .invalidParameter(
        "pair", "must be the ids of two places, the smaller first, separated by a full stop, got '\(text.prefix(80))'")
    }
    let (state, _) = try await PointBody.readQuery(request) { body throws(Problem) in try Self.state(of: body) }
    for id in [pair.lower, pair.upper] { _ = try await service.place(id, for: request) }
    try await request.result(
      of: await service.observed(.records, isWrite: true, await decisions.decide(state, on: pair)))
    return HTTPResponse(
      .object { json in
        json.write(member: "id", pair.description)
        json.write(member: "state", state.rawValue)
      })
  }

  private static func state(of body: JSONValue) throws(Problem) -> DuplicateState {
    var reader = MemberReader(names: ["state"])
    var state: DuplicateState?
    var isGiven = false
    for member in try MemberReader.members(of: body) {
      guard member.name.hasSameBytes(as: "state") else {
        reader.noteUnknown(member.name)
        continue
      }
      isGiven = true
      if case .string(let text) = member.value { state = DuplicateState(rawValue: text) } else { state = nil }
    }
    if state == nil {
      let names = DuplicateState.allCases.map(\.rawValue).joined(separator: ", ")
      reader.note("state", "must be one of \(names)", isGiven ? .invalid : .missing)
    }
    try reader.check()
    guard let state else { throw .internal }
    return state
  }
}

/// The decisions of people on pairs of places. They are made one by one.
package struct DuplicateDecisions: Sendable {
  private static let collection = RecordCollection("duplicate-decisions")

  /// The number of decisions that are read at once.
  private static let pageLength = 1000

  private let records: any RecordStore

  package init(_ records: any RecordStore) { self.records = records }

  /// Returns all decisions. O(n).
  ///
  /// - Throws: ``PointStoreError``.
  package func all() async throws(PointStoreError) -> [PlacePair: DuplicateState] {
    var states: [PlacePair: DuplicateState] = [:]
    // A store that is shared makes records of its rows; others have them in memory.
    var query = RecordQuery(Self.collection, limit: records.isShared ? Self.pageLength : nil)
    while true {
      let page = try await records.records(matching: query)
      for record in page {
        if let pair = PlacePair(record.id.text), let state = Self.state(of: record) {
          states[pair] = state
        } else {
          records.damagedRows?.note(
            record: record.id, in: Self.collection, reason: "it is no decision on two places")
        }
      }
      guard let limit = query.limit, page.count == limit else { return states }
      query.after = page.last?.id
    }
  }

  /// Records the decision on a pair; that it is open removes the former one. When the call returns, it is as durable as
  /// a write of a place.
  ///
  /// - Throws: ``PointStoreError``.
  package func decide(_ state: DuplicateState, on pair: PlacePair) async throws(PointStoreError) {
    let id = ExactText(pair.description)
    try await retrying(orThrow: .overloaded) { () async throws(PointStoreError) -> Void? in
      let former = try await records.record(id, in: Self.collection)
      // An equal decision is written again, so that the response to it is as durable as the first one should have been.
      if state == .open, former == nil { return () }
      let record = Record(
        Self.collection, id: id, revision: former?.revision ?? 1, document: Self.document(of: state))
      let change: RecordChange =
        state == .open ? .remove(Self.collection, id: id) : former == nil ? .insert(record) : .replace(record)
      return try await records.commit([change]).isCommitted ? () : nil
    }
  }

  /// The name of the state as a JSON string.
  private static func document(of state: DuplicateState) -> String { "\"\(state.rawValue)\"" }

  /// Returns the state of a record; `nil` if it is none.
  private static func state(of record: Record) -> DuplicateState? {
    [.confirmed, .refuted].first { record.document.hasSameBytes(as: document(of: $0)) }
  }
}

// MARK: Descriptions

extension Examples {
  static let pair = id + ".0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c"
}

extension Schema {
  private static let duplicateScore = Schema(.number, nil, ["minimum": 0, "maximum": 1])
  fileprivate static let duplicateState = enumeration(DuplicateState.allCases.map(\.rawValue))
    .named("DuplicateState", order: 900)

  fileprivate static let duplicatePage = Schema(
    .object(
      [
        .required("count", Schema(.integer, "Number of all pairs.", ["minimum": 0])),
        .required("duplicates", Schema(.array(of: .duplicatePair))),
      ], others: nil)
  ).named("Duplicates", order: 670)

  fileprivate static let duplicatePair = Schema(
    .object(
      [
        .required("id", Schema(.string, "The ids of the two places, the smaller first, separated by a full stop.")),
        .required("state", duplicateState),
        .required(
          "score",
          Schema(.number, "Weighted mean of the parts, in thousandths.", ["minimum": 0, "maximum": 1])),
        .required("distance", Schema(.integer, "Metres along the ellipsoid, rounded down.", ["minimum": 0])),
        .required("parts", .duplicateParts),
        .required(
          "places",
          Schema(
            .array(of: .place), "The place of `source` and that of `other`.",
            ["minItems": 2, "maxItems": 2])),
      ], others: nil)
  ).named("Duplicate", order: 680)

  fileprivate static let duplicateParts = Schema(
    .object(
      [
        .required("distance", duplicateScore), .required("name", duplicateScore), .optional("category", duplicateScore),
        .optional("phone", duplicateScore), .optional("website", duplicateScore), .optional("address", duplicateScore),
      ], others: nil),
    "The parts of the score that are known."
  ).named("DuplicateParts", order: 690)

  fileprivate static let duplicateDecision = Schema(
    .object([.required("state", duplicateState)], others: nil), example: ["state": "confirmed"]
  ).named("DuplicateDecision", order: 700)

  fileprivate static let decidedDuplicate = Schema(
    .object([.required("id", Schema(.string)), .required("state", duplicateState)], others: nil)
  ).named("DecidedDuplicate", order: 710)
}
