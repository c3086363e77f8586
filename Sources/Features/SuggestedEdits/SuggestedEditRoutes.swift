import APIDescription
import Basics
import Foundation
import HTTPServer
import JSONText
package import LocationsAPI
import ManagementAPI
import NIOCore
import NIOHTTP1
import PointFormats
package import Points

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
      description: "The patch, with a comment and the contact of the suggester.",
      media: [.init(.json, .editSuggestion, example: Examples.editSuggestion)]),
    bodyLimit: .bytes(SuggestedEditBody.maximumBytes),
    responses: [
      .init(201, "The suggestion.", headers: [.location.required], media: .json(.suggestedEdit))
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
    guard let place = try await calls.place(id, request) else { throw .noPlace(id) }
    guard condition.holds(of: place.version) else {
      throw Problem(PointWriteError.conditionFailed(currentVersion: place.version))
    }
    let draft = try Problem.reporting(ChangeRoute.draft(of: place, changedBy: PointPatch(body.change)), in: "/patch")
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
      description: "The draft, with a comment and the contact of the suggester.",
      media: [.init(.json, .placeSuggestion, example: Examples.placeSuggestion)]),
    bodyLimit: .bytes(SuggestedEditBody.maximumBytes),
    responses: [
      .init(201, "The suggestion.", headers: [.location.required], media: .json(.suggestedEdit))
    ],
    problems: ProblemDescription.suggesting)

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let (body, bytes) = try await SuggestedEditBody.read(request, change: "draft")
    let key = try IdempotencyKey.read(request, of: request.principal, body: bytes)
    if let known = try await calls.suggestion(of: key, request) { return calls.created(known, request) }
    let draft = try Problem.reporting(SuggestedEditCalls.draft(body.change), in: "/draft")
    let difference = try await request.computing { PlaceDifference(from: nil, to: draft) }
    return try await calls.add(body, key, difference, of: nil, request)
  }
}

extension Parameter {
  static let state = Parameter("state") {
    .init("Only suggestions in this state.", .oneOf(Suggestion.State.allCases.map(\.rawValue)))
  }

  static let place = Parameter("place") {
    .init("Only suggestions for the place of this id.", Schema.uuid)
  }
}

/// `GET /suggestions`: the suggestions, the oldest first.
struct ListSuggestedEditsRoute: CallHandler {
  static let call = Call(
    .GET, "/suggestions", scope: .write, id: "listSuggestions", group: .suggestions, link: "suggestions",
    summary: "List the suggestions",
    description: "The oldest first, in pages. A page ends early, but not without a suggestion, where it would have more"
      + " than \(PointPage.maximumTextBytes >> 20) MiB of texts. A `Link` leads to the next.",
    parameters: [.limit, .cursor, .state, .place],
    describing: ["limit": .limit(PointQuery.limits, default: PointQuery.defaultLimit)],
    caching: .forbidden,
    responses: [
      .init(
        200, "The suggestions.", headers: [.link], media: .json(Schema(.array(of: .suggestedEdit))))
    ])

