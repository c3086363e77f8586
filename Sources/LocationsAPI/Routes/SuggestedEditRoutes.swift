import Basics
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `POST /locations/{id}/suggestions`: suggests a change of a place.
struct SuggestEditRoute: CallHandler {
  static let call = Call(
    .POST, "/locations/{id}/suggestions", scope: .suggest, id: "suggestEdit", group: .suggestions,
    summary: "Suggest a change of a place",
    description:
      "The patch (RFC 7396) is checked as that of `PATCH /locations/{id}` is, and is for the version of `If-Match`, which"
      + " must be the present one; without it for the present version.",
    requestHeaders: [.idempotencyKey, .ifMatch],
    body: BodyDescription(
      description: "The patch, with a comment and the means by which the suggester can be reached.",
      media: [.init(.json, .component("EditSuggestion"), example: Examples.editSuggestion)]),
    bodyLimit: .bytes(SuggestedEditBody.maximumBytes),
    responses: [
      .init(201, "The suggestion.", headers: [.location.required], media: .json(.component("SuggestedEdit")))
    ],
    problems: ProblemDescription.suggesting.union([.init(412, .versionMismatch)]))

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: false)
    let (body, bytes) = try await SuggestedEditBody.read(request, change: "patch")
    let key = try IdempotencyKey.read(request, of: request.principal, body: bytes)
    if let known = try await calls.suggestion(of: key, request) { return calls.created(known, request) }
    guard let place = try await calls.place(id, request) else { throw .notFound("there is no place with the id \(id)") }
    guard condition.holds(of: place.version) else {
      throw Problem(PointWriteError.conditionFailed(currentVersion: place.version))
    }
    let draft: PointDraft
    do throws(Problem) {
      draft = try ChangeRoute.draft(of: place, changedBy: PointPatch(body.change))
    } catch {
      throw error.inside("/patch")
    }
    let difference = try await request.computing { PlaceDifference(from: place.draft, to: draft) }
    guard !difference.isEmpty else {
      throw Problem(
        .unprocessableEntity, code: "invalid-place", detail: "the patch changes nothing of the place",
        errors: [ProblemError(.pointer("/patch"), "changes nothing of the place")])
    }
    return try await calls.add(body, key, difference, of: place, request)
  }
}

/// `POST /suggestions`: suggests a new place.
struct SuggestPlaceRoute: CallHandler {
  static let call = Call(
    .POST, "/suggestions", scope: .suggest, id: "suggestPlace", group: .suggestions,
    summary: "Suggest a new place",
    description: "The draft is checked as that of `POST /locations` is.",
    requestHeaders: [.idempotencyKey],
    body: BodyDescription(
      description: "The draft, with a comment and the means by which the suggester can be reached.",
      media: [.init(.json, .component("PlaceSuggestion"), example: Examples.placeSuggestion)]),
    bodyLimit: .bytes(SuggestedEditBody.maximumBytes),
    responses: [
      .init(201, "The suggestion.", headers: [.location.required], media: .json(.component("SuggestedEdit")))
    ],
    problems: ProblemDescription.suggesting)

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let (body, bytes) = try await SuggestedEditBody.read(request, change: "draft")
    let key = try IdempotencyKey.read(request, of: request.principal, body: bytes)
    if let known = try await calls.suggestion(of: key, request) { return calls.created(known, request) }
    let draft: PointDraft
    do throws(Problem) {
      draft = try SuggestedEditCalls.draft(body.change)
    } catch {
      throw error.inside("/draft")
    }
    let difference = try await request.computing { PlaceDifference(from: nil, to: draft) }
    return try await calls.add(body, key, difference, of: nil, request)
  }
}

