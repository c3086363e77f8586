import HTTPServer
import Basics
import JSONText
import NIOHTTP1

/// A route as the documents describe it: what the route table has.
struct DescribedRoute: Sendable {
  let method: HTTPMethod
  var path: String
  let scope: AccessScope?
  var parameters: [String]

  /// The descriptions of parameters that are components of the document, instead of those of the call.
  var shared: [(name: String, description: ParameterDescription)] = []

  /// The end of the operation's name, which tells it from others with the same description.
  var suffix = ""

  /// The description; that of a route without one has only what the route table has.
  let call: CallDescription

  init(_ method: HTTPMethod, _ path: String, scope: AccessScope? = nil, parameters: [String] = []) {
    self.method = method
    self.path = path
    self.scope = scope
    self.parameters = parameters
    call =
      .of(method, path)
      ?? CallDescription(
        method: method, path: path, id: "\(method.rawValue) \(path)", group: .operations, summary: path, responses: [])
  }

  init(_ route: Route) {
    self.init(route.method, route.template, scope: route.scope, parameters: route.parameters)
  }

  /// Returns the description of a query parameter that is not a component of the document; `nil` for one that is.
  func ownParameter(_ name: String) -> ParameterDescription? {
    shared.contains { $0.name.hasSameBytes(as: name) } ? nil : call.parameter(name)
  }

  /// The descriptions of the parameters in the path and the query.
  var describedParameters: [(name: String, place: String, description: ParameterDescription)] {
    let call = call
    let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
      String($0.dropFirst().prefix { $0 != "}" })
    }
    let inPath = names.map {
      ($0, "path", call.parameter($0) ?? .id)
    }
    return inPath
      + parameters.map { name in
        (
          name, "query",
          shared.first { $0.name.hasSameBytes(as: name) }?.description ?? call.parameter(name)
            ?? Parameter(name: name)?.description ?? ParameterDescription(name, Schema(.string))
        )
      }
  }

  /// A Boolean value that indicates whether the call has the parameters `tag.KEY`, whose names a document cannot list.
  var hasTagConditions: Bool { parameters.contains { $0.hasSameBytes(as: Parameter.filter.name) } }

  /// The problems of the call.
  var problems: Set<ProblemDescription> {
    call.problems.union(ProblemDescription.ofEveryCall).union(ProblemDescription.access(scope))
      .union(method == .GET ? ProblemDescription.readConditions : [])
  }
}

/// The OpenAPI document of a service: its calls with their parameters, bodies, responses and problems.
struct OpenAPIDocument {
  let openAPI: OpenAPIVersion
  let routes: [DescribedRoute]
  /// The version of the program.
  let version: String
  /// The scopes of the calls that need neither a key nor a token.
  let openScopes: Set<AccessScope>
  /// The address of the service, or a reference to it from the document's.
  var server: String

  private static let info = """
    Points of interest: search, read, write, import and export. `HEAD` is available wherever `GET` is; `OPTIONS` \
    returns `Allow`. A parameter that a call does not have is 400 `unknown-parameter`. Absent values are left out, \
    never `null`. Errors are problem details (RFC 9457). Responses are compressed with gzip where `Accept-Encoding` allows it.
    """

  private static let access = """
    An API key, or a JSON Web Token. Its scope is `read`, `write` or `admin`; each includes those before it. A server \
    without keys takes changes from programs on its own machine alone.
    """

  /// The document. Calls are in the order of the groups, and in each in that of the descriptions.
  var json: JSONValue {
    let order = Dictionary(
      uniqueKeysWithValues: CallDescription.all.enumerated().map { ("\($1.method.rawValue) \($1.path)", $0) })
    let routes = routes.enumerated().sorted { left, right in
      let (first, second) = (left.element, right.element)
      let rank = { (route: DescribedRoute) in order["\(route.method.rawValue) \(route.path)"] ?? Int.max }
      return (rank(first), left.offset) < (rank(second), right.offset)
    }.map(\.element)
    var paths: [JSONValue.Member] = []
    for route in routes where !paths.contains(where: { $0.name.utf8.elementsEqual(route.path.utf8) }) {
      let operations = routes.filter { $0.path.utf8.elementsEqual(route.path.utf8) }
      paths.append(
        .init(
          name: route.path,
          value: .object(
            operations.map { .init(name: $0.method.rawValue.lowercased(), value: operation($0)) })))
    }
    let groups = CallDescription.Group.allCases.filter { group in routes.contains { $0.call.group == group } }
    return [
      "openapi": .string(openAPI.rawValue),
      "info": [
        "title": "Waymark", "version": .string(version), "description": .string(Self.info),
      ],
      "servers": [["url": .string(server)]],
      "tags": .array(groups.map { ["name": .string($0.rawValue), "description": .string($0.description)] }),
      "paths": .object(paths),
      "components": components,
    ]
  }

  // MARK: Operations

