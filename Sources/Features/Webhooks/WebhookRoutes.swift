import APIDescription
import Basics
import HTTPServer
import JSONText
package import LocationsAPI
import ManagementAPI
import NIOHTTP1
import PointFormats
package import Points

/// `POST /webhooks`: registers an endpoint that changes are sent to.
struct CreateWebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .POST, "/webhooks", scope: .admin, id: "createWebhook", group: .changes,
      summary: "Register a webhook",
      description:
        "Changes from now on are sent to the address as the Standard Webhooks specification 1.0.0 describes. The response"
        + " has the secret, this once. A repeat with the same `Idempotency-Key` gets the webhook as it is then, with its"
        + " secret.",
      requestHeaders: [.idempotencyKey],
      body: BodyDescription(description: "The webhook.", media: [.init(.json, schemas.draft)]),
      caching: .forbidden,
      responses: [
        .init(201, "The webhook, with its secret.", headers: [.location.required], media: .json(schemas.webhook))
      ],
      problems: ProblemDescription.webhook.union([
        .init(409, .conflict), .init(410, .positionExpired), .init(422, .idempotencyKeyReused),
      ]))
  }

  let calls: WebhookCalls
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let sender = try calls.sender()
    let areas = try await calls.areas.forRequest(request)
    let (draft, body) = try await PointBody.readQuery(request) { body throws(Problem) in
      try WebhookDraft(body, isPatch: false, calls, areas)
    }
    let key = try IdempotencyKey.read(request, of: request.principal, body: body)
    guard let url = draft.url else {
      throw .badRequest([ProblemError(.pointer("/url"), "must be given")], code: .missing)
    }
    try await calls.check(draft, sender)
    let position = try await request.result(of: await sender.changes.presentPosition())
    let now = sender.clock.now()
    var generator = SystemRandomNumberGenerator()
    var new = Webhook(
      id: PointID(at: now, using: &generator), url: url, filter: draft.filter.flatMap(\.self),
      secrets: WebhookSecrets(draft.newSecret ?? .generate()), position: position, createdAt: now)
    new.note(areaMark: areas.named?.tag)
    draft.follow(calls.sources, in: &new)
    let webhook = try await request.writeResult(of: await sender.store.create(new, once: key))
    guard let webhook else {
      throw Problem(
        .conflict, code: "conflict", detail: "there are \(Webhook.maximumCount) webhooks, which is the maximum number")
    }
    var response = calls.json.response(webhook, secret: webhook.secrets.current)
    let relative = "webhooks/\(webhook.id)"
    response.addWritten(createdAt: address.target(path: "/" + relative, relative: relative, for: request))
    return response
  }
}

/// `GET /webhooks`: all webhooks.
struct ListWebhooksRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .GET, "/webhooks", scope: .admin, id: "listWebhooks", group: .changes, link: "webhooks",
      summary: "List the webhooks", caching: .forbidden,
      responses: [.init(200, "The webhooks.", media: .json(Schema(.array(of: schemas.webhook))))],
      problems: ProblemDescription.webhook)
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let sender = try calls.sender()
    let webhooks = try await request.result(of: await sender.store.webhooks(id: nil))
    var json = JSONWriter()
    json.writeArray(of: webhooks) { webhook, json in calls.json.write(webhook, to: &json) }
    return HTTPResponse(json).uncacheable
  }
}

/// `GET /webhooks/{id}`: a webhook with its last deliveries.
struct WebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .GET, "/webhooks/{id}", scope: .admin, id: "getWebhook", group: .changes,
      summary: "Get a webhook and its last deliveries", describing: ["id": .webhookID], caching: .forbidden,
      responses: [.init(200, "The webhook.", media: .json(schemas.webhook))],
      problems: ProblemDescription.webhook)
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    return calls.json.response(try await calls.webhook(of: request))
  }
}