/// `GET /suggestions`: the suggestions, the oldest first.
struct ListSuggestedEditsRoute: CallHandler {
  static let call = Call(
    .GET, "/suggestions", scope: .write, id: "listSuggestions", group: .suggestions, link: "suggestions",
    summary: "List the suggestions",
    description: "The oldest first, in pages. A page ends early, but not without a suggestion, where it would have more"
      + " than \(PointPage.maximumTextBytes >> 20) MiB of texts. A `Link` leads to the next.",
    parameters: [.state, .place, .limit, .cursor],
    describing: ["limit": .limit(PointQuery.limits, default: PointQuery.defaultLimit)],
    caching: .forbidden,
    responses: [
      .init(
        200, "The suggestions.", headers: [.link], media: .json(Schema(.array(of: .component("SuggestedEdit")))))
    ])

  /// The number of times that the texts of a page are in memory: as they are found, in the response, which grows by
  /// doubling, and as it is sent.
  private static let copies = 4

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let limit = values.limit()
    var query = SuggestionQuery(limit: limit + 1, now: calls.clock.now())
    if values.has(.state) { query.state = values.choice(.state, default: Suggestion.State.open) }
    if let text = values[.place] {
      query.place = PointID(text)
      if query.place == nil { values.note(.invalid, Parameter.place.name, "must be a UUID, got '\(text.prefix(50))'") }
    }
    query.after = values.position { PointID($0) }
    try values.check()
    let reservation = try await request.reserveMemory(
      bytes: Self.copies * min(limit * SuggestedEditCalls.suggestionBytes, query.maximumTextBytes))
    defer { extendLifetime(reservation) }
    let found = try await request.reportingStoreErrors { [query] () throws(PointStoreError) in
      try await calls.service.observe(.suggestions) { () throws(PointStoreError) in
        try await calls.store.suggestions(matching: query)
      }
    }
    let page = found.prefix(PointPage.fittingCount(of: min(found.count, limit)) { found[$0].textBytes })
    let now = query.now
    let json = try await request.computing { () throws(Problem) -> JSONWriter<[UInt8]> in
      var json = JSONWriter()
      json.writeArray(of: page) { suggestion, json in
        SuggestedEditJSON.write(suggestion, at: now, withContact: true, to: &json)
      }
      return json
    }
    var response = SuggestedEditJSON.response(json)
    // Behind a page of one long suggestion there may be none.
    let isLong = page.reduce(0) { $0 + $1.textBytes } > query.maximumTextBytes
    if found.count > page.count || isLong, let last = page.last {
      let next = NextLink.query(request.query, cursor: last.id.description)
      let target = calls.address.target(path: "/suggestions" + next, relative: next, for: request)
      response.headers.add(name: "link", value: "<\(target)>; rel=\"next\"")
    }
    return response
  }
}

/// `GET /suggestions/{id}`: a suggestion without its contact, for its suggester.
struct SuggestedEditRoute: CallHandler {
  static let call = Call(
    .GET, "/suggestions/{id}", scope: .suggest, id: "getSuggestion", group: .suggestions, summary: "Get a suggestion",
    description: "For the suggester, who has the id: it has 74 random bits. The response has no contact.",
    describing: ["id": .suggestionID], caching: .forbidden,
    responses: [.init(200, "The suggestion.", media: .json(.component("SuggestedEdit")))])

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    return calls.response(try await calls.suggestion(of: request), withContact: false)
  }
}