  private func operation(_ route: DescribedRoute) -> JSONValue {
    let call = route.call
    var members: [JSONValue.Member] = [
      .init(name: "operationId", value: .string(call.id + route.suffix)),
      .init(name: "tags", value: [.string(call.group.rawValue)]),
      .init(name: "summary", value: .string(call.summary)),
    ]
    var description = call.description
    if route.hasTagConditions {
      description +=
        " A parameter `tag.KEY` for any key, such as `tag.country=FR`, is a condition too: the tag has the value, or"
        + " where the parameter is repeated, any of the values."
    }
    if let scope = route.scope, scope != .read {
      description += (description.isEmpty ? "" : " ") + "Needs a key or a token with the scope `\(scope.rawValue)`"
      description += openScopes.contains(scope) ? ", unless it comes from the server's machine." : "."
    }
    if !description.isEmpty { members.append(.init(name: "description", value: .string(description))) }
    let parameters = parameters(of: route)
    if !parameters.isEmpty { members.append(.init(name: "parameters", value: .array(parameters))) }
    if let body = call.body { members.append(.init(name: "requestBody", value: json(body))) }
    members.append(.init(name: "responses", value: responses(of: route)))
    members.append(.init(name: "security", value: security(of: route)))
    return .object(members)
  }

  private func security(of route: DescribedRoute) -> JSONValue {
    guard let scope = route.scope else { return [] }
    // OpenAPI 3.0 has no roles of schemes other than OAuth 2.
    let key: JSONValue = ["bearer": openAPI == .v3_1 ? [.string(scope.rawValue)] : []]
    return openScopes.contains(scope) ? [[:], key] : [key]
  }

  private func parameters(of route: DescribedRoute) -> [JSONValue] {
    let call = route.call
    let described = route.describedParameters.map { name, place, description -> JSONValue in
      if place == "query", route.ownParameter(name) == nil {
        return ["$ref": .string("#/components/parameters/\(name)")]
      }
      return json(description, name: name, place: place)
    }
    return described
      + call.requestHeaders.map { header in
        [
          "name": .string(header.name), "in": "header", "description": .string(header.description),
          "schema": header.schema.json(openAPI),
        ]
      }
  }

  private func json(_ parameter: ParameterDescription, name: String, place: String) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "name", value: .string(name)), .init(name: "in", value: .string(place)),
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
    return .object(members)
  }

  private func json(_ body: BodyDescription) -> JSONValue {
    ["description": .string(body.description), "required": true, "content": content(body.media)]
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

  private func responses(of route: DescribedRoute) -> JSONValue {
    let call = route.call
    var members = call.responses.map { response in
      var value: [JSONValue.Member] = [
        .init(name: "description", value: .string(response.description)),
        .init(name: "headers", value: headers(response.headers + HeaderDescription.ofEveryResponse)),
      ]
      if !response.media.isEmpty { value.append(.init(name: "content", value: content(response.media))) }
      return JSONValue.Member(name: String(response.status), value: .object(value))
    }
    let problems = Dictionary(grouping: route.problems, by: \.status)
    for (status, problems) in problems.sorted(by: { $0.key < $1.key }) {
      let codes = problems.map(\.code.rawValue).sorted()
      members.append(
        .init(
          name: String(status), value: ["$ref": .string("#/components/responses/\(Self.problemName(status, codes))")]))
    }
    return .object(members)
  }

  private static func problemName(_ status: Int, _ codes: [String]) -> String {
    ([String(status)] + codes).joined(separator: ".")
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
  private func problem(_ status: Int, _ codes: [String]) -> JSONValue {
    let title = HTTPResponseStatus(statusCode: status).reasonPhrase
    let examples = codes.map { code -> JSONValue.Member in
      let type = JSONValue.string("\(LocationsAPI.problemTypePrefix)\(code)")
      let value: JSONValue = ["type": type, "title": .string(title), "status": .count(status), "code": .string(code)]
      return .init(name: code, value: ["value": value])
    }
    return [
      "description": .string(codes.map { "`\($0)`" }.joined(separator: ", ")),
      "headers": headers(HeaderDescription.ofProblem(status) + HeaderDescription.ofEveryResponse),
      "content": [
        Problem.mediaType: ["schema": Schema.component("Problem").json(openAPI), "examples": .object(examples)]
      ],
    ]
  }

  // MARK: Components

  private var components: JSONValue {
    var problems: [(name: String, value: JSONValue)] = []
    var headers: [HeaderDescription] = HeaderDescription.ofEveryResponse
    var parameters: [(name: String, value: JSONValue)] = []
    for route in routes {
      for (status, group) in Dictionary(grouping: route.problems, by: \.status) {
        let codes = group.map(\.code.rawValue).sorted()
        let name = Self.problemName(status, codes)
        if !problems.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
          problems.append((name, problem(status, codes)))
        }
        headers += HeaderDescription.ofProblem(status)
      }
      headers += route.call.responses.flatMap(\.headers)
      for (name, place, description) in route.describedParameters
      where place == "query" && route.ownParameter(name) == nil
        && !parameters.contains(where: { $0.name.utf8.elementsEqual(name.utf8) })
      {
        parameters.append((name, json(description, name: name, place: place)))
      }
    }
    return [
      "schemas": .object(Schema.components.map { .init(name: $0.name, value: $0.schema.json(openAPI)) }),
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
          "description": .string(Self.access),
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
