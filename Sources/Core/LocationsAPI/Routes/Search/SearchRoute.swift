package import APIDescription
import AccessControl
import HTTPServer
import JSONText
import NIOHTTP1
import Points

/// `POST /locations/search`: a page of the places that match the conditions of a body, which may be longer than those
/// of a request target. The response is that of `GET /locations`; the same body is sent to the target of its link.
struct SearchRoute: CallHandler {
  static let call = Call(
    .POST, "/locations/search", scope: .read, joinsRestriction: true, id: "searchLocations", group: .search,
    summary: "List places by the conditions of a body",
    description:
      "The places that `GET /locations` has for the members of the body, for conditions that are too long for an"
      + " address. A `Link` leads to the next page: the same body is sent there. A `filter`, `within` or `route` that is"
      + " a string has at most 32 KiB; one that is an object is limited by the size of the body and, like a string,"
      + " by 10,000 vertices.",
    parameters: [.cursor, .format], requestHeaders: [.acceptLanguage],
    body: BodyDescription(
      description: "The conditions.", media: [.init("application/json", .search)]),
    caching: .timed,
    responses: [.init(200, "A page of places.", headers: [.link, .contentLanguage, .area], media: .places)],
    problems: ProblemDescription.index)

  let list: ListRoute

  init(_ list: ListRoute) {
    var list = list
    list.path = "/locations/search"
    self.list = list
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let (read, _) = try await PointBody.readQuery(request) {
      body throws(Problem) -> (values: ParameterValues, arguments: ListArguments?) in
      let values = try ParameterValues(
        body, beside: request, allowing: ListRoute.call.parameters, inQuery: Self.call.parameters)
      // The areas are read first.
      if list.areas.areNeeded(for: values, .searched) { return (values, nil) }
      return (values, try ListArguments(values, request, list.filtering))
    }
    if let arguments = read.arguments { return try await respond(to: request, arguments) }
    return try await list.areas.resolving(read.values, .searched, for: request) { values throws(Problem) in
      let arguments = try await request.computing { () throws(Problem) in
        try ListArguments(values, request, list.filtering)
      }
      return try await respond(to: request, arguments)
    }
  }

  private func respond(to request: HTTPRequest, _ arguments: ListArguments) async throws(Problem) -> HTTPResponse {
    var response = try await list.search(arguments, for: request).response
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(name: "cache-control", value: "no-store")
    response.headers.add(
      name: "vary", value: "accept, accept-encoding" + (arguments.languages.isByHeader ? ", accept-language" : ""))
    return response
  }
}

extension Schema {
  /// The conditions of a search: the parameters of a list as members.
  fileprivate static let search = Schema(
    .object(members(for: ListRoute.call.parameters), others: Schema(.anyOf([value, Schema(.array(of: value))]))),
    "The parameters of `GET /locations` as members. The names of others begin with `tag.`; their values are those that"
      + " the tag may have.",
    example: [
      "filter": ["op": "=", "args": [["property": "wheelchair"], "yes"]],
      "within": [
        "type": "Polygon",
        "coordinates": [[[16.3, 48.1], [16.5, 48.1], [16.4, 48.3], [16.3, 48.1]]],
      ],
      "category": ["cafe"], "limit": 10,
    ]
  ).named("Search", order: 100)

  private static let filterLanguage = Parameter.filterLanguage.description.schema
    .named("FilterLanguage", order: 110)

  /// Returns the members of a body for parameters.
  package static func members(for parameters: [Parameter]) -> [Property] {
    parameters.map { .optional($0.name, member(for: $0)) }
  }

  private static let value = Schema(.anyOf([Schema(.string), Schema(.number), Schema(.boolean)]))

  /// Returns the schema of the member for a parameter.
  package static func member(for parameter: Parameter) -> Schema {
    let description = parameter.description
    let text = Schema(.string, nil, ["minLength": 1])
    var schema: Schema
    switch parameter.form {
    case .filter: schema = Schema(.anyOf([text, .jsonObject, Schema(.boolean)]))
    case .shape: schema = Schema(.anyOf([text, .jsonObject]))
    case .list, .values:
      var list = description.schema
      list.example = nil
      // An element of a body may have commas.
      if parameter == .category { list = Schema(.array(of: text), nil, ["minItems": 1]) }
      schema = Schema(.anyOf([text, list]))
    case .text, .number, .integer, .flag, .numbers:
      schema = parameter == .filterLanguage ? .filterLanguage : description.schema
    }
    schema.description = description.description
    return schema
  }
}