/// `POST /suggestions/{id}/accept`: makes the change that was suggested.
struct AcceptSuggestedEditRoute: CallHandler {
  static let call = Call(
    .POST, "/suggestions/{id}/accept", scope: .write, id: "acceptSuggestion", group: .suggestions,
    summary: "Accept a suggestion",
    description:
      "Changes the place, or creates it, and closes the suggestion, in one transaction. If the place has another version"
      + " than the suggestion is for, nothing is done, and the response is 409 `conflict` with both as `suggestion` and"
      + " `place`; with `If-Match` of the present version the patch is applied to that one. A repeat gets the accepted"
      + " suggestion.",
    isIdempotent: true, describing: ["id": .suggestionID], requestHeaders: [.ifMatch], body: .decision,
    caching: .forbidden,
    responses: [.init(200, "The accepted suggestion.", media: .json(.component("SuggestedEdit")))],
    problems: [.init(409, .conflict), .init(412, .versionMismatch)])

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let condition = try Preconditions.read(request.headers, isRequired: false)
    let reason = try await SuggestedEditBody.readReason(request)
    for _ in 0..<PointsService.maximumAttempts {
      let suggestion = try await calls.suggestion(of: request)
      let decision = Suggestion.Decision(isAccepted: true, reason: reason, time: calls.clock.now())
      guard suggestion.state(at: decision.time) == .open else { return try calls.closed(suggestion, as: .accepted) }
      let change = try await calls.change(of: suggestion, if: condition, request)
      switch try await calls.decide(suggestion, decision, changing: change, request) {
      case .decided(let decided): return calls.response(decided, withContact: true)
      case .closed(let closed): return try calls.closed(closed, as: .accepted)
      case .unknown: throw calls.notFound(suggestion.id)
      // Another change came between.
      case .failed(.conditionFailed): continue
      case .failed:
        throw calls.conflict("another place has the source and sourceId of the suggestion", suggestion, nil)
      }
    }
    throw request.problem(for: PointUpdateError<Problem>.contended)
  }
}

/// `POST /suggestions/{id}/reject`: closes a suggestion without a change.
struct RejectSuggestedEditRoute: CallHandler {
  static let call = Call(
    .POST, "/suggestions/{id}/reject", scope: .write, id: "rejectSuggestion", group: .suggestions,
    summary: "Reject a suggestion", description: "A repeat gets the rejected suggestion.",
    isIdempotent: true, describing: ["id": .suggestionID], body: .decision, caching: .forbidden,
    responses: [.init(200, "The rejected suggestion.", media: .json(.component("SuggestedEdit")))],
    problems: [.init(409, .conflict)])

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let reason = try await SuggestedEditBody.readReason(request)
    let suggestion = try await calls.suggestion(of: request)
    let decision = Suggestion.Decision(isAccepted: false, reason: reason, time: calls.clock.now())
    switch try await calls.decide(suggestion, decision, changing: nil, request) {
    case .decided(let decided): return calls.response(decided, withContact: true)
    case .closed(let closed): return try calls.closed(closed, as: .rejected)
    case .unknown, .failed: throw calls.notFound(suggestion.id)
    }
  }
}

/// The parts that the calls of suggested edits share.
struct SuggestedEditCalls: Sendable {
  let store: any SuggestionStore
  let service: PointsService
  let address: PublicAddress
  let clock: any WallClock

  /// The time for which suggestions can be decided.
  let lifetime: Duration

  /// The maximum number of bytes of the texts of a suggestion.
  fileprivate static let suggestionBytes = SuggestedEditBody.maximumBytes * 2 + PlaceDifference.maximumBytes

  /// The number of seconds after which a sender with too many open suggestions may try again.
  private static let retrySeconds = 3600

  /// The handlers of the calls.
  var handlers: [any CallHandler] {
    [
      SuggestEditRoute(calls: self), SuggestPlaceRoute(calls: self), ListSuggestedEditsRoute(calls: self),
      SuggestedEditRoute(calls: self), AcceptSuggestedEditRoute(calls: self), RejectSuggestedEditRoute(calls: self),
    ]
  }

