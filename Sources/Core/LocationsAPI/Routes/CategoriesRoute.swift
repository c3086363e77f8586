import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import SearchWords

/// `GET /categories`: the categories with the number of places of each, most frequent first; with `bbox`, of the places
/// in the box. With `tree`, those of the tree of categories with their labels, each with those below it.
struct CategoriesRoute: CallHandler {
  static let call = Call(
    .GET, "/categories", scope: .read, joinsRestriction: true, id: "listCategories", group: .search, link: "categories",
    summary: "List the categories", description: "The number of places of each category, most frequent first.",
    parameters: [.box, .format, .languages, .tree],
    describing: ["f": .format([.json]), "lang": .labelLanguages], caching: .versioned,
    responses: [.init(200, "The categories.", media: .json(Schema(.array(of: .categoryCount))))])

  let service: PointsService
  let revalidation: Revalidation
  let tree: CategoryTree

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let box = values.box()
    let isTree = values.flag(.tree)
    let languages = values.languages()
    if values.has(.languages), !isTree {
      values.note(.missing, Parameter.tree.name, "must be true if lang is given")
    }
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    return try await revalidation.respond(to: request, in: .json) { () async throws(Problem) in
      ExpiringResponse(
        try await count(in: box, for: request) { counts in
          isTree ? Self.response(counts, as: tree, languages) : Self.response(counts)
        })
    }
  }

  private func count(
    in box: BoundingBox?, for request: HTTPRequest, response: ([CategoryCount]) -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    // Beside the event loop, as there may be as many categories as places.
    switch try await service.view(of: PointQuery(box: box), as: .categories, for: request) {
    case .snapshot(let snapshot):
      return try await request.computing { () throws(Problem) in
        response(try request.searchResult(of: service.searched(.categories, try snapshot.categoryCounts(in: box))))
      }
    case .store(let store):
      let counts = try await request.result(
        of: await service.observed(.categories, await store.categoryCounts(in: box)))
      return try await request.computing { response(counts) }
    }
  }

  private static func response(_ counts: [CategoryCount]) -> HTTPResponse {
    var json = JSONWriter()
    json.beginArray()
    for count in counts { write(count, to: &json) }
    json.endArray()
    return HTTPResponse(json)
  }

  /// Returns the categories of a tree that have places, the most frequent first, and those that are not in it beside
  /// its groups.
  private static func response(
    _ counts: [CategoryCount], as tree: CategoryTree, _ languages: LanguagePriorityList?
  ) -> HTTPResponse {
    let (totals, others) = tree.totals(of: counts)
    var json = JSONWriter()
    json.beginArray()
    // Both are in the order of their counts.
    var rest = others[...]
    for number in tree.roots(mostFrequentBy: totals) {
      while let other = rest.first, other.count > totals[number] {
        write(other, to: &json)
        rest.removeFirst()
      }
      write(number, of: tree, totals, languages, to: &json)
    }
    for other in rest { write(other, to: &json) }
    json.endArray()
    return HTTPResponse(json)
  }

  private static func write(_ count: CategoryCount, to json: inout JSONWriter<[UInt8]>) {
    json.beginObject()
    json.write(member: "category", count.category)
    json.write(member: "count", count.count)
    json.endObject()
  }

  private static func write(
    _ number: Int, of tree: CategoryTree, _ totals: [Int], _ languages: LanguagePriorityList?,
    to json: inout JSONWriter<[UInt8]>
  ) {
    json.beginObject()
    json.write(member: "category", tree.categories[number].name.text)
    json.write(member: "label", tree.label(of: number, in: languages).label)
    json.write(member: "count", totals[number])
    let children = tree.children(of: number, mostFrequentBy: totals)
    if !children.isEmpty {
      json.write(name: "children")
      json.beginArray()
      for child in children { write(child, of: tree, totals, languages, to: &json) }
      json.endArray()
    }
    json.endObject()
  }
}

extension Parameter {
  package static let tree = Parameter("tree", .flag) {
    .init("`true` returns the categories as a tree. `false` without it.", Schema(.boolean, nil, example: true))
  }
}

extension Schema {
  fileprivate static let categoryCount: Schema = Schema(
    .component(
      Component("CategoryCount", order: 170) {
        Schema(
          .object(
            [
              .required("category", Schema(.string)),
              .optional("label", Schema(.string, "In a tree, the label of a category of it.")),
              .required("count", count),
              .optional(
                "children",
                Schema(.array(of: .categoryCount), "In a tree, the categories below that have places.")),
            ], others: nil),
          nil, example: ["category": "cafe", "count": 72])
      }))
}