  /// The number of times that the texts of a page are in memory: as they are found, in the response, which grows by
  /// doubling, and as it is sent.
  private static let copies = 4

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let limit = values.limit()
    var query = SuggestionQuery(limit: limit, now: calls.clock.now())
    if values.has(.state) { query.state = values.choice(.state, default: Suggestion.State.open) }
    if let text = values[.place] {
      query.place = PointID(text)
      if query.place == nil { values.note(.invalid, Parameter.place.name, "must be a UUID, got '\(text.prefix(50))'") }
    }
    query.after = values.position { PointID($0) }
    try values.check()
    let reservation = try await request.reserveMemory(
      bytes: Self.copies * min(limit * SuggestedEditCalls.suggestionBytes, query.maximumBytes))
    defer { extendLifetime(reservation) }
    let page = try await request.result(
      of: await calls.service.observed(.records, await calls.suggestions.page(matching: query)))
    let now = query.now
    let json = try await request.computing { () throws(Problem) -> JSONWriter<[UInt8]> in
      var json = JSONWriter()
      json.writeArray(of: page.suggestions) { suggestion, json in
        SuggestedEditJSON.write(suggestion, at: now, withContact: true, to: &json)
      }
      return json
    }
    var response = HTTPResponse(json).uncacheable
    if page.hasMore, let last = page.suggestions.last {
      response.addLink(
        toNext: calls.address.nextPage(of: "/suggestions", cursor: last.id.description, for: request))
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
    responses: [.init(200, "The suggestion.", media: .json(.suggestedEdit))])

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
    responses: [.init(200, "The accepted suggestion.", media: .json(.suggestedEdit))],
    problems: [.init(409, .conflict), .init(412, .versionMismatch)])

  let calls: SuggestedEditCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let condition = try Preconditions.read(request.headers, isRequired: false)
    let reason = try await SuggestedEditBody.readReason(request)
    return try await retrying(atMost: PointsService.maximumAttempts, orThrow: request.problem(for: .contended)) {
      () async throws(Problem) -> HTTPResponse? in
      let suggestion = try await calls.suggestion(of: request)
      let decision = Suggestion.Decision(isAccepted: true, reason: reason, time: calls.clock.now())
      guard suggestion.state(at: decision.time) == .open else { return try calls.closed(suggestion, as: .accepted) }
      let change = try await calls.change(of: suggestion, if: condition, request)
      switch try await calls.decide(suggestion, decision, changing: change, request) {
      case .decided(let decided): return calls.response(decided, withContact: true)
      case .closed(let closed): return try calls.closed(closed, as: .accepted)
      case .unknown: throw calls.notFound(suggestion.id)
      // Another change came between.
      case .failed(.conditionFailed): return nil
      case .failed:
        throw calls.conflict("another place has the source and sourceId of the suggestion", suggestion, nil)
      }
    }
  }
}

/// `POST /suggestions/{id}/reject`: closes a suggestion without a change.
struct RejectSuggestedEditRoute: CallHandler {
  static let call = Call(
    .POST, "/suggestions/{id}/reject", scope: .write, id: "rejectSuggestion", group: .suggestions,
    summary: "Reject a suggestion", description: "A repeat gets the rejected suggestion.",
    isIdempotent: true, describing: ["id": .suggestionID], body: .decision, caching: .forbidden,
    responses: [.init(200, "The rejected suggestion.", media: .json(.suggestedEdit))],
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
package struct SuggestedEditCalls: Sendable {
  let suggestions: Suggestions
  let service: PointsService
  let address: PublicAddress
  let clock: any WallClock

  /// The time for which suggestions can be decided.
  let lifetime: Duration

  /// The maximum number of bytes of the texts of a suggestion.
  fileprivate static let suggestionBytes = SuggestedEditBody.maximumBytes * 2 + PlaceDifference.maximumBytes

  /// The number of seconds after which a sender with too many open suggestions may try again.
  private static let retrySeconds = 3600

  /// Creates the calls of a store's suggestions.
  ///
  /// - Parameter lifetime: the time for which suggestions can be decided.
  package init(
    _ api: LocationsAPI, suggestions: Suggestions, lifetime: Duration = .seconds(30 * 86_400)
  ) {
    self.suggestions = suggestions
    service = api.configuration.service
    address = api.configuration.address
    clock = api.configuration.clock
    self.lifetime = lifetime
  }

  package var endpoints: [Endpoint] {
    let handlers: [any CallHandler] = [
      SuggestEditRoute(calls: self), SuggestPlaceRoute(calls: self), ListSuggestedEditsRoute(calls: self),
      SuggestedEditRoute(calls: self), AcceptSuggestedEditRoute(calls: self), RejectSuggestedEditRoute(calls: self),
    ]
    return handlers.map(\.endpoint)
  }

  /// Returns the suggestion that a request names.
  func suggestion(of request: HTTPRequest) async throws(Problem) -> Suggestion {
    let id = try PointID(inPathOf: request)
    let suggestion = try await request.result(
      of: await service.observed(.records, await suggestions.suggestion(id: id)))
    guard let suggestion else { throw notFound(id) }
    return suggestion
  }

  func notFound(_ id: PointID) -> Problem { .notFound("there is no suggestion with the id \(id)") }

  /// Returns the place of an id as the last write left it, or `nil`.
  func place(_ id: PointID, _ request: HTTPRequest) async throws(Problem) -> PointOfInterest? {
    try await request.result(of: await service.committedPoint(id: id))
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
      address: address.proxies.client(of: request)?.clientNetwork.digits, createdAt: now, lifetime: lifetime)
    let addition = try await request.result(
      of: await service.observed(.records, isWrite: true, await suggestions.add(suggestion, once: key)))
    switch addition {
    case .added: return created(suggestion, request)
    case .repeated(let known): return created(known, request)
    case .keyReused: throw Problem(PointWriteError.keyReused)
    case .refused(let refusal): throw Self.problem(for: refusal)
    }
  }

  /// Returns the suggestion that an earlier request with the same idempotency key made, or `nil`.
  ///
  /// - Throws: `Problem` 422 if that was another request.
  func suggestion(of key: IdempotencyKey?, _ request: HTTPRequest) async throws(Problem) -> Suggestion? {
    guard let key else { return nil }
    let addition = try await request.result(
      of: await service.observed(.records, await suggestions.addition(of: key, at: clock.now())))
    switch addition {
    case .repeated(let known)?: return known
    case .keyReused?: throw Problem(PointWriteError.keyReused)
    case .added?, .refused?, nil: return nil
    }
  }

  /// Returns the response to the creation of a suggestion.
  func created(_ suggestion: Suggestion, _ request: HTTPRequest) -> HTTPResponse {
    var response = self.response(suggestion, withContact: false)
    let target = address.target(
      path: "/suggestions/\(suggestion.id)",
      relative: suggestion.place == nil ? "suggestions/\(suggestion.id)" : "../../suggestions/\(suggestion.id)",
      for: request)
    response.addWritten(createdAt: target)
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
      case .noMemory: "the suggestions of this sender, or of all senders, take too much memory; a shorter one may fit"
      }
    return Problem(
      .tooManyRequests, code: "rate-limited", title: "Too many requests", detail: detail,
      headers: ["retry-after": "\(retrySeconds)"])
  }