  /// Returns the suggestion that a request names.
  func suggestion(of request: HTTPRequest) async throws(Problem) -> Suggestion {
    let id = try PointID(inPathOf: request)
    let suggestion = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.observe(.suggestions) { () throws(PointStoreError) in
        try await store.suggestion(id: id)
      }
    }
    guard let suggestion else { throw notFound(id) }
    return suggestion
  }

  func notFound(_ id: PointID) -> Problem { .notFound("there is no suggestion with the id \(id)") }

  /// Returns the place of an id as the last write left it, or `nil`.
  func place(_ id: PointID, _ request: HTTPRequest) async throws(Problem) -> PointOfInterest? {
    try await request.reportingStoreErrors { () throws(PointStoreError) in try await service.committedPoint(id: id) }
  }

  /// Adds a suggestion.
  ///
  /// - Parameter place: the place that it is for; `nil` for a new one.
  /// - Throws: `Problem` 409 or 429 if there are too many, 422 for an idempotency key of another request.
  fileprivate func add(
    _ body: SuggestedEditBody, _ key: IdempotencyKey?, _ difference: PlaceDifference, of place: PointOfInterest?,
    _ request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    var generator = SystemRandomNumberGenerator()
    let now = clock.now()
    let isKeyed = request.principal.name != nil
    let suggestion = Suggestion(
      id: PointID(at: now, using: &generator), place: place?.id, version: place?.version,
      change: String(decoding: body.change.text, as: UTF8.self),
      difference: difference.fields, omittedDifferences: difference.omittedCount > 0 ? difference.omittedCount : nil,
      comment: body.comment, contact: body.contact, key: isKeyed ? request.principal.namespace : nil,
      address: address.proxies.client(of: request)?.clientNetwork.digits, request: key, createdAt: now,
      lifetime: lifetime)
    let addition = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.observe(.suggestions, isWrite: true) { () throws(PointStoreError) in
        try await store.add(suggestion)
      }
    }
    switch addition {
    case .added: return created(suggestion, request)
    case .repeated(let known): return created(try Self.repeated(known, key), request)
    case .unreadable: throw Problem(PointWriteError.keyReused)
    case .refused(let refusal): throw Self.problem(for: refusal)
    }
  }

  /// Returns the suggestion that an earlier request with the same idempotency key made, or `nil`.
  ///
  /// - Throws: `Problem` 422 if that was another request.
  func suggestion(of key: IdempotencyKey?, _ request: HTTPRequest) async throws(Problem) -> Suggestion? {
    guard let key else { return nil }
    var query = SuggestionQuery(limit: 1, now: clock.now())
    query.requestKey = key.text
    let found = try await request.reportingStoreErrors { [query] () throws(PointStoreError) in
      try await service.observe(.suggestions) { () throws(PointStoreError) in
        try await store.suggestions(matching: query)
      }
    }
    guard let known = found.first else { return nil }
    return try Self.repeated(known, key)
  }

  private static func repeated(_ known: Suggestion, _ key: IdempotencyKey?) throws(Problem) -> Suggestion {
    guard known.requestHash == key?.requestHash else { throw Problem(PointWriteError.keyReused) }
    return known
  }

  /// Returns the response to the creation of a suggestion.
  func created(_ suggestion: Suggestion, _ request: HTTPRequest) -> HTTPResponse {
    var response = self.response(suggestion, withContact: false)
    response.status = .created
    let target = address.target(
      path: "/suggestions/\(suggestion.id)",
      relative: suggestion.place == nil ? "suggestions/\(suggestion.id)" : "../../suggestions/\(suggestion.id)",
      for: request)
    response.headers.add(name: "location", value: target)
    return response
  }

  private static func problem(for refusal: SuggestionRefusal) -> Problem {
    func tooMany(_ count: Int, _ owner: String = "") -> String {
      "there are \(count) open suggestions\(owner), which is the maximum number"
    }
    let detail =
      switch refusal {
      case .full: tooMany(Suggestion.maximumOpenCount)
      case .tooManyOfKey: tooMany(Suggestion.maximumOpenCountOfKey, " of this key")
      case .tooManyOfAddress: tooMany(Suggestion.maximumOpenCountOfAddress, " from this address")
      case .noMemory: "the suggestions of this sender, or all, take too much memory; a shorter one may fit"
      }
    return Problem(
      .tooManyRequests, code: "rate-limited", title: "Too many requests", detail: detail,
      headers: ["retry-after": "\(retrySeconds)"])
  }

  /// Returns the place of a draft.
  ///
  /// - Throws: `Problem` 422.
  static func draft(_ value: JSONValue) throws(Problem) -> PointDraft {
    do {
      return try PointDocument(value.text).draft
    } catch {
      throw Problem(error)
    }
  }

  /// Returns the change that a suggestion is for, of the place as it is now.
  ///
  /// - Throws: `Problem` 409 or 412 for another version of the place, with the suggestion and the place.
  func change(
    of suggestion: Suggestion, if condition: WriteCondition, _ request: HTTPRequest
  ) async throws(Problem) -> PointOperation {
    guard let value = try? JSONReader.value(of: suggestion.change.utf8) else { throw .internal }
    guard let id = suggestion.place else {
      guard condition.holds(of: nil) else { throw Problem(PointWriteError.conditionFailed(currentVersion: nil)) }
      do throws(Problem) {
        return .create(try Self.draft(value))
      } catch {
        throw conflict("the draft is not valid any more: \(error.detail ?? error.title)", suggestion, nil)
      }
    }
    guard let place = try await self.place(id, request) else {
      throw conflict("the place was deleted", suggestion, nil)
    }
    guard condition != .none || place.version == suggestion.version else {
      throw conflict(
        "the suggestion is for the version \(suggestion.version ?? 0) of the place, whose version is now"
          + " \(place.version)", suggestion, place)
    }
    guard condition.holds(of: place.version) else {
      var problem = Problem(PointWriteError.conditionFailed(currentVersion: place.version))
      problem.members = members(suggestion, place)
      throw problem
    }
    do throws(Problem) {
      let draft = try ChangeRoute.draft(of: place, changedBy: PointPatch(value))
      return .put(draft, id: id, if: .versions([place.version]))
    } catch {
      throw conflict("the patch can't be applied: \(error.detail ?? error.title)", suggestion, place)
    }
  }

  func decide(
    _ suggestion: Suggestion, _ decision: Suggestion.Decision, changing change: PointOperation?, _ request: HTTPRequest
  ) async throws(Problem) -> SuggestionOutcome {
    try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await service.observe(.suggestions, isWrite: true) { () throws(PointWriteError) in
        try await store.decide(suggestion.id, decision, changing: change)
      }
    }
  }

  /// Returns the response to the repeat of a decision.
  ///
  /// - Throws: `Problem` 409 if the suggestion is in another state.
  func closed(_ suggestion: Suggestion, as state: Suggestion.State) throws(Problem) -> HTTPResponse {
    let present = suggestion.state(at: clock.now())
    guard present == state else {
      throw conflict("the suggestion is \(present.rawValue), and can't be decided again", suggestion, nil)
    }
    return response(suggestion, withContact: true)
  }

  /// Returns 409 with a suggestion and the place as it is now.
  func conflict(_ detail: String, _ suggestion: Suggestion, _ place: PointOfInterest?) -> Problem {
    var problem = Problem(.conflict, code: "conflict", detail: detail)
    problem.members = members(suggestion, place)
    return problem
  }

  private func members(_ suggestion: Suggestion, _ place: PointOfInterest?) -> [JSONValue.Member] {
    let json = SuggestedEditJSON.object(suggestion, at: clock.now(), withContact: true)
    var members: [JSONValue.Member] = []
    if let value = try? JSONReader.value(of: json.sink) { members.append(.init(name: "suggestion", value: value)) }
    if let place { members.append(.init(name: "place", value: PlaceDifference.json(place))) }
    return members
  }

  func response(_ suggestion: Suggestion, withContact: Bool) -> HTTPResponse {
    SuggestedEditJSON.response(SuggestedEditJSON.object(suggestion, at: clock.now(), withContact: withContact))
  }
}

