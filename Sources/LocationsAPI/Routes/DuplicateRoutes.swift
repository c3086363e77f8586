import Basics
import Geo
import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// `GET /duplicates`: pairs of places of two data sets that are likely the same.
struct DuplicatesRoute: CallHandler {
  static let call = Call(
    .GET, "/duplicates", scope: .read, id: "listDuplicates", group: .search, link: "duplicates",
    summary: "List places that are likely the same",
    description:
      "Pairs of places of two data sets, or of one, each place in at most one pair, the greatest score first. The score"
      + " is a weighted mean of its parts. At most \(maximumPlaces) places are compared: larger data sets are read box by"
      + " box. A `Link` leads to the next page. Nothing is merged or deleted.",
    parameters: [.source, .other, .box, .minimumScore, .states, .limit, .cursor],
    describing: [
      "source": Parameter.source.description.required,
      "bbox": .init("Only pairs of which both places are in the box.", Parameter.box.description.schema),
      "limit": .init("Maximum number of pairs of a page.", Parameter.limit.description.schema),
    ],
    caching: .forbidden,
    responses: [.init(200, "A page of pairs.", headers: [.link], media: .json(.component("Duplicates")))],
    problems: ProblemDescription.index)

  /// The maximum number of places that a request compares.
  static let maximumPlaces = 100_000

  /// The estimated number of bytes of a pair while it is written.
  private static let pairBytes = 2048

  /// The estimated number of bytes of a candidate while the pairs are chosen.
  private static let candidateBytes = 512

  let service: PointsService
  let duplicates: any DuplicateStore
  let filtering: Filtering
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try DuplicateArguments(request, filtering)
    let reservation = try await request.reserveMemory(bytes: arguments.limit * Self.pairBytes)
    defer { extendLifetime(reservation) }
    let snapshot = try await service.mapSnapshot(as: .duplicates, for: request)
    let found = try await request.computing { () throws(Problem) in
      try request.reportingSearchErrors { () throws(PointStoreError) in
        try service.duplicates(matching: arguments.query, in: snapshot)
      }
    }
    guard let found else {
      throw .invalidParameter(
        Parameter.box.name,
        "must be a box with at most \(Self.maximumPlaces) places of the two data sets; there are more")
    }
    let working = try await request.reserveMemory(bytes: found.count * Self.candidateBytes)
    defer { extendLifetime(working) }
    let decisions = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.decisions(in: duplicates)
    }
    return try await request.computing { () throws(Problem) in
      let pairs = DuplicatePair.pairs(among: found, decisions, in: arguments.states)
      return response(pairs, arguments, in: snapshot, for: request)
    }
  }

  private func response(
    _ pairs: [DuplicatePair], _ arguments: DuplicateArguments, in snapshot: any IndexSnapshot, for request: HTTPRequest
  ) -> HTTPResponse {
    let rest = arguments.after.map { after in pairs.drop { !(after < $0.candidate.rank) } } ?? pairs[...]
    let page = rest.prefix(arguments.limit)
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "count", pairs.count)
    json.write(name: "duplicates")
    json.writeArray(of: page) { pair, json in
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
    json.endObject()
    var response = HTTPResponse(json)
    response.headers.add(name: "cache-control", value: "no-store")
    if page.endIndex < pairs.endIndex, let last = page.last {
      let query = NextLink.query(request.query, cursor: arguments.cursor(after: last.candidate.rank))
      response.addLink(toNext: address.target(path: "/duplicates" + query, relative: query, for: request))
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

/// The arguments of `GET /duplicates`.
struct DuplicateArguments {
  let query: DuplicateQuery
  let states: Set<DuplicateState>
  let limit: Int

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
    limit = values.limit()
    (self.query, self.states) = (query, states)
    after = values.position { [query, states] in Self.position(of: $0, query, states) }
    try values.check()
    _ = try PointFormat.chosen(by: nil, accept: request.headers, from: [.json])
  }

  private static let cursorByteCount = 1 + 2 + 32 + 4
  private static let cursorVersion: UInt8 = 3

  /// Returns the text of a position, for the `cursor` parameter.
  func cursor(after rank: DuplicateCandidate.Rank) -> String {
    var bytes = [Self.cursorVersion]
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    append(Int16(rank.score))
    for id in [rank.pair.lower, rank.pair.upper] {
      append(id.high)
      append(id.low)
    }
    append(Self.fingerprint(query, states))
    return Base64URL.encode(bytes)
  }

  private static func position(
    of text: String, _ query: DuplicateQuery, _ states: Set<DuplicateState>
  ) -> DuplicateCandidate.Rank? {
    guard let bytes = Base64URL.decode(text, count: cursorByteCount), bytes[0] == cursorVersion else { return nil }
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    let lower = PointID(high: number(3..<11), low: number(11..<19))
    let upper = PointID(high: number(19..<27), low: number(27..<35))
    guard number(35..<39) == UInt64(fingerprint(query, states)), let pair = PlacePair(lower, upper) else { return nil }
    return DuplicateCandidate.Rank(score: Int(number(1..<3)), pair: pair)
  }

  /// Returns a hash of the conditions that determine the pairs.
  private static func fingerprint(_ query: DuplicateQuery, _ states: Set<DuplicateState>) -> UInt32 {
    var hash = FNV1a()
    for source in [query.source, query.other] {
      hash.combine(bytes: source.text.utf8)
      hash.combine(0)
    }
    if let box = query.box {
      for edge in [box.west, box.south, box.east, box.north] {
        hash.combine(edge.bitPattern >> 32)
        hash.combine(edge.bitPattern & 0xFFFF_FFFF)
      }
    }
    hash.combine(UInt64(query.minimumScore))
    for state in DuplicateState.allCases where states.contains(state) { hash.combine(bytes: state.rawValue.utf8) }
    return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
  }
}

extension ParameterValues {
  /// Returns the least score in thousandths.
  fileprivate mutating func minimumScore() -> Int {
    guard let text = self[.minimumScore] else { return DuplicateQuery.defaultMinimumScore }
    let range = DuplicateQuery.minimumScores
    if let score = Self.number(text), score >= Double(range.lowerBound) / 1000, score <= 1 {
      return Int((score * 1000).rounded(.up))
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
        "The `id` of a pair: the ids of two places, the lesser first, with a full stop between.",
        Schema(
          .string, nil, ["pattern": "^[0-9A-Fa-f-]{36}\\.[0-9A-Fa-f-]{36}$"],
          example: .string(Examples.pair)), isRequired: true)
    ],
    body: BodyDescription(description: "The opinion.", media: [.init(.json, .component("DuplicateDecision"))]),
    responses: [.init(200, "The opinion, as it is kept.", media: .json(.component("DecidedDuplicate")))])

  let service: PointsService
  let duplicates: any DuplicateStore

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let text = request.pathParameters["pair"]
    guard let pair = PlacePair(text) else {
      throw .invalidParameter(
        "pair", "must be the ids of two places, the lesser first, with a full stop between, got '\(text.prefix(80))'")
    }
    let (state, _) = try await PointBody.readQuery(request) { body throws(Problem) in try Self.state(of: body) }
    for id in [pair.lower, pair.upper] {
      let point = try await request.reportingStoreErrors { () throws(PointStoreError) in
        try await service.point(id: id)
      }
      if point == nil { throw .notFound("there is no place with the id \(id)") }
    }
    try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.decide(state, on: pair, in: duplicates)
    }
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "id", pair.description)
    json.write(member: "state", state.rawValue)
    json.endObject()
    return HTTPResponse(json)
  }

  private static func state(of body: JSONValue) throws(Problem) -> DuplicateState {
    guard case .object(let members) = body else {
      throw Problem(.badRequest, code: "malformed-body", detail: "the body must be a JSON object")
    }
    let names = DuplicateState.allCases.map(\.rawValue).joined(separator: ", ")
    var (state, errors): (DuplicateState?, [ProblemError]) = (nil, [])
    for member in members {
      guard member.name.hasSameBytes(as: "state") else {
        errors.append(
          ProblemError(.pointer("/" + JSONPointer.escape(member.name)), "is not a member of a decision: it has state"))
        continue
      }
      if case .string(let text) = member.value { state = DuplicateState(rawValue: text) } else { state = nil }
      if state == nil { errors.append(ProblemError(.pointer("/state"), "must be one of \(names)")) }
    }
    if errors.isEmpty, let state { return state }
    if errors.isEmpty {
      throw .badRequest([ProblemError(.pointer("/state"), "must be one of \(names)")], code: .missing)
    }
    throw .badRequest(errors, code: .invalid)
  }
}