  /// Returns the place of a draft.
  ///
  /// - Throws: `Problem` 422.
  static func draft(_ value: JSONValue) throws(Problem) -> PointDraft {
    try Problem.reporting(document: PointDocument(value.text)).draft
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
    try await request.writeResult(
      of: await service.observe(.records, isWrite: true) { () throws(PointWriteError) in
        try await suggestions.decide(
          suggestion.id, decision, changing: change, for: IdempotencyKey.client(of: request))
      })
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
    HTTPResponse(SuggestedEditJSON.object(suggestion, at: clock.now(), withContact: withContact)).uncacheable
  }
}

/// An edit that was suggested for a place, or a new place, until a reviewer accepts or rejects it.
package struct Suggestion: Codable, Sendable {
  /// The maximum number of open suggestions of a store.
  package static let maximumOpenCount = 10_000

  /// The maximum number of open suggestions of one key or token.
  package static let maximumOpenCountOfKey = 1_000

  /// The maximum number of open suggestions from one address: of IPv6 the first 64 bits.
  package static let maximumOpenCountOfAddress = 100

  package let id: PointID

  /// The place that the edit is for; `nil` for a new place.
  package let place: PointID?

  /// The version of the place that the edit was made to.
  package let version: Int64?

  /// The merge patch (RFC 7396), or the new place, as JSON.
  package let change: String

  /// The fields that differ, with their values before and after, as JSON.
  package let difference: String

  /// The number of fields that differ and are not in ``difference``; `nil` if all are.
  package let omittedDifferences: Int?
  package let comment: String?

  /// The means by which the suggester can be reached.
  package private(set) var contact: String?

  /// The namespace of the key or token that it was sent with.
  package private(set) var key: String?

  /// The address that it came from.
  package private(set) var address: String?

  package let createdAt: Timestamp

  /// The time at which the suggestion can't be decided any more, and the data of its sender are erased.
  package let expiresAt: Timestamp

  /// The decision; `nil` while there is none.
  package private(set) var decision: Decision?

  /// The decision of a reviewer.
  package struct Decision: Codable, Sendable {
    package let isAccepted: Bool
    package let reason: String?
    package let time: Timestamp

    /// The place that was changed or created.
    package fileprivate(set) var place: PointID?

    /// The version of the place after the change.
    package fileprivate(set) var version: Int64?

    package init(isAccepted: Bool, reason: String?, time: Timestamp) {
      self.isAccepted = isAccepted
      self.reason = reason
      self.time = time
    }
  }

  package enum State: String, CaseIterable, Sendable {
    case open, accepted, rejected, expired
  }

  package init(
    id: PointID, place: PointID?, version: Int64?, change: String, difference: String, omittedDifferences: Int? = nil,
    comment: String?, contact: String?, key: String?, address: String?, createdAt: Timestamp, lifetime: Duration
  ) {
    self.id = id
    self.place = place
    self.version = version
    self.change = change
    self.difference = difference
    self.omittedDifferences = omittedDifferences
    self.comment = comment
    self.contact = contact
    self.key = key
    self.address = address
    self.createdAt = createdAt
    expiresAt = createdAt.adding(lifetime)
  }

  package func state(at now: Timestamp) -> State {
    if let decision { return decision.isAccepted ? .accepted : .rejected }
    return now < expiresAt ? .open : .expired
  }

  /// The time at which the suggestion is removed: as long after its expiry as it could be decided before.
  fileprivate var removedAt: Timestamp {
    Timestamp(microsecondsSinceEpoch: 2 * expiresAt.microsecondsSinceEpoch - createdAt.microsecondsSinceEpoch)
  }

  /// A Boolean value that indicates whether it has data of its sender.
  fileprivate var hasSender: Bool { contact != nil || key != nil || address != nil }

  /// The suggestion without data of its sender.
  package var erased: Suggestion {
    var suggestion = self
    (suggestion.contact, suggestion.key, suggestion.address) = (nil, nil, nil)
    return suggestion
  }

  /// Returns the suggestion with a decision, and the result of the change that it accepts.
  package func decided(_ decision: Decision, _ result: PointOperationResult?) -> Suggestion {
    var (suggestion, decision) = (self, decision)
    switch result {
    case .created(let id, let version), .changed(let id, let version):
      (decision.place, decision.version) = (id, version)
    default: break
    }
    suggestion.decision = decision
    return suggestion
  }
}