/// The body of a suggestion.
struct SuggestedEditBody: Sendable {
  /// The length up to which a body is accepted, in bytes.
  static let maximumBytes = 16 * 1024

  fileprivate static let maximumCommentLength = 1000
  fileprivate static let maximumContactLength = 200
  fileprivate static let maximumReasonLength = 1000

  /// The patch or the draft.
  private(set) var change = JSONValue.null
  private(set) var comment: String?
  private(set) var contact: String?

  /// Reads the body of a suggestion.
  ///
  /// - Parameter name: the name of the member that has the patch or the draft.
  /// - Throws: `Problem` 400 with every invalid member.
  static func read(
    _ request: HTTPRequest, change name: String
  ) async throws(Problem) -> (arguments: SuggestedEditBody, bytes: ByteBuffer) {
    try await PointBody.readQuery(request) { value throws(Problem) in try SuggestedEditBody(value, change: name) }
  }

  private init(_ value: JSONValue, change name: String) throws(Problem) {
    var reader = MemberReader(names: [name, "comment", "contact"])
    var hasChange = false
    for member in try MemberReader.members(of: value) {
      switch (member.name, member.value) {
      case (name, .object):
        change = member.value
        hasChange = true
      case (name, _):
        reader.note(name, "must be an object")
        hasChange = true
      case ("comment", _): comment = reader.text(member, maximum: Self.maximumCommentLength)
      case ("contact", _): contact = reader.text(member, maximum: Self.maximumContactLength)
      default: reader.noteUnknown(member.name)
      }
    }
    if !hasChange { reader.note(name, "must be given", .missing) }
    try reader.check()
  }