/// `PATCH /webhooks/{id}`: changes a webhook by a JSON merge patch (RFC 7396).
struct ChangeWebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .PATCH, "/webhooks/{id}", scope: .admin, id: "changeWebhook", group: .changes, summary: "Change a webhook",
      description:
        "A JSON merge patch (RFC 7396). `secret` replaces the secret, and `null` has the service make one, which the"
        + " response has this once; messages are signed with the former one too for \(WebhookSecrets.rotationHours) hours."
        + " `enabled` continues from the position at which the webhook was disabled.",
      describing: ["id": .webhookID],
      body: .mergePatch(schemas.patch, of: "members"),
      caching: .forbidden,
      responses: [.init(200, "The webhook.", media: .json(schemas.webhook))],
      problems: ProblemDescription.webhook)
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let webhook = try await calls.webhook(of: request)
    let sender = try calls.sender()
    let patch = try await PointBody.readPatch(request)
    let areas = try await calls.areas.forRequest(request)
    func parsed() throws(Problem) -> WebhookDraft {
      try WebhookDraft(patch, isPatch: true, calls, areas)
    }
    let draft = PointBody.hasLongConditions(patch) ? try await request.computing(parsed) : try parsed()
    try await calls.check(draft, sender)
    let now = sender.clock.now()
    let changed = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await sender.store.update(webhook.id) { webhook in
        if let url = draft.url { webhook.url = url }
        if let filter = draft.filter {
          webhook.filter = filter
          webhook.note(areaMark: areas.named?.tag)
        }
        draft.follow(calls.sources, in: &webhook)
        if let secret = draft.newSecret { webhook.secrets.rotate(to: secret, at: now) }
        switch draft.isEnabled {
        case false?: webhook.disable(because: "a request disabled it")
        case true?: webhook.enable(at: now)
        case nil: if draft.url != nil, webhook.disabledReason == nil { webhook.enable(at: now) }
        }
        webhook.updatedAt = now
        return true
      }
    }
    guard let changed else { throw calls.notFound(webhook.id) }
    return calls.json.response(changed, secret: draft.isSecretGenerated ? draft.newSecret : nil)
  }
}

/// `DELETE /webhooks/{id}`: removes a webhook.
struct RemoveWebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .DELETE, "/webhooks/{id}", scope: .admin, id: "removeWebhook", group: .changes, summary: "Remove a webhook",
      describing: ["id": .webhookID], responses: [.init(204, "The webhook is removed.")],
      problems: ProblemDescription.webhook)
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let sender = try calls.sender()
    let id = try PointID(inPathOf: request)
    let isRemoved = try await request.result(of: await sender.store.removeWebhook(id: id))
    guard isRemoved else { throw calls.notFound(id) }
    return HTTPResponse(status: .noContent)
  }
}

/// `POST /webhooks/{id}/test`: sends a message without changes at once.
struct TestWebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .POST, "/webhooks/{id}/test", scope: .admin, id: "testWebhook", group: .changes,
      summary: "Send a test message",
      description:
        "Sends a signed message of the type `webhook.test` without changes, once, also to a disabled webhook. The response"
        + " has the outcome, whatever it is.",
      describing: ["id": .webhookID], caching: .forbidden,
      responses: [.init(200, "The outcome.", media: .json(.webhookDelivery))],
      problems: ProblemDescription.webhook)
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let webhook = try await calls.webhook(of: request)
    let delivery = try await calls.sender().sendTest(to: webhook)
    return HTTPResponse(.object { WebhookJSON.write(delivery, to: &$0) }).uncacheable
  }
}

/// `POST /webhooks/{id}/replay`: sends the changes since a position again.
struct ReplayWebhookRoute: WebhookHandler {
  static func call(_ schemas: WebhookSchemas) -> Call {
    Call(
      .POST, "/webhooks/{id}/replay", scope: .admin, id: "replayWebhook", group: .changes,
      summary: "Send changes again from a position",
      description: "Continues from the position, in place of the message that waits, and enables the webhook.",
      parameters: [.since],
      describing: [
        "id": .webhookID,
        "since": .init(
          "Position after which changes are sent.",
          Schema(.string, nil, ["minLength": 1], example: "2bv0aw9dz0.1k3.1k3"), isRequired: true),
      ],
      caching: .forbidden,
      responses: [.init(200, "The webhook.", media: .json(schemas.webhook))],
      problems: ProblemDescription.webhook.union([.init(410, .positionExpired)]))
  }

  let calls: WebhookCalls

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: [.since])
    if !values.has(.since) { values.note(.missing, Parameter.since.name, "must be given") }
    try values.check()
    let webhook = try await calls.webhook(of: request)
    let (sender, position) = (try calls.sender(), PositionText.parts(of: values[.since] ?? "").position)
    do throws(ChangeReadError) {
      _ = try await sender.changes.page(after: position, limit: 1)
    } catch {
      throw request.problem(for: error)
    }
    let now = sender.clock.now()
    let changed = try await request.result(
      of: await sender.store.update(webhook.id) { webhook in
        webhook.replay(from: position, at: now)
        return true
      })
    guard let changed else { throw calls.notFound(webhook.id) }
    return calls.json.response(changed)
  }
}