/// The conditions of a list of suggestions, in the order of their ids, which is that of their creation.
package struct SuggestionQuery: Sendable {
  package var state: Suggestion.State?
  package var place: PointID?
  package var limit: Int

  /// The maximum number of bytes of the documents of a page, but for one of a longer suggestion.
  package var maximumBytes = PointPage.maximumTextBytes

  /// The id after which the list begins; `nil` for the first page.
  package var after: PointID?

  /// The time that decides which suggestions have expired.
  package var now: Timestamp

  package init(
    state: Suggestion.State? = nil, place: PointID? = nil, limit: Int, after: PointID? = nil, now: Timestamp
  ) {
    self.state = state
    self.place = place
    self.limit = limit
    self.after = after
    self.now = now
  }
}

/// The reason why a suggestion is not taken.
package enum SuggestionRefusal: Hashable, Sendable {
  /// There are ``Suggestion/maximumOpenCount`` open ones.
  case full
  /// There are ``Suggestion/maximumOpenCountOfKey`` open ones of the key.
  case tooManyOfKey
  /// There are ``Suggestion/maximumOpenCountOfAddress`` open ones from the address.
  case tooManyOfAddress
  /// Those that are kept in memory take too much of it, of the sender or of all.
  case noMemory
}

/// A page of suggestions, by id.
package struct SuggestionPage: Sendable {
  package fileprivate(set) var suggestions: [Suggestion] = []
  package fileprivate(set) var hasMore = false
}

/// The outcome of an addition.
package enum SuggestionAddition: Sendable {
  case added
  /// There is one of the same request with the same idempotency key, which has not expired.
  case repeated(Suggestion)
  /// There is one of another request with the same idempotency key, or one that can't be decoded.
  case keyReused
  case refused(SuggestionRefusal)
}