  /// Reads the reason of a decision; `nil` without a body or a reason.
  ///
  /// - Throws: `Problem` 400.
  static func readReason(_ request: HTTPRequest) async throws(Problem) -> String? {
    if request.mediaType == nil, try await PointBody.collect(request).readableBytes == 0 { return nil }
    return try await PointBody.readQuery(request) { value throws(Problem) in
      var reader = MemberReader(names: ["reason"])
      var reason: String?
      for member in try MemberReader.members(of: value) {
        switch member.name {
        case "reason": reason = reader.text(member, maximum: maximumReasonLength)
        default: reader.noteUnknown(member.name)
        }
      }
      try reader.check()
      return reason
    }.arguments
  }
}

/// The fields in which two versions of a place differ, so many as fit.
private struct PlaceDifference: Sendable {
  /// The maximum number of bytes of the fields: a patch of a few bytes may remove many long tags.
  static let maximumBytes = 32 * 1024

  /// The number of Unicode scalars to which a text is shortened.
  private static let maximumTextLength = 500

  /// An array of objects with a JSON pointer and the values before and after; each tag is a field. A long text that was
  /// there before is shortened.
  private(set) var fields = "[]"

  /// The number of fields that did not fit.
  private(set) var omittedCount = 0

  /// A Boolean value that indicates whether the versions are the same.
  private(set) var isEmpty = true

  /// The names of the fields that clients do not set.
  private static let others = Set(["id", "version", "createdAt", "updatedAt"].map { ExactText($0) })

  /// Returns all fields of a place.
  static func json(_ place: PointOfInterest) -> JSONValue {
    var text: [UInt8] = []
    PointJSON.append(FoundPoint(point: place, distanceMetres: nil), fields: .all, to: &text)
    return (try? JSONReader.value(of: text)) ?? .null
  }

  /// Creates the difference.
  ///
  /// - Parameter former: the place before; `nil` if it is new.
  init(from former: PointDraft?, to present: PointDraft) {
    let (before, after) = (former.map(Self.values) ?? [], Self.values(present))
    func byPointer(_ values: [(pointer: String, value: JSONValue)]) -> [ExactText: JSONValue] {
      Dictionary(values.map { (ExactText($0.pointer), $0.value) }) { first, _ in first }
    }
    let (old, new) = (byPointer(before), byPointer(after))
    var writer = JSONWriter()
    writer.beginArray()
    for (pointer, _) in before + after.filter({ old[ExactText($0.pointer)] == nil }) {
      let (value, changed) = (old[ExactText(pointer)] ?? .null, new[ExactText(pointer)] ?? .null)
      if value == changed { continue }
      isEmpty = false
      let field: JSONValue = ["field": .string(pointer), "before": Self.shortened(value), "after": changed]
      let text = field.text
      if writer.sink.count + text.count > Self.maximumBytes {
        omittedCount += 1
      } else {
        text.withUnsafeBufferPointer { writer.write(json: $0) }
      }
    }
    writer.endArray()
    fields = String(decoding: writer.sink, as: UTF8.self)
  }

