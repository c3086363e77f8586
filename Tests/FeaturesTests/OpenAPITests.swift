import Foundation
import Geo
import HTTPServer
import JSONText
import MemoryStore
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import APIDescription
@testable import AccessControl
@testable import Duplicates
@testable import LocationsAPI
@testable import OGC
@testable import Pages
@testable import Photon
@testable import SuggestedEdits

@Suite struct OpenAPITests {
  private static func send(
    _ method: HTTPMethod, _ target: String, headers: HTTPHeaders = [:], body: String = "",
    to router: Router = DescribedService.api().routerOfAllCalls(DescribedService.features())
  ) async throws -> ServiceDriver.Response {
    let request = ServiceDriver.request(method, target, headers: headers, body: ByteBuffer(string: body))
    let response = await router.respond(to: request)
    let collected = ServiceDriver.Response(
      target: target, status: Int(response.status.code), headers: response.headers,
      body: Data(try await response.body.collect().readableBytesView))
    DescribedService.check(method, target, collected)
    return collected
  }

  // MARK: Completeness

  @Test func everyCallHasAPathAndANameOfItsOwn() {
    let calls = DescribedService.calls

    #expect(Set(calls.map { "\($0.method.rawValue) \($0.path)" }).count == calls.count)
    #expect(Set(calls.map(\.id)).count == calls.count)
    #expect(Set(calls.compactMap(\.link)).count == calls.compactMap(\.link).count)
  }

  /// The table at the head of the guide has each call, but of OGC API Features the first alone, and no files of pages.
  @Test func theGuideListsTheCalls() throws {
    let guide = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/api.md")
    let rows = try String(contentsOf: guide.standardized, encoding: .utf8).split(separator: "\n")
      .drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
    var listed: Set<String> = []
    for row in rows {
      var methods: [Substring] = []
      for match in row.split(separator: "|")[0].matches(of: /`([A-Z]*) ?([^`?]*)[^`]*`/) {
        if match.2.isEmpty {
          methods.append(match.1)
        } else {
          methods = match.1.isEmpty ? methods : methods.filter { $0 != "GET" } + [match.1]
          for method in methods { listed.insert("\(method) \(match.2)") }
        }
      }
    }