/// The outcome of a decision.
package enum SuggestionOutcome: Sendable {
  case decided(Suggestion)

  /// It was decided before, or has expired.
  case closed(Suggestion)

  case unknown

  /// The change that it accepts failed. Nothing was done.
  case failed(PointOperationResult)
}

/// The suggestions of a store of records.
package struct Suggestions: Sendable {
  private static let collection = RecordCollection("suggestions")

  /// The collection of the idempotency keys of suggestions, which are the ids of its records.
  private static let keys = RecordCollection("suggestion-keys")

  /// The maximum number of suggestions that are erased in one commit.
  private static let eraseCount = 500

  /// The document of an idempotency key.
  private struct KeptKey: Codable {
    let suggestion: PointID
    let requestHash: UInt64
  }

  private let records: any RecordStore

  package init(_ records: any RecordStore) { self.records = records }

  // MARK: Reading

  /// Returns the suggestion of an id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  package func suggestion(id: PointID) async throws(PointStoreError) -> Suggestion? {
    try await records.record(Self.id(id), in: Self.collection).flatMap { suggestion(of: $0) }
  }

  /// Returns a page of the suggestions that match. In place of those that can't be decoded come others.
  ///
  /// - Throws: ``PointStoreError``.
  package func page(matching query: SuggestionQuery) async throws(PointStoreError) -> SuggestionPage {
    var (page, bytes) = (SuggestionPage(), 0)
    var recordQuery = Self.recordQuery(of: query)
    while true {
      let found = try await records.records(matching: recordQuery)
      let decoded = await offThreadPool { found.map { (suggestion(of: $0), $0.document.utf8.count) } }
      for case (let suggestion?, let length) in decoded {
        page.hasMore =
          page.suggestions.count == query.limit || !page.suggestions.isEmpty && bytes + length > query.maximumBytes
        if page.hasMore { return page }
        page.suggestions.append(suggestion)
        bytes += length
      }
      let foundBytes = decoded.reduce(0) { $0 + $1.1 }
      guard let last = found.last, found.count == recordQuery.limit || foundBytes > query.maximumBytes else {
        return page
      }
      recordQuery.after = last.id
    }
  }

  private static func recordQuery(of query: SuggestionQuery) -> RecordQuery {
    var records = RecordQuery(
      collection, after: query.after.map(id), limit: query.limit + 1, maximumBytes: query.maximumBytes)
    records.fields["place"] = query.place.map(id)
    switch query.state {
    case .open?:
      (records.fields["state"], records.expiry) = (ExactText(Suggestion.State.open.rawValue), .unexpired(at: query.now))
    case .expired?:
      (records.fields["state"], records.expiry) = (ExactText(Suggestion.State.open.rawValue), .expired(at: query.now))
    case let state?: records.fields["state"] = ExactText(state.rawValue)
    case nil: break
    }
    return records
  }

  /// Returns the number of suggestions that are open at a time, and a mark of them.
  ///
  /// - Throws: ``PointStoreError``.
  package func open(at now: Timestamp) async throws(PointStoreError) -> RecordSummary {
    try await records.summary(of: Self.recordQuery(of: SuggestionQuery(state: .open, limit: 0, now: now)))
  }

  /// The number of open suggestions, of which messages tell.
  package var messages: MessageSource {
    MessageSource(
      name: "suggestion", member: "suggestions", messageType: "suggestions.changed", countMember: "openSuggestions",
      description: "Sends the number of open suggested edits whenever some were added, decided or have expired."
    ) { now throws(PointStoreError) in try await open(at: now) }
  }

  /// Returns the addition of a suggestion that an earlier request with the same idempotency key has made; `nil` if there
  /// is none that has not expired.
  ///
  /// - Throws: ``PointStoreError``.
  package func addition(
    of key: IdempotencyKey, at now: Timestamp
  ) async throws(PointStoreError) -> SuggestionAddition? {
    guard let record = try await record(of: key), Self.isValid(record, at: now) else { return nil }
    return try await addition(of: key, record)
  }

  private func record(of key: IdempotencyKey) async throws(PointStoreError) -> Record? {
    try await records.record(ExactText(key.text), in: Self.keys)
  }

  private static func isValid(_ key: Record, at now: Timestamp) -> Bool { key.expiresAt.map { now < $0 } ?? true }

  private func addition(
    of key: IdempotencyKey, _ record: Record
  ) async throws(PointStoreError) -> SuggestionAddition {
    guard let kept = try? JSONDecoder().decode(KeptKey.self, from: Data(record.document.utf8)) else {
      records.damagedRows?.note(key: key.text, in: "records, collection \(Self.keys.name)", reason: "it is none")
      return .keyReused
    }
    guard kept.requestHash == key.requestHash, let known = try await suggestion(id: kept.suggestion) else {
      return .keyReused
    }
    return .repeated(known)
  }

  // MARK: Changes

  /// Adds a suggestion, once for an idempotency key until it expires.
  ///
  /// - Throws: ``PointStoreError``.
  package func add(
    _ suggestion: Suggestion, once key: IdempotencyKey? = nil
  ) async throws(PointStoreError) -> SuggestionAddition {
    let record = try Self.record(of: suggestion)
    let maxima = Self.maxima(for: suggestion)
    let limits = RecordLimits(
      of: Self.collection, at: suggestion.createdAt, maxima.map(\.count), owner: Self.owner(of: suggestion))
    return try await retrying(orThrow: .overloaded) { () async throws(PointStoreError) -> SuggestionAddition? in
      var changes = [RecordChange.insert(record)]
      if let key {
        let former = try await self.record(of: key)
        if let former, Self.isValid(former, at: suggestion.createdAt) { return try await addition(of: key, former) }
        let kept = Record(
          Self.keys, id: ExactText(key.text), revision: former?.revision ?? 1, expiresAt: suggestion.expiresAt,
          keptUntil: suggestion.expiresAt,
          document: try Self.document(of: KeptKey(suggestion: suggestion.id, requestHash: key.requestHash)))
        changes.append(former == nil ? .insert(kept) : .replace(kept))
      }
      switch try await records.commit(changes, within: limits) {
      case .committed: return .added
      case .full(let index): return .refused(maxima[index].refusal)
      case .noMemory: return .refused(.noMemory)
      // A request with the same idempotency key came between.
      case .conflict, .failed: return nil
      }
    }
  }

  /// The maximum numbers of open suggestions, in the order in which they are reported.
  private static func maxima(
    for suggestion: Suggestion
  ) -> [(count: RecordLimits.Count, refusal: SuggestionRefusal)] {
    func count(_ maximum: Int, _ field: ExactText? = nil, _ value: String? = nil) -> RecordLimits.Count {
      var fields: [ExactText: ExactText] = ["state": ExactText(Suggestion.State.open.rawValue)]
      if let field { fields[field] = value.map { ExactText($0) } }
      return RecordLimits.Count(maximum, fields: fields)
    }
    var maxima: [(count: RecordLimits.Count, refusal: SuggestionRefusal)] = []
    if let key = suggestion.key {
      maxima.append((count(Suggestion.maximumOpenCountOfKey, "key", key), .tooManyOfKey))
    }
    if let address = suggestion.address {
      maxima.append((count(Suggestion.maximumOpenCountOfAddress, "address", address), .tooManyOfAddress))
    }
    return maxima + [(count(Suggestion.maximumOpenCount), .full)]
  }

  /// The sender to whose share of the memory a suggestion counts: the key, or else the address.
  private static func owner(of suggestion: Suggestion) -> [ExactText: ExactText] {
    if let key = suggestion.key { return ["key": ExactText(key)] }
    return ["address": ExactText(suggestion.address ?? "")]
  }

  /// Decides an open suggestion, and makes the change that it accepts, in one transaction.
  ///
  /// - Parameter change: the change; `nil` for none.
  /// - Throws: ``PointWriteError``: `store`, or `tooLarge`.
  package func decide(
    _ id: PointID, _ decision: Suggestion.Decision, changing change: PointOperation?, for client: String? = nil
  ) async throws(PointWriteError) -> SuggestionOutcome {
    try await retrying(orThrow: .store(.overloaded)) { () async throws(PointWriteError) -> SuggestionOutcome? in
      let found = try await PointWriteError.wrapping(await records.record(Self.id(id), in: Self.collection))
      // One that can't be decoded is not found by its id either.
      guard let found, let suggestion = suggestion(of: found) else { return .unknown }
      guard suggestion.state(at: decision.time) == .open else { return .closed(suggestion) }
      var batch = change.map { PointBatch([$0], isAtomic: true) }
      batch?.client = client
      let outcome = try await records.commit(applying: batch, within: nil) { results throws(PointStoreError) in
        let decided = suggestion.decided(decision, results.first)
        return [.replace(try Self.record(of: decided, revision: found.revision))]
      }
      switch outcome {
      case .committed(let results): return .decided(suggestion.decided(decision, results.first))
      case .failed(let result):
        // The place may be that of another decision, which came before this one.
        let current = try await PointWriteError.wrapping(await records.record(found.id, in: Self.collection))
        return current?.revision == found.revision ? .failed(result) : nil
      case .conflict, .full, .noMemory: return nil
      }
    }
  }

  /// Removes the suggestions whose time has come, and erases the senders of those that have expired.
  ///
  /// - Returns: the number of suggestions that were removed or erased.
  /// - Throws: ``PointStoreError``.
  package func prune(at now: Timestamp) async throws(PointStoreError) -> Int {
    _ = try await records.removeRecords(of: Self.keys, keptUntil: now)
    var count = try await records.removeRecords(of: Self.collection, keptUntil: now)
    let query = RecordQuery(
      Self.collection, fields: ["sender": "kept"], .expired(at: now), limit: Self.eraseCount,
      maximumBytes: PointPage.maximumTextBytes)
    while true {
      let expired = try await records.records(matching: query)
      if expired.isEmpty { return count }
      let changes = try await offThreadPool {
        Result { () throws(PointStoreError) -> [RecordChange] in
          var changes: [RecordChange] = []
          for record in expired { changes.append(.replace(try erased(record))) }
          return changes
        }
      }.get()
      // Another instance may have come between.
      if try await records.commit(changes).isCommitted { count += expired.count }
    }
  }

  /// Returns a record without data of the sender. A document that can't be decoded stays as it is until it is removed.
  private func erased(_ record: Record) throws(PointStoreError) -> Record {
    if let suggestion = suggestion(of: record) {
      return try Self.record(of: suggestion.erased, revision: record.revision)
    }
    var record = record
    for field: ExactText in ["sender", "key", "address"] { record.fields[field] = nil }
    return record
  }

  // MARK: Records

  private static func id(_ id: PointID) -> ExactText { ExactText(id.description) }

  private static func document(of value: some Encodable) throws(PointStoreError) -> String {
    do {
      return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    } catch {
      throw .unexpected(reason: "a suggestion can't be encoded: \(error)")
    }
  }

  private static func record(of suggestion: Suggestion, revision: Int64 = 1) throws(PointStoreError) -> Record {
    // One that is open may have expired.
    let state: Suggestion.State = suggestion.decision.map { $0.isAccepted ? .accepted : .rejected } ?? .open
    var fields: [ExactText: ExactText] = ["state": ExactText(state.rawValue)]
    fields["place"] = suggestion.place.map(id)
    fields["key"] = suggestion.key.map { ExactText($0) }
    fields["address"] = suggestion.address.map { ExactText($0) }
    fields["sender"] = suggestion.hasSender ? "kept" : nil
    return Record(
      collection, id: id(suggestion.id), revision: revision, fields: fields, expiresAt: suggestion.expiresAt,
      keptUntil: suggestion.removedAt, document: try document(of: suggestion))
  }

  /// Returns the suggestion of a record; `nil` if it can't be decoded, after a line in the log.
  private func suggestion(of record: Record) -> Suggestion? {
    do {
      let suggestion = try JSONDecoder().decode(Suggestion.self, from: Data(record.document.utf8))
      if Self.id(suggestion.id) == record.id { return suggestion }
      records.damagedRows?.note(
        record: record.id, in: Self.collection, reason: "its document has the id \(suggestion.id)")
    } catch {
      records.damagedRows?.note(record: record.id, in: Self.collection, reason: "\(error)")
    }
    return nil
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
  static func object(_ suggestion: Suggestion, at now: Timestamp, withContact: Bool) -> JSONWriter<[UInt8]> {
    .object { write(suggestion, at: now, withContact: withContact, to: &$0) }
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
  /// Returns the draft of a part of the body, whose problem gets the pointer of the part.
  fileprivate static func reporting(
    _ draft: @autoclosure () throws(Problem) -> PointDraft, in pointer: String
  ) throws(Problem) -> PointDraft {
    do {
      return try draft()
    } catch {
      var problem = error
      problem.errors = error.errors.map { $0.inside(pointer) }
      throw problem
    }
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
    media: [.init(.json, .suggestionDecision, example: ["reason": "Seen on the spot."])])
}

extension Examples {
  fileprivate static let editSuggestion: JSONValue = [
    "patch": ["tags": ["opening_hours": "Tu-Su 10:00-17:00"]], "comment": "Closed on Mondays since October.",
    "contact": "visitor@example.com",
  ]

  fileprivate static let placeSuggestion: JSONValue = ["draft": draft, "comment": "Opened last week."]
}

extension Schema {
  private static func suggestionText(_ description: String, maximum: Int) -> Schema {
    Schema(
      .string, description,
      ["maxLength": .count(maximum), "pattern": #"^[^\u0000-\u0008\u000B-\u001F\u007F-\u009F]*$"#])
  }

  private static let suggestionComment = suggestionText(
    "A note for the reviewer.", maximum: SuggestedEditBody.maximumCommentLength)
  private static let suggestionContact = suggestionText(
    "The contact of the suggester. Only reviewers see it, and it is erased at `expiresAt`.",
    maximum: SuggestedEditBody.maximumContactLength)
  private static let suggestionReason = suggestionText(
    "The reason, which the suggester can read.", maximum: SuggestedEditBody.maximumReasonLength)

  fileprivate static let editSuggestion = Schema(
    .object(
      [
        .required("patch", .placePatch), .optional("comment", suggestionComment.orNull),
        .optional("contact", suggestionContact.orNull),
      ], others: nil)
  ).named("EditSuggestion", order: 580)

  fileprivate static let placeSuggestion = Schema(
    .object(
      [
        .required("draft", .placeDraft), .optional("comment", suggestionComment.orNull),
        .optional("contact", suggestionContact.orNull),
      ], others: nil)
  ).named("PlaceSuggestion", order: 590)

  fileprivate static let suggestionDecision = Schema(
    .object([.optional("reason", suggestionReason.orNull)], others: nil)
  ).named("SuggestionDecision", order: 600)

  fileprivate static let fieldDifference = Schema(
    .object(
      [
        .required("field", Schema(.string, "The field as a JSON pointer.", example: "/tags/opening_hours")),
        .required(
          "before", Schema(.any, "The value of the version; null for none. A long text is shortened.")),
        .required("after", Schema(.any, "The suggested value; null for none.")),
      ], others: nil),
    "A field in which the suggested place differs."
  ).named("FieldDifference", order: 610)

  fileprivate static let suggestedEdit = Schema(
    .object(
      [
        .required("id", uuid), .required("state", .oneOf(Suggestion.State.allCases.map(\.rawValue))),
        .optional("place", Schema(.string, "The place that the suggestion is for.", ["format": "uuid"])),
        .optional("version", Schema(.integer, "The version of the place that it is for.")),
        .optional("patch", .placePatch), .optional("draft", .placeDraft),
        .required("difference", Schema(.array(of: .fieldDifference))),
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
    "An edit that was suggested: a `patch` of a place, or the `draft` of a new one."
  ).named("SuggestedEdit", order: 570)
}

extension CallGroup {
  static let suggestions = CallGroup(
    name: "Suggestions", order: 80, description: "Suggest changes of places and new ones, and decide about them.")
}