  /// Returns a value whose text, if it is a long one, ends with an ellipsis.
  private static func shortened(_ value: JSONValue) -> JSONValue {
    guard case .string(let text) = value, text.unicodeScalars.count > maximumTextLength else { return value }
    return .string(String(Substring(text.unicodeScalars.prefix(maximumTextLength))) + "…")
  }

  private static func values(_ draft: PointDraft) -> [(pointer: String, value: JSONValue)] {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let place = PointOfInterest(
      id: PointID(high: 0, low: 0), draft: draft, version: 1, createdAt: time, updatedAt: time)
    guard case .object(let members) = json(place) else { return [] }
    return members.filter { !others.contains(ExactText($0.name)) }.flatMap {
      member -> [(pointer: String, value: JSONValue)] in
      guard case .object(let tags) = member.value else { return [("/" + member.name, member.value)] }
      return tags.map { ("/\(member.name)/\(JSONPointer.escape($0.name))", $0.value) }
    }
  }
}

/// Suggested edits as JSON.
private enum SuggestedEditJSON {
  static func response(_ json: JSONWriter<[UInt8]>) -> HTTPResponse {
    var response = HTTPResponse(json)
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }

  static func object(_ suggestion: Suggestion, at now: Timestamp, withContact: Bool) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    write(suggestion, at: now, withContact: withContact, to: &json)
    json.endObject()
    return json
  }

  /// Writes the members of a suggestion.
  static func write(
    _ suggestion: Suggestion, at now: Timestamp, withContact: Bool, to json: inout JSONWriter<[UInt8]>
  ) {
    json.write(member: "id", "\(suggestion.id)")
    json.write(member: "state", suggestion.state(at: now).rawValue)
    if let place = suggestion.place {
      json.write(member: "place", "\(place)")
      if let version = suggestion.version { json.write(member: "version", Int(version)) }
      json.write(name: "patch")
    } else {
      json.write(name: "draft")
    }
    json.write(json: suggestion.change)
    json.write(name: "difference")
    json.write(json: suggestion.difference)
    if let count = suggestion.omittedDifferences { json.write(member: "omittedDifferences", count) }
    if let comment = suggestion.comment { json.write(member: "comment", comment) }
    if withContact, now < suggestion.expiresAt, let contact = suggestion.contact {
      json.write(member: "contact", contact)
    }
    json.write(member: "createdAt", "\(suggestion.createdAt)")
    json.write(member: "expiresAt", "\(suggestion.expiresAt)")
    if let decision = suggestion.decision {
      json.write(name: "decision")
      json.beginObject()
      json.write(member: "time", "\(decision.time)")
      if let reason = decision.reason { json.write(member: "reason", reason) }
      if let place = decision.place { json.write(member: "place", "\(place)") }
      if let version = decision.version { json.write(member: "version", Int(version)) }
      json.endObject()
    }
  }
}

// MARK: Descriptions

extension Problem {
  /// Returns the problem of a part of the body that has a pointer of its own.
  fileprivate func inside(_ pointer: String) -> Problem {
    var problem = self
    problem.errors = errors.map { $0.inside(pointer) }
    return problem
  }
}

extension ProblemDescription {
  /// The problems of calls that suggest, beside those of their bodies.
  fileprivate static let suggesting: Set = [
    ProblemDescription(422, .invalidPlace), .init(422, .idempotencyKeyReused),
  ]
}

extension ParameterDescription {
  fileprivate static let suggestionID = ParameterDescription(
    "Id of the suggestion.", Schema.uuid, isRequired: true, example: .string(Examples.id))
}

extension BodyDescription {
  fileprivate static let decision = BodyDescription(
    description: "The reason of the decision, which the suggester can read.", isRequired: false,
    media: [.init(.json, .component("SuggestionDecision"), example: ["reason": "Seen on the spot."])])
}