/// The handler of a call of webhooks, whose description depends on what they may follow.
protocol WebhookHandler: RouteHandler {
  static func call(_ schemas: WebhookSchemas) -> Call
}

extension WebhookHandler {
  func endpoint(_ schemas: WebhookSchemas) -> Endpoint { Self.call(schemas).handled(by: self) }
}

/// The parts that the calls of webhooks share.
package struct WebhookCalls: Sendable {
  /// The number of seconds after which an address may be checked again beside too many others. A look-up may take as
  /// long.
  private static let lookupRetrySeconds = 10

  /// The sender; `nil` if the store keeps nothing.
  private let optionalSender: WebhookSender?
  let filtering: Filtering
  let areas: any AreaStore
  private let usesIndex: Bool
  private let address: PublicAddress

  /// The sources of messages that webhooks may follow, besides changes of places.
  let sources: [MessageSource]

  fileprivate var json: WebhookJSON { WebhookJSON(sources: sources) }

  /// Creates the calls.
  ///
  /// - Parameters:
  ///   - sender: the sender; `nil` if the store keeps nothing, so that they are 501.
  ///   - sources: the sources of messages that webhooks may follow, besides changes of places.
  package init(_ api: LocationsAPI, sender: WebhookSender?, sources: [MessageSource]) {
    optionalSender = sender
    filtering = api.configuration.filtering
    areas = api.configuration.areas
    usesIndex = api.configuration.service.usesIndex
    address = api.configuration.address
    self.sources = sources
  }

  package var endpoints: [Endpoint] {
    let schemas = WebhookSchemas(sources)
    let handlers: [any WebhookHandler] = [
      CreateWebhookRoute(calls: self, address: address), ListWebhooksRoute(calls: self), WebhookRoute(calls: self),
      ChangeWebhookRoute(calls: self), RemoveWebhookRoute(calls: self), TestWebhookRoute(calls: self),
      ReplayWebhookRoute(calls: self),
    ]
    return handlers.map { $0.endpoint(schemas) }
  }

  /// Returns the sender.
  ///
  /// - Throws: `Problem` 501 if the store keeps nothing.
  func sender() throws(Problem) -> WebhookSender {
    if let optionalSender { return optionalSender }
    throw Problem(
      .notImplemented, code: "not-implemented",
      detail: "webhooks need a durable store: PostgreSQL, or the memory store with MEMORY_STORE_PATH")
  }

  /// Returns the webhook that a request names.
  func webhook(of request: HTTPRequest) async throws(Problem) -> Webhook {
    let sender = try sender()
    let id = try PointID(inPathOf: request)
    let webhook = try await request.result(of: await sender.store.webhooks(id: id).first)
    guard let webhook else { throw notFound(id) }
    return webhook
  }

  func notFound(_ id: PointID) -> Problem { .notFound("there is no webhook with the id \(id)") }

  /// Checks what a draft says against the settings.
  ///
  /// - Throws: `Problem` 400 for an address that messages can't be sent to, 501 for a filter that needs the index, or
  ///   503 if too many addresses are being checked.
  func check(_ draft: WebhookDraft, _ sender: WebhookSender) async throws(Problem) {
    if draft.needsIndex, !usesIndex { throw Problem(.indexRequired) }
    guard let url = draft.url else { return }
    let reason: String?
    do throws(WebhookCheckOverload) {
      reason = try await sender.transport.rejection(of: url)
    } catch {
      throw Problem(
        .serviceUnavailable, code: ProblemCode.overloaded.rawValue, title: "Overloaded",
        detail: "the hosts of too many other webhooks are being looked up",
        headers: ["retry-after": "\(Self.lookupRetrySeconds)"])
    }
    if let reason { throw .badRequest([ProblemError(.pointer("/url"), reason)], code: .invalid) }
  }
}

/// The members of a body that creates or changes a webhook.
struct WebhookDraft: Sendable {
  /// The length up to which a filter is accepted, in bytes.
  private static let maximumFilterBytes = 32 * 1024
  private static let maximumURLBytes = 2000

  private(set) var url: String?

  /// The filter, as text; `nil` within for none.
  private(set) var filter: String??

  /// The sources that are followed or no longer, by name.
  private var followed: [String: Bool] = [:]
  private(set) var newSecret: WebhookSecret?
  private(set) var isSecretGenerated = false
  private(set) var isEnabled: Bool?
  private(set) var needsIndex = false

