import APIDescription
import AccessControl
import Basics
package import HTTPServer
import JSONText
package import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// The call of the Model Context Protocol.
package struct MCPCalls: Sendable {
  package let endpoints: [Endpoint]

  /// Creates the call.
  ///
  /// - Parameter cors: the pages of other origins that may make it.
  package init(_ api: LocationsAPI, cors: CORSPolicy = CORSPolicy()) {
    endpoints = [MCPRoute(api, cors: cors).endpoint]
  }
}

/// `POST /mcp`: the Model Context Protocol, by which assistants call tools that read places.
///
/// There are no sessions and no streams: each message is a request of its own, and its response one JSON object. The
/// clients of the revisions with a handshake get its result, which binds neither side to anything.
struct MCPRoute: CallHandler {
  /// The maximum length of a message: arguments are parsed and written again on the event loop.
  private static let maximumBytes = 64 * 1024

  static let call = Call(
    .POST, "/mcp", scope: .read, joinsRestriction: true, id: "callTool", group: .assistants,
    summary: "Read places as an assistant",
    description:
      "The Model Context Protocol, revision 2026-07-28, and 2025-11-25 and 2025-06-18 with `initialize`: one message of"
      + " JSON-RPC 2.0, whose methods are `server/discover`, `initialize`, `ping`, `tools/list` and `tools/call`. The"
      + " tools read places, and change nothing. Pages of other origins get 403, unless `CORS_ALLOWED_ORIGINS` names"
      + " theirs.",
    requestHeaders: [.protocolVersion, .protocolMethod, .protocolName],
    body: BodyDescription(
      description: "A request, or a notification, which has no `id`.",
      media: [.init(.json, .protocolRequest, example: Examples.initialize)]),
    bodyLimit: .bytes(maximumBytes), caching: .timed,
    responses: [
      .init(200, "The result, or in the revisions with `initialize` the error.", media: media),
      .init(202, "The notification is accepted."),
      .init(400, "The message or a header field is invalid.", media: media),
      .init(404, "There is no such method.", media: media),
    ],
    problems: [.init(406, .notAcceptable), .init(503, .indexNotReady)])

  private static let media = [MediaDescription].json(.protocolResponse)

  private static let instructions =
    "Finds places (points of interest) and returns what is known about them. Positions are in degrees (WGS 84), distances"
    + " in metres. list_categories has the values of `category`; place_details takes the id of a place from the other"
    + " tools. " + MCPTool.note

  /// The time for which clients may use the list of tools again, in milliseconds.
  private static let timeToLive = 3_600_000

  let service: PointsService
  let address: PublicAddress
  let cors: CORSPolicy
  let version: String

  /// The calls that the tools use.
  private let calls: Router

  init(_ api: LocationsAPI, cors: CORSPolicy) {
    service = api.configuration.service
    address = api.configuration.address
    version = api.configuration.version
    self.cors = cors
    calls = api.searchRouter
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    try checkOrigin(of: request)
    _ = try MediaRange.preferred(
      [PointFormat.json], mediaType: \.mediaType, accept: request.headers[canonicalForm: "accept"])
    guard request.mediaType == "application/json" else {
      throw .unsupportedMediaType(request, accepted: "application/json", header: "accept-post")
    }
    let bytes = try await PointBody.collect(request)
    let (id, message) =
      bytes.readableBytes > PointBody.shortBytes
      ? try await request.computing { MCPMessage.read(bytes) } : MCPMessage.read(bytes)
    var response: HTTPResponse
    switch message {
    case .success(let message): response = try await self.response(to: message, for: request)
    case .failure(let error): response = Self.response(to: id, .failure(error), in: nil)
    }
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(name: "cache-control", value: "no-store")
    response.headers.add(name: "vary", value: "accept, accept-encoding, origin")
    return response
  }

  /// Rejects the requests of web pages of other sites, which could reach a server in a closed network by DNS rebinding.
  ///
  /// - Throws: `Problem` 403 `forbidden`.
  private func checkOrigin(of request: HTTPRequest) throws(Problem) {
    for origin in request.headers["origin"]
    where !Loopback.contains(origin: origin) && !address.hasOrigin(origin) && !cors.names(origin) {
      throw Problem(
        .forbidden, code: "forbidden",
        detail: "pages of the origin '\(origin.prefix(100))' may not call this; CORS_ALLOWED_ORIGINS may name it")
    }
  }

  private func response(to message: MCPMessage, for request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let revision: MCPRevision
    do throws(MCPError) {
      revision = try MCPRevision(of: message, request.headers)
    } catch {
      return Self.response(to: message.id, .failure(error), in: nil)
    }
    guard let id = message.id else { return HTTPResponse(status: .accepted) }
    return Self.response(to: id, try await result(of: message, in: revision, for: request), in: revision)
  }