    let calls = DescribedService.calls.filter { call in
      switch call.group {
      case .features: call.path == FeatureLinks.root
      case .description: call.link != nil || call.path == "/"
      case .pages: call.link != nil
      default: true
      }
    }
    #expect(listed == Set(calls.map { "\($0.method.rawValue) \($0.path)" }))
  }

  @Test func pagesOfOtherOriginsMaySendEveryDescribedHeaderField() async throws {
    let router = DescribedService.api().router(
      joining: DescribedService.features().endpoints, middlewares: [CORSPolicy()])
    let response = await router.respond(
      to: ServiceDriver.request(
        .OPTIONS, "/changes",
        headers: [
          "origin": "https://x.example", "access-control-request-method": "GET",
          "access-control-request-headers": "last-event-id",
        ]))

    #expect(
      response.headers["access-control-allow-headers"] == [
        "Authorization, Content-Crs, Content-Encoding, Content-Type, Idempotency-Key, If-Match, If-Modified-Since,"
          + " If-None-Match, If-Unmodified-Since, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name,"
          + " Traceparent, Tracestate, Waymark-Min-Position, X-Request-Id"
      ])
  }

  @Test func everyListMayComeInSeveralParameters() {
    for parameter in DescribedService.calls.flatMap(\.parameters) {
      guard case .array = parameter.description.schema.kind else { continue }
      #expect(parameter.isList || parameter.form == .values, "\(parameter.name)")
    }
  }

  /// Those of Photon and Nominatim are theirs.
  @Test func parametersOfOneNameHaveOneDescription() {
    var known: [String: (description: ParameterDescription, form: Parameter.Form)] = [:]
    for call in DescribedService.calls where ![.photon, .nominatim].contains(call.group) {
      #expect(Set(call.parameters.map(\.name)).count == call.parameters.count, "\(call.path)")
      for parameter in call.parameters {
        let (description, form) = (parameter.description, parameter.form)
        guard let first = known.updateValue((description, form), forKey: parameter.name) else { continue }
        #expect(first.form == form, "\(parameter.name)")
        #expect(first.description.description == description.description, "\(parameter.name)")
        #expect(first.description.schema.json(.v3_1) == description.schema.json(.v3_1), "\(parameter.name)")
      }
    }
  }

  @Test func callsDescribeTheirParametersInOneOrder() {
    let order = [
      "lat", "long", "radius", "category", "bbox", "limit", "cursor", "fields", "f", "mode", "dryRun", "source",
      "sourceId", "confirm", "idField", "nameField", "unknownFields", "since", "until", "replaceSource",
      "maxDeletions", "conflicts", "assumeEditedSince", "licence", "attribution", "attributionUrl", "lang", "q",
      "autocomplete", "sort",
      "filter", "filter-lang", "filter-crs", "crs", "bbox-crs", "datetime", "tags", "zoom", "by", "within",
      "route", "open", "openUnknown", "from", "days", "wait", "tree", "status", "view", "in", "kind", "ids",
      "atomic", "other", "minScore", "states", "state", "place", "as", "conflict",
    ]

    for call in DescribedService.calls where ![.photon, .nominatim].contains(call.group) {
      let names = call.parameters.map(\.name)
      #expect(names == order.filter(names.contains), "\(call.method.rawValue) \(call.path)")
      #expect(Array(call.parameterNames.prefix(names.count)) == names, "\(call.path)")
    }
  }

  @Test func everyQueryParameterHasADescription() {
    for call in DescribedService.calls {
      for name in call.parameterNames {
        #expect(
          call.ownDescription(name) != nil || call.parameters.named(name) != nil, "\(name) of \(call.path)")
      }
      let names = Set(call.documented.parameters.map(\.name))
      #expect(Set(call.describedNames).isSubset(of: names), "\(call.path)")
    }
  }

  /// The names of an object's members in their order, the required ones with an exclamation mark.
  private static func members(_ component: String, _ path: String...) throws -> String {
    var schema = try #require(document(.v3_1)["components"]?["schemas"]?[component])
    for name in path { schema = try #require(schema["properties"]?[name]) }
    guard case .object(let members)? = schema["properties"] else { return "" }
    var required: [JSONValue] = []
    if case .array(let names)? = schema["required"] { required = names }
    return members.map { $0.name + (required.contains(.string($0.name)) ? "!" : "") }.joined(separator: " ")
  }

  @Test func placesAndFeaturesHaveTheirMembersInOrder() throws {
    let derived = "attribution openState openUntil opensAt timeZone label score match"
    let others = "distance alongMetres tags source sourceId version createdAt updatedAt \(derived)"
    let ignored = "distance version createdAt updatedAt"

    #expect(try Self.members("Place") == "id name category lat long \(others) details edits")
    #expect(try Self.members("Feature", "properties") == "name category \(others)")
    #expect(try Self.members("FeatureItem", "properties") == "name! category \(others)")
    #expect(try Self.members("PlaceDraft") == "id name! category lat! long! tags source sourceId \(ignored)")
    #expect(try Self.members("PlacePatch") == "id name category lat long tags source sourceId \(ignored)")
    #expect(try Self.members("FeatureDraft", "properties") == "name! category tags source sourceId \(ignored)")
    #expect(try Self.members("FeaturePatch", "properties") == "name category tags source sourceId \(ignored)")
  }

  @Test(arguments: OpenAPIVersion.allCases) func everyReferenceLeadsToAComponent(version: OpenAPIVersion) throws {
    let document = Self.document(version)
    var references: Set<String> = []
    func visit(_ value: JSONValue) {
      switch value {
      case .object(let members):
        for member in members {
          if member.name == "$ref", case .string(let text) = member.value { references.insert(text) }
          visit(member.value)
        }
      case .array(let elements): elements.forEach(visit)
      default: break
      }
    }
    visit(document)

    #expect(references.count > 50)
    for reference in references {
      let found = reference.dropFirst(2).split(separator: "/").reduce(JSONValue?.some(document)) { $0?[String($1)] }
      #expect(found != nil, "\(reference)")
    }
  }

  @Test func componentsHaveNamesAndPlacesOfTheirOwn() {
    let components = DescribedService.calls.map(\.documented).components

    #expect(components.count > 90)
    #expect(Set(components.map(\.name)).count == components.count)
    #expect(Set(components.map(\.order)).count == components.count)
  }

  @Test func groupsHaveNamesAndPlacesOfTheirOwn() {
    let groups = Set(DescribedService.calls.map(\.group))

    #expect(groups.count == 15)
    #expect(Set(groups.map(\.name)).count == groups.count)
    #expect(Set(groups.map(\.order)).count == groups.count)
  }

  @Test func everyExampleFitsItsSchema() {
    for component in DescribedService.calls.map(\.documented).components {
      guard let example = component.schema.example else { continue }
      #expect(component.schema.violations(in: example) == [], "\(component.name)")
    }
    for call in DescribedService.calls {
      for parameter in call.documented.parameters {
        let schema = parameter.description.schema
        guard let example = schema.example else { continue }
        #expect(schema.violations(in: example) == [], "\(parameter.name) of \(call.path)")
      }
      for medium in (call.body?.media ?? []) + call.responses.flatMap(\.media) {
        guard let example = medium.example else { continue }
        #expect(medium.schema.violations(in: example) == [], "\(medium.type) of \(call.path)")
      }
      for header in call.requestHeaders + call.responses.flatMap(\.headers) {
        guard let example = header.schema.example else { continue }
        #expect(header.schema.violations(in: example) == [], "\(header.name)")
      }
    }
  }

  @Test func limitStatesItsDefaultAndMaximum() throws {
    for version in OpenAPIVersion.allCases {
      let schema = try #require(Self.document(version)["components"]?["parameters"]?["limit"]?["schema"])
      #expect(schema["default"] == 20)
      #expect(schema["maximum"] == 1000)
    }
  }

  @Test func membersOfASearchHaveTheRulesOfTheParameters() throws {
    let components = Self.document(.v3_1)["components"]
    let members = components?["schemas"]?["Search"]?["properties"]
    for name in ["category", "lang", "ids", "fields", "filter", "within", "route"] {
      guard case .array(let forms)? = members?[name]?["anyOf"] else { throw Problem.internal }
      #expect(forms[0]["minLength"] == 1, "\(name)")
      guard ["lang", "ids", "fields"].contains(name) else { continue }
      let parameter = components?["parameters"]?[name]?["schema"]
      for keyword in ["items", "minItems", "maxItems"] {
        #expect(forms[1][keyword] == parameter?[keyword], "\(keyword) of \(name)")
      }
    }
  }

  @Test(arguments: [
    (AccessPolicy(keys: nil, isLoopback: true), true, true), (AccessPolicy(keys: nil, isLoopback: false), true, false),
    (AccessPolicy(keys: [], isLoopback: true), true, false),
    (AccessPolicy(keys: [], isLoopback: true, readRequiresKey: true), false, false),
  ])
  func aKeyIsOptionalInTheDocumentWhereTheServerNeedsNone(
    policy: AccessPolicy, isReadingOpen: Bool, isWritingOpen: Bool
  ) async throws {
    let driver = ServiceDriver(writing: MemoryStore(), access: policy)

    for path in ["/openapi.json", "/openapi-3.0.json", "/ogc/api"] {
      let document = try JSONReader.value(of: try await driver.send(.GET, path).body)
      let isOfFeatures = path == "/ogc/api"
      let scope: (String) -> JSONValue = { path == "/openapi.json" ? [.string($0)] : [] }
      let places = document["paths"]?[isOfFeatures ? "/collections/places/items" : "/locations"]
      #expect(
        places?["get"]?["security"] == (isReadingOpen ? [[:], ["bearer": scope("read")]] : [["bearer": scope("read")]]))
      #expect(
        places?["post"]?["security"]
          == (isWritingOpen ? [[:], ["bearer": scope("write")]] : [["bearer": scope("write")]]))
    }
  }

  @Test(arguments: OpenAPIVersion.allCases) func problemsHaveOneSchemaAndTheirCodesAsExamples(
    version: OpenAPIVersion
  ) throws {
    let document = Self.document(version)
    for call in DescribedService.calls {
      let responses = document["paths"]?[call.path]?[call.method.rawValue.lowercased()]?["responses"]
      for (status, problems) in Dictionary(grouping: call.problems, by: \.status) {
        guard case .string(let reference)? = responses?["\(status)"]?["$ref"] else {
          Issue.record("\(call.path) \(status)")
          continue
        }
        let name = String(reference.dropFirst("#/components/responses/".count))
        let media = document["components"]?["responses"]?[name]?["content"]?[Problem.mediaType]
        #expect(media?["schema"] == ["$ref": "#/components/schemas/Problem"])
        guard case .object(let examples)? = media?["examples"] else { throw Problem.internal }
        #expect(Set(examples.map(\.name)) == Set(problems.map(\.code.rawValue)))
        for example in examples {
          #expect(Schema.problem.violations(in: example.value["value"] ?? .null) == [])
        }
      }
    }
  }

  /// A generator makes a type of each schema of an object or of several strings that has no name, for each call.
  @Test func generatedClientsHaveFewTypes() {
    func types(_ value: JSONValue?) -> Int {
      guard let value else { return 0 }
      switch value {
      case .object(let members):
        let isType = value["enum"] != nil || value["properties"] != nil
        return (isType ? 1 : 0) + members.reduce(0) { $0 + types($1.value) }
      case .array(let elements): return elements.reduce(0) { $0 + types($1) }
      default: return 0
      }
    }
    let document = Self.document(.v3_1)
    func resolved(_ value: JSONValue) -> JSONValue {
      guard case .string(let reference)? = value["$ref"] else { return value }
      return reference.dropFirst(2).split(separator: "/").reduce(document) { $0[String($1)] ?? .null }
    }
    func elements(_ value: JSONValue?) -> [JSONValue] {
      switch value {
      case .array(let elements): elements
      case .object(let members): members.map(\.value)
      default: []
      }
    }

    let count = elements(document["paths"]).flatMap { elements($0) }.reduce(0) { count, operation in
      let parts = elements(operation["parameters"]) + elements(operation["responses"])
      return count + parts.reduce(0) { $0 + types(resolved($1)) }
    }

    #expect(count <= 60, "\(count)")
  }

  @Test func theLimitAndTheTimeOfFeaturesAreStatedAsOGCAPIFeaturesPrescribes() async throws {
    let document = try JSONReader.value(of: try await Self.send(.GET, "/ogc/api").body)
    let components = document["components"]?["parameters"]
    for name in ["limit", "datetime"] {
      #expect(components?[name]?["style"] == "form")
      #expect(components?[name]?["explode"] == false)
    }
    let items = Self.document(.v3_1)["paths"]?["/ogc/collections/{collection}/items"]?["get"]?["parameters"]
    guard case .array(let parameters)? = items else { throw Problem.internal }
    #expect(parameters.first { $0["name"] == "limit" }?["explode"] == false)
  }

  @Test(arguments: ["/locations?cursor=", "/locations?q=a&cursor=", "/ogc/collections/places/items?cursor="])
  func anEmptyCursorIsInvalid(target: String) async throws {
    let response = try await Self.send(.GET, target)

    #expect(response.status == 400)
    #expect(try response.parameters == ["cursor"])
    #expect(Self.document(.v3_1)["components"]?["parameters"]?["cursor"]?["schema"]?["minLength"] == 1)
  }

  private static func document(_ version: OpenAPIVersion) -> JSONValue { documents[version] ?? .null }

  /// The documents, each of which takes a debug build a noticeable part of a second.
  private static let documents = Dictionary(
    uniqueKeysWithValues: OpenAPIVersion.allCases.map { openAPI in
      let calls = DescribedService.calls.map(\.documented)
      let document = OpenAPIDocument(
        openAPI: openAPI, calls: calls, serviceCalls: calls, version: "1",
        access: AccessControl(AccessPolicy(keys: [], isLoopback: true, scopes: AccessScope.all)), server: ".")
      return (openAPI, document.json)
    })

  // MARK: Agreement with the server

  @Test(arguments: DescribedService.calls.map { "\($0.method.rawValue) \($0.path)" })
  func callAcceptsTheDescribedParametersAlone(name: String) async throws {
    let call = try Self.call(name)
    let described = Set(call.documented.parameters.map(\.name))
    let isStrict = call.problems.contains(.init(400, .unknownParameter))
    #expect(isStrict || call.parameterNames.isEmpty || call.ignoresOtherParameters)

    // Beside `long`, which has two other names, calls have no undescribed ones.
    let known = DescribedService.calls.flatMap(\.parameters).map(\.name).filter { $0 != "lon" }
    let router = DescribedService.api().routerOfAllCalls(DescribedService.features())
    for parameter in Set(known + ["unknown"]) {
      let target = call.path.concrete + "?\(parameter)="
      let response = try await Self.send(
        call.method, target, headers: ["content-type": "application/json"], body: "{}", to: router)
      let isUnknown = response.status == 400 && response.text.contains("unknown-parameter")
      // The report checks nothing where no searches are recorded.
      guard call.path != "/analytics/searches" else { continue }
      #expect(isUnknown == (isStrict && !described.contains(parameter)), "\(parameter)")
    }
  }

  private static func registerEmptySource(in store: MemoryStore) async throws {
    let rows = [try ImportRow.sample("a", 1, 2, source: "demo", sourceID: "1")]
    _ = try await store.importRows(AsyncStream([rows]), options: ImportOptions(sources: [DataSource(name: "demo")]))
    _ = try await store.deleteBatch(ofSource: "demo", after: nil)
  }

  private static func editPlace(of id: PointID, in store: MemoryStore) async throws {
    _ = try await store.importRows([.sample("a", 1, 2, source: "demo", sourceID: "1", id: id)])
    _ = try await store.put(
      try ImportRow.sample("edited", 1, 2, source: "demo", sourceID: "1").draft, id: id, if: .none)
  }

  @Test(arguments: DescribedService.calls.map { "\($0.method.rawValue) \($0.path)" })
  func describedExamplesGetDescribedResponses(name: String) async throws {
    let call = try Self.call(name)
    let store = MemoryStore()
    let router = DescribedService.api(over: store).routerOfAllCalls(DescribedService.features(over: store))
    // The place that the examples of positions, categories and names find.
    let draft = try PointDraft(
      name: "Winchester Mystery House", category: "museum",
      coordinate: Coordinate(latitude: 37.3293, longitude: -121.8893))
    let id = try #require(PointID(Examples.id))
    let place = try await store.put(draft, id: id, if: .none).point
    _ = try await AreaEditor(store).put(.sample("Wien"), id: id, if: .none)
    if let other = PlacePair(Examples.pair)?.upper, call.path.hasPrefix("/duplicates") {
      _ = try await store.put(draft, id: other, if: .none)
    }
    _ = try await Suggestions(store).add(.renaming(place))

    for medium in call.body?.media ?? [MediaDescription("", Schema(.any))] {
      for isMinimal in [true, false] {
        // One of several parameters must be given there, whichever.
        if isMinimal, ["/api", "/structured", "/nominatim/search"].contains(call.path) { continue }
        var target = call.path.concrete
        let query = call.documented.parameters.filter {
          // A position is given instead of a route or ids, and `within` instead of an area's name.
          $0.place == .query && ($0.description.isRequired || !isMinimal)
            && ![Parameter.route, .ids, .area].map(\.name).contains($0.name)
        }
        target += (query.isEmpty ? "" : "?") + query.compactMap(Self.pair).joined(separator: "&")
        let example = medium.example ?? medium.schema.component?.schema.example
        // Only a data set without places is removed.
        if call.path == "/sources/{name}" { try await Self.registerEmptySource(in: store) }
        // Only a place that was edited is given back.
        if call.path == "/edits/{id}" { try await Self.editPlace(of: id, in: store) }
        let response = try await Self.send(
          call.method, target, headers: medium.type.isEmpty ? [:] : ["content-type": medium.type],
          body: example.map(Self.text) ?? "", to: router)
        // A service without a file has no backup, one without a history no report, and one without a file of tiles no
        // images, and one that keeps nothing no webhooks; the position is of another service.
        let accepted = isMinimal ? [200, 201, 204] : [200, 201, 204, 422]
        let isElsewhere =
          (["/backup", "/analytics/searches", "/changes", "/map/tiles/{z}/{x}/{y}"].contains(call.path)
            || call.path.hasPrefix("/webhooks"))
          && [404, 410, 501].contains(response.status)
        #expect(accepted.contains(response.status) || isElsewhere, "\(target): \(response.text.prefix(200))")
        if call.method == .DELETE {
          _ = try? await store.put(draft, id: id, if: .none)
          _ = try? await AreaEditor(store).put(.sample("Wien"), id: id, if: .none)
        }
      }
    }
  }

  @Test(arguments: DescribedService.calls.map { "\($0.method.rawValue) \($0.path)" })
  func descriptionStatesTagConditionsWhereTheCallHasThem(name: String) async throws {
    let call = try Self.call(name)
    let operation = Self.document(.v3_1)["paths"]?[call.path]?[call.method.rawValue.lowercased()]
    guard case .string(let description) = operation?["description"] ?? "" else { throw Problem.internal }
    guard call.problems.contains(.init(400, .unknownParameter)) else { return }

    let response = try await Self.send(
      call.method, call.path.concrete + "?tag.country=FR",
      headers: ["content-type": "application/json"], body: "{}")
    // The report checks nothing where no searches are recorded.
    guard call.path != "/analytics/searches" else { return }
    #expect(description.contains("`tag.KEY`") != response.text.contains("unknown-parameter"))
  }

  private static func call(_ name: String) throws -> Call {
    try #require(DescribedService.calls.first { "\($0.method.rawValue) \($0.path)" == name })
  }

  /// Returns a parameter with its example, or else with a value of its schema; `nil` for a cursor.
  private static func pair(_ parameter: CallDescription.Parameter) -> String? {
    let schema = parameter.description.schema
    guard let value = schema.example ?? JSONValue.object(schema.keywords)["default"] ?? schema.firstChoice else {
      return nil
    }
    return "\(parameter.name)=\(text(value).addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    case .array(let elements) where elements.allSatisfy({ $0.kind != "an object" }):
      elements.map(text).joined(separator: ",")
    default: String(decoding: value.text, as: UTF8.self)
    }
  }

  // MARK: Serving

  @Test(arguments: [
    ("/openapi.json", "application/vnd.oai.openapi+json;version=3.1", "3.1.0"),
    ("/openapi-3.0.json", "application/vnd.oai.openapi+json;version=3.0", "3.0.3"),
  ])
  func documentIsServedWithItsMediaType(path: String, mediaType: String, version: String) async throws {
    let response = try await Self.send(.GET, path)

    #expect(response.status == 200)
    #expect(response.headers["content-type"] == [mediaType])
    #expect(try response.object["openapi"] as? String == version)
    let plain = try await Self.send(.GET, path, headers: ["accept": "application/json"])
    #expect(plain.headers["content-type"] == ["application/json"])
    #expect(plain.body == response.body)
    #expect(try await Self.send(.GET, path, headers: ["accept": "text/html"]).status == 406)
  }

  @Test(
    arguments: ["/openapi.json", "/openapi-3.0.json", PageRoute.mapSettingsPath, PageRoute.statusSettingsPath]
      + PageFile.all.map(\.path))
  func fileIsRevalidatedByItsEntityTag(path: String) async throws {
    let etag = try #require(try await Self.send(.GET, path).headers.first(name: "etag"))

    #expect(try await Self.send(.GET, path, headers: ["if-none-match": etag]).status == 304)
    #expect(try await Self.send(.GET, path, headers: ["if-none-match": "\"other\""]).status == 200)
    #expect(try await Self.send(.HEAD, path).status == 200)
  }

  @Test func theDocumentIsOpenWhereReadingNeedsAKey() async throws {
    let access = AccessPolicy(keys: [], isLoopback: false, readRequiresKey: true)
    let driver = ServiceDriver(writing: MemoryStore(), access: access)

    #expect(try await driver.send(.GET, "/locations").status == 401)
    #expect(try await driver.send(.GET, "/openapi.json").status == 200)
    #expect(try await driver.send(.GET, "/docs").status == 200)
  }

  @Test func theServerIsThePublicAddress() async throws {
    func server(_ address: PublicAddress) async throws -> String? {
      let response = try await Self.send(
        .GET, "/openapi.json", to: DescribedService.api(address: address).routerOfAllCalls(DescribedService.features()))
      return (try response.object["servers"] as? [[String: String]])?.first?["url"]
    }

    #expect(try await server(PublicAddress()) == ".")
    #expect(try await server(PublicAddress(url: "https://example.org/places")) == "https://example.org/places")
  }
}

extension String {
  /// The path with the parameters of examples.
  fileprivate var concrete: String {
    replacing("{id}", with: Examples.id).replacing("{place}", with: Examples.id).replacing(
      "{collection}", with: PointCollections.everything
    )
    .replacing("{name}", with: "demo").replacing("{pair}", with: Examples.pair)
    .replacing(#/\{([xyz]|tileMatrix|tileRow|tileCol)\}/#, with: "0")
  }
}

extension Schema {
  /// The component that the schema is a reference to.
  fileprivate var component: Component? {
    if case .component(let component) = kind { component } else { nil }
  }

  /// The first value of an enumeration.
  fileprivate var firstChoice: JSONValue? {
    if let component { return component.schema.firstChoice }
    guard case .array(let values)? = JSONValue.object(keywords)["enum"] else { return nil }
    return values.first
  }
}

extension Suggestion {
  /// Returns a suggestion for a place, with the same id.
  fileprivate static func renaming(_ place: PointOfInterest) -> Suggestion {
    Suggestion(
      id: place.id, place: place.id, version: place.version, change: #"{"name":"x"}"#, difference: "[]", comment: nil,
      contact: nil, key: nil, address: nil, createdAt: SystemClock().now(), lifetime: .seconds(86_400))
  }
}
