import APIDescription
import HTTPServer
import JSONText
import NIOHTTP1

/// `GET /`: the service's name and version, and links to its calls.
struct IndexRoute: CallHandler {
  static let call = Call(
    .GET, "/", id: "getIndex", group: .description, summary: "Get the service's name, version and links",
    ignoresQuery: true, responses: [.init(200, "Name, version and links.", media: .json(.index))])

  let version: String
  let address: PublicAddress
  private let links: [(name: String, target: String)]

  /// Creates the route.
  ///
  /// - Parameter calls: the calls, of which those with a name for it are linked.
  init(linking calls: [Call], version: String, address: PublicAddress) {
    links = calls.compactMap { call in call.link.map { ($0, call.template) } }
    self.version = version
    self.address = address
  }

  func respond(to request: HTTPRequest) -> HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "name", "waymark")
    json.write(member: "version", version)
    json.write(name: "links")
    json.beginObject()
    for (name, target) in links {
      json.write(escapedName: name)
      json.write(string: address.target(path: target, relative: String(target.dropFirst()), for: request))
    }
    json.endObject()
    json.endObject()
    return HTTPResponse(json)
  }
}

extension Schema {
  fileprivate static let index = Schema(
    .object(
      [
        .required("name", Schema(.string)), .required("version", Schema(.string)),
        .required(
          "links", Schema(.object([], others: Schema(.string)), "URI templates (RFC 6570) of the calls, by name.")),
      ], others: nil),
    nil, example: ["name": "waymark", "version": "1.0.0", "links": ["location": "locations/{id}"]]
  ).named("Index", order: 400)
}