  /// Returns the response of a result or an error.
  ///
  /// - Parameters:
  ///   - id: the id of the request; `nil` if it has no valid one.
  ///   - revision: the revision of the request; `nil` if it is of none.
  private static func response(
    to id: JSONValue?, _ result: Result<JSONValue, MCPError>, in revision: MCPRevision?
  ) -> HTTPResponse {
    var members: [JSONValue.Member] = [.init(name: "jsonrpc", value: "2.0")]
    if let id { members.append(.init(name: "id", value: id)) }
    var status = HTTPResponseStatus.ok
    switch result {
    case .success(let value): members.append(.init(name: "result", value: value))
    case .failure(let error):
      members.append(.init(name: "error", value: error.json))
      status = error.status(in: revision)
    }
    return HTTPResponse(status: status, contentType: PointFormat.json.mediaType, bytes: JSONValue.object(members).text)
  }

  // MARK: Methods

  private func result(
    of message: MCPMessage, in revision: MCPRevision, for request: HTTPRequest
  ) async throws(Problem) -> Result<JSONValue, MCPError> {
    let server: JSONValue = ["name": "waymark", "title": "Waymark", "version": .string(version)]
    var members: [JSONValue.Member]
    switch (message.method, revision.isStateless) {
    case ("server/discover", true):
      members =
        Self.cacheable + [
          .init(name: "supportedVersions", value: MCPRevision.names), Self.capabilities, Self.instructionsMember,
        ]
    case ("initialize", false):
      members = [
        .init(name: "protocolVersion", value: .string(revision.rawValue)), Self.capabilities,
        .init(name: "serverInfo", value: server), Self.instructionsMember,
      ]
    case ("ping", false): members = []
    case ("tools/list", let isStateless):
      guard message.params["cursor"] == nil else {
        return .failure(MCPError(.invalidParams, "cursor is not valid; the list has one page"))
      }
      members = (isStateless ? Self.cacheable : []) + [.init(name: "tools", value: MCPTool.list)]
    case ("tools/call", _):
      switch Self.toolCall(message.params) {
      case .failure(let error): return .failure(error)
      case .success(let (tool, arguments)): members = try await call(tool, arguments, for: request)
      }
    default: return .failure(MCPError(.methodNotFound, "there is no method '\(message.method.prefix(100))'"))
    }
    if revision.isStateless {
      members.append(.init(name: "resultType", value: "complete"))
      members.append(.init(name: "_meta", value: ["io.modelcontextprotocol/serverInfo": server]))
    }
    return .success(.object(members))
  }

  private static let capabilities = JSONValue.Member(name: "capabilities", value: ["tools": [:]])
  private static let instructionsMember = JSONValue.Member(name: "instructions", value: .string(instructions))

  /// The members of a result that every client may use again.
  private static let cacheable: [JSONValue.Member] = [
    .init(name: "ttlMs", value: .count(timeToLive)), .init(name: "cacheScope", value: "public"),
  ]

  /// Returns the tool that is called and its arguments.
  private static func toolCall(_ params: JSONValue) -> Result<(MCPTool, [JSONValue.Member]), MCPError> {
    guard case .string(let name)? = params["name"] else {
      return .failure(MCPError(.invalidParams, "params.name must be a string"))
    }
    guard let tool = MCPTool(rawValue: name) else {
      return .failure(MCPError(.invalidParams, "Unknown tool: \(name.prefix(100))"))
    }
    guard case .object(let arguments) = params["arguments"] ?? .object([]) else {
      return .failure(MCPError(.invalidParams, "params.arguments must be an object"))
    }
    return .success((tool, arguments))
  }

  /// Returns the members of the result of a tool.
  ///
  /// - Throws: `Problem` of the store or of an overloaded server.
  private func call(
    _ tool: MCPTool, _ arguments: [JSONValue.Member], for request: HTTPRequest
  ) async throws(Problem) -> [JSONValue.Member] {
    let inner: HTTPRequest
    do throws(Problem) {
      inner = try tool.subrequest(arguments, of: request)
    } catch {
      return Self.members(of: error.detail ?? error.title)
    }
    let response = await calls.respond(to: inner)
    guard case .bytes(let bytes) = response.body else { throw .internal }
    guard response.status == .ok else { return try Self.members(of: bytes, response) }
    let all = tool == .listCategories ? Attributions(of: try await service.visibleSources(for: request)).all : []
    let isLastPage = !response.headers.contains(name: "link")
    func result() throws(Problem) -> JSONValue {
      let body = try Self.value(of: bytes)
      return tool.result(of: body, isLastPage: isLastPage, attributions: all) { id in
        address.absoluteTarget(path: "/locations/\(id)", for: request)
      }
    }
    let value =
      bytes.readableBytes > PointBody.shortBytes ? try await request.computing(result) : try result()
    return [
      .init(name: "content", value: Self.content(String(decoding: value.text, as: UTF8.self))),
      .init(name: "structuredContent", value: value), .init(name: "isError", value: false),
    ]
  }

