import APIDescription
import Basics
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import SearchWords

/// `GET /locations/facets`: the most frequent categories, groups of categories, and values of tags, of the places that
/// match.
struct FacetsRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations/facets", scope: .read, joinsRestriction: true, id: "getFacets", group: .map, link: "facets",
    summary: "Count categories, tags and areas",
    description: "The most frequent values of each property among the places that match.",
    parameters: .mapFilters.union([.box, .facets, .limit, .languages]),
    describing: [
      "by": Parameter.facets.description.required,
      "limit": .limit(FacetQuery.limits, default: FacetQuery.defaultLimit), "lang": .labelLanguages,
    ],
    caching: .versioned, responses: [.init(200, "The counts.", media: .json(schema))])

  private static let schema = Schema(
    .object(
      [
        .required("count", Schema(.integer, "Number of places that match.", ["minimum": 0])),
        .required(
          "facets",
          Schema(
            .object(
              [],
              others: Schema(
                .array(
                  of: Schema(
                    .object(
                      [
                        .required("value", Schema(.string)),
                        .optional(
                          "label",
                          Schema(.string, "Label of a category or group, if `lang` is given; name of an area.")),
                        .required("count", .count),
                      ], others: nil))))),
            "The most frequent values by property, ties by value.")),
        .required(
          "missing", Schema(.object([], others: .count), "Numbers of places without a value, by property.")),
      ], others: nil),
    example: [
      "count": 1234, "facets": ["category": [["value": "cafe", "count": 12]]], "missing": ["category": 7],
    ])

  let service: PointsService
  let revalidation: Revalidation
  let filtering: Filtering
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    let filters = try await request.compiling(values) { () throws(Problem) in values.filters(by: filtering) }
    let text = values.text()
    let facets = values.facets(by: filtering)
    let languages = values.languages()
    let limit = values.limit(in: FacetQuery.limits, default: FacetQuery.defaultLimit)
    try values.check()
    var query = FacetQuery(
      facets: facets, filters: filters, text: text, limit: limit, timeLimit: filtering.timeLimit)
    let needsAreas = facets.contains { if case .area = $0 { true } else { false } }
    if needsAreas { query.areas = try await areas.forRequest(request).areas }
    let labels = Labels(tree: filtering.categories, areas: query.areas, languages: languages)
    let version = needsAreas ? "-a" + String(query.areas.version, radix: 36) : ""
    return try await revalidation.respond(
      to: request, in: .json, representation: version, areas: values.areas, expires: filters.opening?.isNow == true
    ) { () async throws(Problem) in
      let snapshot = try await service.requiredSnapshot(as: .facets, for: request, text: text)
      return try await request.computing { [query] () throws(Problem) in
        let found = try request.searchResult(of: service.searched(.facets, try snapshot.facets(matching: query)))
        return ExpiringResponse(
          Self.response(found, facets: facets, labels), expiry: snapshot.expiry(of: query.filters))
      }
    }
  }

  /// The labels of categories and areas in the preferred languages.
  private struct Labels {
    let tree: CategoryTree
    let areas: Areas
    let languages: LanguagePriorityList?

    /// Returns the label of a value; `nil` if it has none.
    func label(of value: String, _ facet: FacetQuery.Facet) -> String? {
      if case .area = facet { return PointID(value).flatMap { areas[$0] }?.draft.name(in: languages) }
      guard facet == .category || facet == .group, let languages else { return nil }
      return tree.number(of: ExactText(value)).map { tree.label(of: $0, in: languages).label }
    }
  }

  private static func response(
    _ found: Facets, facets: [FacetQuery.Facet], _ labels: Labels
  ) -> HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "count", found.count)
    json.write(name: "facets")
    json.beginObject()
    for (facet, counts) in zip(facets, found.counts) {
      json.write(escapedName: name(of: facet))
      json.writeArray(of: counts.values) { value, json in
        json.write(member: "value", value.text)
        if let label = labels.label(of: value.text, facet) { json.write(member: "label", label) }
        json.write(member: "count", value.count)
      }
    }
    json.endObject()
    json.write(name: "missing")
    json.beginObject()
    for (facet, counts) in zip(facets, found.counts) {
      json.write(escapedName: name(of: facet))
      json.write(integer: counts.missing)
    }
    json.endObject()
    json.endObject()
    return HTTPResponse(json)
  }

  /// The beginning of the name of a facet of areas, before their kind.
  static let areaPrefix = "area:"

  private static func name(of facet: FacetQuery.Facet) -> String {
    switch facet {
    case .category: "category"
    case .group: "group"
    case .tag(let key), .elements(let key): Queryables.tagPrefix + key.text
    case .area(let kind): areaPrefix + kind.rawValue
    }
  }
}
