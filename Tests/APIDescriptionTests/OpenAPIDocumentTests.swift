import AccessControl
import HTTPServer
import JSONText
import NIOHTTP1
import Testing

@testable import APIDescription

@Suite struct OpenAPIDocumentTests {
  private static func call(
    _ method: HTTPMethod, _ path: String, _ group: CallGroup, parameters: [CallDescription.Parameter] = []
  ) -> CallDescription {
    CallDescription(
      method, path, id: "\(method.rawValue)\(path)", group: group, scope: nil, summary: "Call", description: "",
      parameters: parameters, hasTagConditions: false, requestHeaders: [], body: nil,
      responses: [.init(200, "Done.")], problems: [.notFound])
  }

  private static func document(_ calls: [CallDescription]) -> JSONValue {
    OpenAPIDocument(
      openAPI: .v3_1, calls: calls, serviceCalls: calls, version: "1",
      access: AccessControl(AccessPolicy(keys: nil, isLoopback: true))
    ).json
  }

  private static func names(_ value: JSONValue?) -> [String] {
    guard case .object(let members)? = value else { return [] }
    return members.map(\.name)
  }

  @Test func pathsAreInTheOrderOfTheirGroupsAndThenOfTheCalls() {
    let document = Self.document([
      Self.call(.POST, "/b", .write), Self.call(.GET, "/c", .search), Self.call(.GET, "/b", .search),
      Self.call(.PUT, "/a", .write),
    ])

    #expect(Self.names(document["paths"]) == ["/c", "/b", "/a"])
    #expect(Self.names(document["paths"]?["/b"]) == ["get", "post"])
  }

  @Test func onlySharedParametersAreComponents() {
    let description = ParameterDescription("A number.", Schema(.integer))
    let document = Self.document([
      Self.call(
        .GET, "/a/{own}", .search,
        parameters: [
          .init("own", in: .path, description.required), .init("shared", in: .query, description, isShared: true),
        ])
    ])

    let parameters = document["paths"]?["/a/{own}"]?["get"]?["parameters"]
    let own: JSONValue = [
      "name": "own", "in": "path", "description": "A number.", "required": true, "schema": ["type": "integer"],
    ]
    #expect(parameters == [own, ["$ref": "#/components/parameters/shared"]])
    #expect(Self.names(document["components"]?["parameters"]) == ["shared"])
  }
}