  /// Creates the draft of a body.
  ///
  /// - Parameter isPatch: a Boolean value that indicates whether `null` removes a member, and `enabled` is one.
  /// - Throws: `Problem` 400 with every invalid member.
  init(_ body: JSONValue, isPatch: Bool, _ calls: WebhookCalls, _ areas: RequestAreas) throws(Problem) {
    var reader = MemberReader(
      names: ["url", "filter"] + calls.sources.map { $0.member.description } + ["secret"]
        + (isPatch ? ["enabled"] : []))
    for member in try MemberReader.members(of: body) {
      switch (member.name, member.value) {
      case ("url", .string(let text)) where text.utf8.count <= Self.maximumURLBytes: url = text
      case ("url", _): reader.note("url", "must be an address of at most \(Self.maximumURLBytes) bytes")
      case ("filter", .null) where isPatch: filter = .some(nil)
      case ("filter", .object):
        let text = String(decoding: member.value.text, as: UTF8.self)
        guard text.utf8.count <= Self.maximumFilterBytes else {
          reader.note("filter", "must have at most \(Self.maximumFilterBytes) bytes")
          break
        }
        do throws(Problem) {
          needsIndex = try WebhookFilter.query(of: member.value, calls.filtering, areas).needsIndex
          filter = text
        } catch {
          reader.note(error, in: "filter")
        }
      case ("filter", _): reader.note("filter", "must be an object of conditions")
      case ("secret", .null) where isPatch: (newSecret, isSecretGenerated) = (.generate(), true)
      case ("secret", .string(let text)):
        newSecret = WebhookSecret(text)
        if newSecret == nil { reader.note("secret", "must be whsec_ followed by 24 to 64 bytes in base 64") }
      case ("secret", _): reader.note("secret", "must be whsec_ followed by 24 to 64 bytes in base 64")
      case ("enabled", .bool(let isSet)) where isPatch: isEnabled = isSet
      case ("enabled", _) where isPatch: reader.note("enabled", "must be true or false")
      default:
        guard let source = calls.sources.first(where: { $0.member.description == member.name }) else {
          reader.noteUnknown(member.name)
          break
        }
        if case .bool(let isSet) = member.value {
          followed[source.name] = isSet
        } else {
          reader.note(member.name, "must be true or false")
        }
      }
    }
    try reader.check()
  }

  /// Has a webhook follow the sources that the body names, or no longer.
  func follow(_ sources: [MessageSource], in webhook: inout Webhook) {
    for source in sources {
      if let isFollowed = followed[source.name] { webhook.follow(source, isFollowed) }
    }
  }
}

/// The filters of webhooks: the members of a body of `POST /locations/search` that are conditions of changes.
package enum WebhookFilter {
  /// Returns the conditions of a filter.
  ///
  /// - Throws: `Problem` 400 with every invalid member.
  static func query(
    of filter: JSONValue, _ filtering: Filtering, _ areas: RequestAreas?
  ) throws(Problem) -> PointQuery {
    var values = try ParameterValues(filter, allowing: .changeFilters)
    values.areas = areas
    let query = values.changeFilters(by: filtering)
    try values.check()
    return query
  }

  /// Returns the conditions of a stored filter, and a mark of the area that it names, which changes with it.
  ///
  /// - Throws: `Problem` 400, where the settings or the areas have changed, or ``PointStoreError``.
  package static func conditions(
    of json: String, _ filtering: Filtering, _ areas: any AreaStore
  ) async throws -> (query: PointQuery, areaMark: String?) {
    let filter = try JSONReader.value(of: json.utf8, maximumDepth: PointBody.queryDepth)
    guard filter[Parameter.area.name] != nil else { return (try query(of: filter, filtering, nil), nil) }
    let context = RequestAreas(try await areas.areas(isCurrent: false))
    return (try query(of: filter, filtering, context), context.named?.tag)
  }
}

/// Webhooks as JSON.
private struct WebhookJSON {
  let sources: [MessageSource]

  func response(_ webhook: Webhook, secret: WebhookSecret? = nil) -> HTTPResponse {
    HTTPResponse(.object { write(webhook, secret: secret, to: &$0) }).uncacheable
  }

