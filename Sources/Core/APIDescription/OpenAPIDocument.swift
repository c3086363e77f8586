package import AccessControl
import Basics
import HTTPServer
package import JSONText
import NIOHTTP1

/// The OpenAPI document of a service: its calls with their parameters, bodies, responses and problems.
package struct OpenAPIDocument {
  package let openAPI: OpenAPIVersion
  /// The calls, which the document has in the order of their groups.
  let calls: [CallDescription]
  /// The calls whose schemas are its components.
  let serviceCalls: [CallDescription]
  /// The version of the program.
  let version: String
  /// The scopes of the calls that need neither a key nor a token.
  private let openScopes: Set<AccessScope>
  /// The scopes that a key or a token may have, in ascending order.
  private let scopes: [AccessScope]
  /// The address of the service, or a reference to it from the document's.
  package var server = ""

  package init(
    openAPI: OpenAPIVersion, calls: [CallDescription], serviceCalls: [CallDescription], version: String,
    access: AccessControl,
    server: String = ""
  ) {
    self.openAPI = openAPI
    self.calls = calls
    self.serviceCalls = serviceCalls
    self.version = version
    openScopes = access.openScopes
    scopes = access.scopes
    self.server = server
  }

  private static let info = """
    Points of interest: search, read, write, import and export. `HEAD` is available wherever `GET` is; `OPTIONS` \
    returns `Allow`. A parameter that a call does not have is 400 `unknown-parameter`, unless the call ignores others, as \
    its description says then. Absent values are left out, never `null`. Errors are problem details (RFC 9457). Responses are compressed with gzip where `Accept-Encoding` allows it.
    """

  private var access: String {
    """
    An API key, or a JSON Web Token. Its scope is \(scopes.map { "`\($0)`" }.listed("or")); each includes those before \
    it. A server without keys takes changes from programs on its own machine alone.
    """
  }

  package var json: JSONValue {
    let groups = Set(self.calls.map(\.group)).sorted { $0.order < $1.order }
    let calls = groups.flatMap { group in self.calls.filter { $0.group == group } }
    var paths: [JSONValue.Member] = []
    for call in calls where !paths.contains(where: { $0.name.hasSameBytes(as: call.path) }) {
      let operations = calls.filter { $0.path.hasSameBytes(as: call.path) }
      paths.append(
        .init(
          name: call.path,
          value: .object(
            operations.map { .init(name: $0.method.rawValue.lowercased(), value: operation($0)) })))
    }
    return [
      "openapi": .string(openAPI.rawValue),
      "info": [
        "title": "Waymark", "version": .string(version), "description": .string(Self.info),
      ],
      "servers": [["url": .string(server)]],
      "tags": .array(groups.map { ["name": .string($0.name), "description": .string($0.description)] }),
      "paths": .object(paths),
      "components": components,
    ]
  }

  // MARK: Operations

  private func operation(_ call: CallDescription) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "operationId", value: .string(call.id)),
      .init(name: "tags", value: [.string(call.group.name)]),
      .init(name: "summary", value: .string(call.summary)),
    ]
    var description = call.description
    if call.hasTagConditions {
      description +=
        " A parameter `tag.KEY` for any key, such as `tag.country=FR`, is a condition too: the tag has the value, or"
        + " if the parameter is repeated, any of the values."
    }
    if let scope = call.scope, scope != .read {
      description += (description.isEmpty ? "" : " ") + "Needs a key or a token with the scope `\(scope)`"
      description += openScopes.contains(scope) ? ", unless it comes from the server's machine." : "."
    }
    if !description.isEmpty { members.append(.init(name: "description", value: .string(description))) }
    let parameters = parameters(of: call)
    if !parameters.isEmpty { members.append(.init(name: "parameters", value: .array(parameters))) }
    if let body = call.body { members.append(.init(name: "requestBody", value: json(body))) }
    members.append(.init(name: "responses", value: responses(of: call)))
    members.append(.init(name: "security", value: security(of: call)))
    return .object(members)
  }

  private func security(of call: CallDescription) -> JSONValue {
    guard let scope = call.scope else { return [] }
    // OpenAPI 3.0 has no roles of schemes other than OAuth 2.
    let key: JSONValue = ["bearer": openAPI == .v3_1 ? [.string(scope.description)] : []]
    return openScopes.contains(scope) ? [[:], key] : [key]
  }

  private func parameters(of call: CallDescription) -> [JSONValue] {
    let described = call.parameters.map { parameter -> JSONValue in
      parameter.isShared ? ["$ref": .string("#/components/parameters/\(parameter.name)")] : json(parameter)
    }
    return described
      + call.requestHeaders.map { header in
        [
          "name": .string(header.name), "in": "header", "description": .string(header.description),
          "schema": header.schema.json(openAPI),
        ]
      }
  }

  private func json(_ described: CallDescription.Parameter) -> JSONValue {
    let parameter = described.description
    var members: [JSONValue.Member] = [
      .init(name: "name", value: .string(described.name)),
      .init(name: "in", value: .string(described.place.rawValue)),
      .init(name: "description", value: .string(parameter.description)),
    ]
    if parameter.isRequired { members.append(.init(name: "required", value: true)) }
    if case .array = parameter.schema.kind {
      members.append(.init(name: "style", value: "form"))
      members.append(.init(name: "explode", value: .bool(parameter.isRepeatable)))
    } else if parameter.statesStyle {
      members.append(.init(name: "style", value: "form"))
      members.append(.init(name: "explode", value: false))
    }
    members.append(.init(name: "schema", value: parameter.schema.json(openAPI)))
    if let example = parameter.example { members.append(.init(name: "example", value: example)) }
    return .object(members)
  }

  private func json(_ body: BodyDescription) -> JSONValue {
    ["description": .string(body.description), "required": .bool(body.isRequired), "content": content(body.media)]
  }

  private func content(_ media: [MediaDescription]) -> JSONValue {
    .object(
      media.map { media in
        var members: [JSONValue.Member] = [.init(name: "schema", value: media.schema.json(openAPI))]
        if let example = media.example { members.append(.init(name: "example", value: example)) }
        return .init(name: Self.documented(media.type), value: .object(members))
      })
  }

  /// Returns a media type without `charset`, which the document does not state.
  static func documented(_ mediaType: String) -> String {
    mediaType.contains("charset") ? String(mediaType.prefix { $0 != ";" }) : mediaType
  }

  // MARK: Responses

  private func responses(of call: CallDescription) -> JSONValue {
    let problems = Dictionary(grouping: call.problems, by: \.status)
    // A response of a status that problems have is one more representation of theirs.
    var members = call.responses.filter { problems[$0.status] == nil }.map { response in
      var value: [JSONValue.Member] = [
        .init(name: "description", value: .string(response.description)),
        .init(name: "headers", value: headers(response.headers + HeaderDescription.ofEveryResponse)),
      ]
      if !response.media.isEmpty { value.append(.init(name: "content", value: content(response.media))) }
      return JSONValue.Member(name: String(response.status), value: .object(value))
    }
    for (status, problems) in problems.sorted(by: { $0.key < $1.key }) {
      let name = Self.problemName(status, Self.codes(of: problems), Self.otherMedia(of: call, status))
      members.append(.init(name: String(status), value: ["$ref": .string("#/components/responses/\(name)")]))
    }
    return .object(members)
  }

  private static func codes(of problems: [ProblemDescription]) -> [String] { problems.map(\.code.rawValue).sorted() }

  /// Returns the representations that a call has for a status of problems beside theirs.
  private static func otherMedia(of call: CallDescription, _ status: Int) -> [MediaDescription] {
    call.responses.first { $0.status == status }?.media ?? []
  }

  private static func problemName(_ status: Int, _ codes: [String], _ others: [MediaDescription]) -> String {
    ([String(status)] + codes + (others.isEmpty ? [] : ["others"])).joined(separator: ".")
  }

  private func headers(_ headers: [HeaderDescription]) -> JSONValue {
    .object(
      headers.map { header in
        let name = header.isRequired ? "\(header.name).required" : header.name
        return .init(name: header.name, value: ["$ref": .string("#/components/headers/\(name)")])
      })
  }

  /// Returns the response of the problems of a status. Its schema is that of all problems, so that a generated client
  /// has one type for them; the examples have the codes.
  private func problem(_ status: Int, _ codes: [String], _ others: [MediaDescription]) -> JSONValue {
    let title = HTTPResponseStatus(statusCode: status).reasonPhrase
    let examples = codes.map { code -> JSONValue.Member in
      let type = JSONValue.string("\(Problem.serviceTypePrefix)\(code)")
      let value: JSONValue = ["type": type, "title": .string(title), "status": .count(status), "code": .string(code)]
      return .init(name: code, value: ["value": value])
    }
    let schema = Schema.problem.json(openAPI)
    var media: [JSONValue.Member] = [
      .init(name: Problem.mediaType, value: ["schema": schema, "examples": .object(examples)])
    ]
    if case .object(let further) = content(others) { media += further }
    return [
      "description": .string(codes.map { "`\($0)`" }.joined(separator: ", ")),
      "headers": headers(HeaderDescription.ofProblem(status) + HeaderDescription.ofEveryResponse),
      "content": .object(media),
    ]
  }

  // MARK: Components

  private var components: JSONValue {
    var problems: [(name: String, value: JSONValue)] = []
    var headers: [HeaderDescription] = HeaderDescription.ofEveryResponse
    var parameters: [(name: String, value: JSONValue)] = []
    for call in calls {
      for (status, group) in Dictionary(grouping: call.problems, by: \.status) {
        let (codes, others) = (Self.codes(of: group), Self.otherMedia(of: call, status))
        let name = Self.problemName(status, codes, others)
        if !problems.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
          problems.append((name, problem(status, codes, others)))
        }
        headers += HeaderDescription.ofProblem(status)
      }
      headers += call.responses.flatMap(\.headers)
      for parameter in call.parameters
      where parameter.isShared && !parameters.contains(where: { $0.name.utf8.elementsEqual(parameter.name.utf8) }) {
        parameters.append((parameter.name, json(parameter)))
      }
    }
    return [
      "schemas": .object(serviceCalls.components.map { .init(name: $0.name, value: $0.schema.json(openAPI)) }),
      "parameters": .object(Self.sorted(parameters)),
      "headers": .object(
        Self.sorted(
          headers.map { header in
            var value: [JSONValue.Member] = [
              .init(name: "description", value: .string(header.description))
            ]
            if header.isRequired { value.append(.init(name: "required", value: true)) }
            value.append(.init(name: "schema", value: header.schema.json(openAPI)))
            return (header.isRequired ? "\(header.name).required" : header.name, .object(value))
          })),
      "responses": .object(Self.sorted(problems)),
      "securitySchemes": [
        "bearer": [
          "type": "http", "scheme": "bearer",
          "description": .string(access),
        ]
      ],
    ]
  }

  /// Returns the members in the order of their names, each name once.
  private static func sorted(_ members: [(name: String, value: JSONValue)]) -> [JSONValue.Member] {
    Dictionary(members.map { (ExactText($0.name), $0.value) }) { first, _ in first }
      .sorted { $0.key < $1.key }.map { .init(name: $0.key.text, value: $0.value) }
  }
}

extension Schema {
  static let openAPIDocument = Schema(.object([.required("openapi", Schema(.string))], others: any))
    .named("OpenAPIDocument", order: 460)
}
