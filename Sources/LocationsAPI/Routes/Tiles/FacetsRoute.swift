import Basics
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/facets`: the most frequent categories, groups of categories, and values of tags, of the places that
/// match.
struct FacetsRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/facets", scope: .read, id: "getFacets", group: .map, link: "facets",
    summary: "Count categories and tags",
    description: "The most frequent values of each property among the places that match.",
    parameters: Set<Parameter>.mapFilters.union([.box, .facets, .limit, .languages]),
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
                        .optional("label", Schema(.string, "Label of a category or group, where `lang` is given.")),
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

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let filters = values.filters(by: filtering)
    let text = values.text()
    let facets = values.facets(by: filtering)
    let languages = values.languages()
    let limit = values.limit(in: FacetQuery.limits, default: FacetQuery.defaultLimit)
    try values.check()
    let labels = languages.map { Labels(tree: filtering.categories, languages: $0) }
    let query = FacetQuery(
      facets: facets, filters: filters, text: text, limit: limit, timeLimit: filtering.timeLimit)
    return try await revalidation.respond(
      to: request, in: .json, expires: filters.opening?.isNow == true
    ) { () async throws(Problem) in
      let snapshot = try await service.mapSnapshot(as: .facets, for: request, text: text)
      return try await request.computing { () throws(Problem) in
        let found = try request.reportingSearchErrors { () throws(PointStoreError) in
          try service.facets(matching: query, in: snapshot)
        }
        return ExpiringResponse(
          Self.response(found, facets: facets, labels), expiry: snapshot.expiry(of: query.filters))
      }
    }
  }

  /// The labels of categories in the preferred languages.
  private struct Labels {
    let tree: CategoryTree
    let languages: LanguagePriorityList

    /// Returns the label of a value; `nil` if it is none of the tree.
    func label(of value: String, _ facet: FacetQuery.Facet) -> String? {
      guard facet == .category || facet == .group else { return nil }
      return tree.number(of: ExactText(value)).map { tree.label(of: $0, in: languages).label }
    }
  }

  private static func response(
    _ found: Facets, facets: [FacetQuery.Facet], _ labels: Labels?
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
        if let label = labels?.label(of: value.text, facet) { json.write(member: "label", label) }
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

  private static func name(of facet: FacetQuery.Facet) -> String {
    switch facet {
    case .category: "category"
    case .group: "group"
    case .tag(let key), .elements(let key): Queryables.tagPrefix + key.text
    }
  }
}