extension Examples {
  fileprivate static let editSuggestion: JSONValue = [
    "patch": ["tags": ["opening_hours": "Tu-Su 10:00-17:00"]], "comment": "Closed on Mondays since October.",
    "contact": "visitor@example.com",
  ]

  fileprivate static let placeSuggestion: JSONValue = ["draft": draft, "comment": "Opened last week."]
}

extension Schema {
  /// The schemas of suggested edits, by name.
  static let suggestedEdits: [(name: String, schema: Schema)] = [
    ("SuggestedEdit", suggestedEdit), ("EditSuggestion", editSuggestion), ("PlaceSuggestion", placeSuggestion),
    ("SuggestionDecision", suggestionDecision), ("FieldDifference", fieldDifference),
  ]

  private static func suggestionText(_ description: String, maximum: Int) -> Schema {
    Schema(
      .string, description,
      ["maxLength": .count(maximum), "pattern": #"^[^\u0000-\u0008\u000B-\u001F\u007F-\u009F]*$"#])
  }

  private static let suggestionComment = suggestionText(
    "A note for the reviewer.", maximum: SuggestedEditBody.maximumCommentLength)
  private static let suggestionContact = suggestionText(
    "The means by which the suggester can be reached. Only reviewers see it, and it is erased at `expiresAt`.",
    maximum: SuggestedEditBody.maximumContactLength)
  private static let suggestionReason = suggestionText(
    "The reason, which the suggester can read.", maximum: SuggestedEditBody.maximumReasonLength)

  private static let editSuggestion = Schema(
    .object(
      [
        .required("patch", .component("PlacePatch")), .optional("comment", suggestionComment.orNull),
        .optional("contact", suggestionContact.orNull),
      ], others: nil))

  private static let placeSuggestion = Schema(
    .object(
      [
        .required("draft", .component("PlaceDraft")), .optional("comment", suggestionComment.orNull),
        .optional("contact", suggestionContact.orNull),
      ], others: nil))

  private static let suggestionDecision = Schema(
    .object([.optional("reason", suggestionReason.orNull)], others: nil))

  private static let fieldDifference = Schema(
    .object(
      [
        .required("field", Schema(.string, "The field as a JSON pointer.", example: "/tags/opening_hours")),
        .required(
          "before", Schema(.any, "The value of the version; null for none. A long text is shortened.")),
        .required("after", Schema(.any, "The suggested value; null for none.")),
      ], others: nil),
    "A field in which the suggested place differs.")

  private static let suggestedEdit = Schema(
    .object(
      [
        .required("id", uuid), .required("state", .oneOf(Suggestion.State.allCases.map(\.rawValue))),
        .optional("place", Schema(.string, "The place that the suggestion is for.", ["format": "uuid"])),
        .optional("version", Schema(.integer, "The version of the place that it is for.")),
        .optional("patch", .component("PlacePatch")), .optional("draft", .component("PlaceDraft")),
        .required("difference", Schema(.array(of: .component("FieldDifference")))),
        .optional(
          "omittedDifferences",
          Schema(
            .integer, "Number of further fields that differ, without their values; those of the place have them.",
            ["minimum": 1])),
        .optional("comment", suggestionComment), .optional("contact", suggestionContact),
        .required("createdAt", time),
        .required(
          "expiresAt",
          Schema(.string, "The time after which the suggestion can't be decided.", ["format": "date-time"])),
        .optional(
          "decision",
          Schema(
            .object(
              [
                .required("time", time), .optional("reason", suggestionReason),
                .optional("place", Schema(.string, "The place that was changed or created.", ["format": "uuid"])),
                .optional("version", Schema(.integer, "The version of the place after the change.")),
              ], others: nil),
            "The decision; none while the suggestion is open.")),
      ], others: nil),
    "An edit that was suggested: a `patch` of a place, or the `draft` of a new one.")
}