  /// Returns the members of a result that is an error of the call.
  ///
  /// - Throws: `Problem` if the call could not be made, which is no error of its arguments.
  private static func members(of problem: ByteBuffer, _ response: HTTPResponse) throws(Problem) -> [JSONValue.Member] {
    let value = try value(of: problem)
    func text(_ name: String) -> String? {
      if case .string(let text)? = value[name] { text } else { nil }
    }
    let code = text("code") ?? Problem.internal.code
    let isOfCall =
      response.status.code < 500 || response.status == .notImplemented
      || code.hasSameBytes(as: ProblemCode.filterTimeout.rawValue)
    guard isOfCall else {
      let after = response.headers.first(name: "retry-after")
      throw Problem(
        response.status, code: code, title: text("title"), detail: text("detail"),
        headers: after.map { ["retry-after": $0] } ?? [:])
    }
    return members(of: errors(in: value) ?? text("detail") ?? response.status.reasonPhrase)
  }

  /// Returns the errors of a problem, each with the name of its argument; `nil` if it has none.
  private static func errors(in problem: JSONValue) -> String? {
    guard case .array(let errors)? = problem["errors"] else { return nil }
    let texts = errors.compactMap { error -> String? in
      let location = error["parameter"] ?? error["pointer"]
      guard case .string(let detail)? = error["detail"], case .string(let name)? = location else { return nil }
      // A pointer begins with a slash.
      return "\(name.drop { $0 == "/" }) \(detail)"
    }
    return texts.joined(separator: "; ")
  }

  private static func members(of error: String) -> [JSONValue.Member] {
    [.init(name: "content", value: content(error)), .init(name: "isError", value: true)]
  }

  private static func content(_ text: String) -> JSONValue { [["type": "text", "text": .string(text)]] }

  private static func value(of bytes: ByteBuffer) throws(Problem) -> JSONValue {
    do {
      return try JSONReader.value(of: bytes.readableBytesView)
    } catch {
      throw .internal
    }
  }
}

extension HeaderDescription {
  static let protocolVersion = HeaderDescription(
    "MCP-Protocol-Version", "Revision of the protocol; not needed for `initialize`.",
    Schema(.string, nil, example: .string(MCPRevision.stateless.rawValue)))

  static let protocolMethod = HeaderDescription(
    "Mcp-Method", "Method of the body, in the revision 2026-07-28.", Schema(.string, nil, example: "tools/list"))

  static let protocolName = HeaderDescription(
    "Mcp-Name", "Name of the tool, for `tools/call` in the revision 2026-07-28.", Schema(.string))
}

extension Schema {
  // The members of a message that depend on its method have no types of their own: it is for clients of the protocol.

  fileprivate static let protocolRequest = Schema(
    .object(
      [
        .required("jsonrpc", jsonRPC), .optional("id", requestID), .required("method", Schema(.string)),
        .optional("params", Schema(.any, "The parameters, an object.")),
      ], others: any), "A message of the Model Context Protocol."
  ).named("ProtocolRequest", order: 370)

  fileprivate static let protocolResponse = Schema(
    .object(
      [
        .required("jsonrpc", jsonRPC), .optional("id", requestID),
        .optional("result", Schema(.any, "The result, an object.")),
        .optional("error", Schema(.any, "The error, an object with `code`, `message` and possibly `data`.")),
      ], others: nil), "The response of the Model Context Protocol: a result or an error."
  ).named("ProtocolResponse", order: 380)

  private static let jsonRPC = Schema(.string, nil, ["pattern": "^2\\.0$"])
  private static let requestID = Schema(.anyOf([Schema(.string), Schema(.integer)]))
}

extension Examples {
  static let initialize: JSONValue = [
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": [
      "protocolVersion": .string(MCPRevision.latestWithHandshake.rawValue), "capabilities": [:],
      "clientInfo": ["name": "curl", "version": "8"],
    ],
  ]
}

extension CallGroup {
  static let assistants = CallGroup(
    name: "Assistants", order: 40, description: "The tools of assistants.")
}