// MARK: Descriptions

extension Schema {
  /// The schemas of duplicates, by name.
  static let duplicates: [(name: String, schema: Schema)] = [
    ("Duplicates", duplicatePage), ("Duplicate", duplicatePair), ("DuplicateParts", duplicateParts),
    ("DuplicateDecision", duplicateDecision), ("DecidedDuplicate", decidedDuplicate),
  ]

  private static let duplicateScore = Schema(.number, nil, ["minimum": 0, "maximum": 1])
  private static let duplicateState = Schema.oneOf(DuplicateState.allCases.map(\.rawValue))

  private static let duplicatePage = Schema(
    .object(
      [
        .required("count", Schema(.integer, "Number of all pairs.", ["minimum": 0])),
        .required("duplicates", Schema(.array(of: .component("Duplicate")))),
      ], others: nil))

  private static let duplicatePair = Schema(
    .object(
      [
        .required("id", Schema(.string, "The ids of the two places, the lesser first, with a full stop between.")),
        .required("state", duplicateState),
        .required(
          "score",
          Schema(.number, "Weighted mean of the parts, in thousandths.", ["minimum": 0, "maximum": 1])),
        .required("distance", Schema(.integer, "Metres along the ellipsoid, rounded down.", ["minimum": 0])),
        .required("parts", .component("DuplicateParts")),
        .required(
          "places",
          Schema(
            .array(of: .component("Place")), "The place of `source` and that of `other`.",
            ["minItems": 2, "maxItems": 2])),
      ], others: nil))

  private static let duplicateParts = Schema(
    .object(
      [
        .required("distance", duplicateScore), .required("name", duplicateScore), .optional("category", duplicateScore),
        .optional("phone", duplicateScore), .optional("website", duplicateScore), .optional("address", duplicateScore),
      ], others: nil),
    "The parts of the score that are known.")

  private static let duplicateDecision = Schema(
    .object([.required("state", duplicateState)], others: nil), example: ["state": "confirmed"])

  private static let decidedDuplicate = Schema(
    .object([.required("id", Schema(.string)), .required("state", duplicateState)], others: nil))
}