  func write(_ webhook: Webhook, secret: WebhookSecret? = nil, to json: inout JSONWriter<[UInt8]>) {
    json.write(member: "id", "\(webhook.id)")
    json.write(member: "url", webhook.url)
    if let filter = webhook.filter {
      json.write(name: "filter")
      json.write(json: filter)
    }
    for source in sources where webhook.follows(source) { json.write(member: source.member, true) }
    if let secret { json.write(member: "secret", secret.text) }
    json.write(member: "enabled", webhook.disabledReason == nil)
    if let reason = webhook.disabledReason { json.write(member: "disabledReason", reason) }
    json.write(member: "position", webhook.position)
    if let pending = webhook.pending {
      json.write(name: "pending")
      json.beginObject()
      json.write(member: "id", pending.id)
      json.write(member: "changes", pending.changeCount)
      json.write(member: "createdAt", "\(pending.createdAt)")
      json.write(member: "failedAttempts", pending.attempts)
      json.write(member: "nextAttemptAt", "\(pending.nextAttemptAt)")
      json.endObject()
    }
    json.write(name: "deliveries")
    json.writeArray(of: webhook.deliveries) { delivery, json in Self.write(delivery, to: &json) }
    json.write(member: "createdAt", "\(webhook.createdAt)")
    json.write(member: "updatedAt", "\(webhook.updatedAt)")
  }

  static func write(_ delivery: WebhookDelivery, to json: inout JSONWriter<[UInt8]>) {
    json.write(member: "id", delivery.messageID)
    json.write(member: "time", "\(delivery.time)")
    json.write(member: "milliseconds", delivery.milliseconds)
    if let status = delivery.status { json.write(member: "status", status) }
    if let error = delivery.error { json.write(member: "error", error) }
  }
}

// MARK: Descriptions

extension ProblemDescription {
  /// The problems of calls of webhooks.
  fileprivate static let webhook: Set = [ProblemDescription(501, .notImplemented)]
}

extension ParameterDescription {
  fileprivate static let webhookID = ParameterDescription("Id of the webhook.", Schema.uuid, isRequired: true)
}

extension Schema {
  fileprivate static let webhookURL = Schema(
    .string, "The address that messages are sent to.", ["maxLength": 2000],
    example: "https://partner.example.com/waymark")
  fileprivate static let webhookFilter = Schema(
    .object(members(for: .changeFilters), others: nil),
    "The conditions, as in `POST /locations/search`: places that do not match are `outside`.",
    example: ["category": ["cafe"]]
  ).named("WebhookFilter", order: 660)
  fileprivate static let webhookSecret = Schema(
    .string, "The key of the signatures: `whsec_` and 24 to 64 bytes in base 64.",
    ["pattern": "^whsec_[A-Za-z0-9+/]{32,}={0,2}$", "maxLength": 94],
    example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

  fileprivate static let webhookDelivery = Schema(
    .object(
      [
        .required("id", Schema(.string, "The id of the message.")), .required("time", time),
        .required("milliseconds", count),
        .optional("status", Schema(.integer, "The status of the response.")),
        .optional("error", Schema(.string, "The reason why there was no response.")),
      ], others: nil),
    "An attempt to send a message."
  ).named("WebhookDelivery", order: 650)
}

/// The schemas of webhooks, which depend on what they may follow.
struct WebhookSchemas {
  let draft: Schema
  let patch: Schema
  let webhook: Schema

  init(_ sources: [MessageSource]) {
    let followed = sources.map { Schema.Property.optional($0.member.description, Schema(.boolean, $0.description)) }
    draft = Schema(
      .object(
        [.required("url", .webhookURL), .optional("filter", .webhookFilter)] + followed
          + [.optional("secret", .webhookSecret)], others: nil)
    ).named("WebhookDraft", order: 630)
    patch = Schema(
      .object(
        [.optional("url", .webhookURL), .optional("filter", Schema.webhookFilter.orNull)] + followed
          + [.optional("secret", Schema.webhookSecret.orNull), .optional("enabled", Schema(.boolean))], others: nil)
    ).named("WebhookPatch", order: 640)
    let message = Schema(
      .object(
        [
          .required("id", Schema(.string)), .required("changes", .count), .required("createdAt", .time),
          .required("failedAttempts", .count), .required("nextAttemptAt", .time),
        ], others: nil),
      "The message that is sent next.")
    let state: [Schema.Property] = [
      .optional("secret", .webhookSecret), .required("enabled", Schema(.boolean)),
      .optional("disabledReason", Schema(.string, "The reason why nothing is sent.")),
      .required("position", Schema(.string, "The position after the last message that was received.")),
      .optional("pending", message),
      .required("deliveries", Schema(.array(of: .webhookDelivery), "The last attempts.")),
      .required("createdAt", .time), .required("updatedAt", .time),
    ]
    webhook = Schema(
      .object(
        [.required("id", .uuid), .required("url", .webhookURL), .optional("filter", .webhookFilter)] + followed + state,
        others: nil)
    ).named("Webhook", order: 620)
  }
}
