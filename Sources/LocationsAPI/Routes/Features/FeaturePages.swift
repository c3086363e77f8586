import Basics
import Geo
import HTTPServer
import JSONText
import PointFormats
import Points

/// The pages of OGC API Features.
enum FeaturePages {
  static func landing(_ links: FeatureLinks) -> HTMLPage {
    HTMLPage(
      title: "Waymark",
      body: "<p>Points of interest.</p>"
        + HTMLPage.list([
          HTMLPage.link("Collections", links.target("/collections?f=html")),
          HTMLPage.link("Conformance", links.target("/conformance?f=html")),
          HTMLPage.link("Description of the calls (OpenAPI)", links.target("/api")),
          HTMLPage.link("Documentation", links.service("/docs")),
        ]), alternate: links.own(format: "json"))
  }

  static func conformance(_ classes: [String], _ links: FeatureLinks) -> HTMLPage {
    HTMLPage(
      title: "Conformance", parents: parents(links), body: HTMLPage.list(classes.map(HTMLPage.escape)),
      alternate: links.own(format: "json"))
  }

  static func collections(_ collections: [PointCollection], _ links: FeatureLinks) -> HTMLPage {
    HTMLPage(
      title: "Collections", parents: parents(links),
      body: HTMLPage.table(
        collections.map { collection in
          (
            collection.title,
            HTMLPage.link(collection.description, links.collection(collection, "?f=html"))
          )
        }), alternate: links.own(format: "json"))
  }

  static func collection(_ collection: PointCollection, _ links: FeatureLinks) -> HTMLPage {
    HTMLPage(
      title: collection.title, parents: parents(links, hasCollections: true),
      body: "<p>\(HTMLPage.escape(collection.description))</p>"
        + HTMLPage.list([
          HTMLPage.link("Items", links.collection(collection, "/items?f=html")),
          HTMLPage.link("Queryables", links.collection(collection, "/queryables?f=html")),
          HTMLPage.link("Schema", links.collection(collection, "/schema?f=html")),
        ]), alternate: links.own(format: "json"))
  }

  static func schema(
    _ document: JSONValue, _ title: String, of collection: PointCollection, _ links: FeatureLinks
  ) -> HTMLPage {
    var rows: [(String, String)] = []
    if case .object(let properties)? = document["properties"] {
      rows = properties.map { property in
        let texts = ["type", "format"].compactMap { name -> String? in
          if case .string(let text)? = property.value[name] { text } else { nil }
        }
        return (property.name, HTMLPage.escape(texts.joined(separator: ", ")))
      }
    }
    return HTMLPage(
      title: title, parents: parents(links, in: collection), body: HTMLPage.table(rows),
      alternate: links.own(format: "json"))
  }

  static func items(_ page: FeaturePage, in collection: PointCollection, _ links: FeatureLinks) -> HTMLPage {
    let rows = page.points.map { found -> (String, String) in
      let draft = found.point.draft
      let target = links.collection(collection, "/items/\(found.point.id)?f=html")
      return (draft.category ?? "", HTMLPage.link(draft.name, target))
    }
    let count = page.numberMatched.map { "\(page.points.count) of \($0) items." } ?? "\(page.points.count) items."
    let next = page.links.first { $0.relation == "next" }.map { "<p>\(HTMLPage.link("Next page", $0.target))</p>" }
    return HTMLPage(
      title: "Items", parents: parents(links, in: collection),
      body: "<p>\(count)</p>" + MapSketch.svg(of: page.points.map(\.point)) + HTMLPage.table(rows) + (next ?? ""),
      alternate: links.own(format: "json"))
  }

  static func item(
    _ point: PointOfInterest, in collection: PointCollection, _ links: FeatureLinks, _ properties: FeatureProperties
  ) -> HTMLPage {
    let draft = point.draft
    var rows: [(String, String)] = [("id", HTMLPage.escape(point.id.description))]
    if let category = draft.category { rows.append(("category", HTMLPage.escape(category))) }
    rows.append(("position", "\(draft.coordinate.latitude), \(draft.coordinate.longitude)"))
    rows += draft.tags.pairs.map { ($0.key, HTMLPage.escape($0.value)) }
    if let origin = draft.origin {
      rows += [("source", HTMLPage.escape(origin.source)), ("sourceId", HTMLPage.escape(origin.sourceID))]
    }
    rows += [
      ("version", "\(point.version)"), ("createdAt", point.createdAt.description),
      ("updatedAt", point.updatedAt.description),
    ]
    let items = (title: "Items", target: links.collection(collection, "/items?f=html"))
    return HTMLPage(
      title: draft.name, parents: parents(links, in: collection) + [items],
      body: MapSketch.svg(of: [point]) + HTMLPage.table(rows), alternate: links.own(format: "json"))
  }

  // MARK: Parents

  private static func parents(_ links: FeatureLinks, hasCollections: Bool = false) -> [(title: String, target: String)]
  {
    let home = (title: "Waymark", target: links.target("?f=html"))
    return hasCollections ? [home, (title: "Collections", target: links.target("/collections?f=html"))] : [home]
  }

  private static func parents(
    _ links: FeatureLinks, in collection: PointCollection
  ) -> [(title: String, target: String)] {
    parents(links, hasCollections: true)
      + [(title: collection.title, target: links.collection(collection, "?f=html"))]
  }
}

/// The links between the resources of OGC API Features, as the response to one request has them.
///
/// They are absolute, because GIS tools resolve no references: with the configured address, or else with the host that
/// the client named. Those of a page may be relative, as browsers resolve them under any path prefix.
struct FeatureLinks {
  /// The path of the landing page.
  static let root = "/ogc"

  private let address: PublicAddress
  private let request: HTTPRequest
  private let mayBeRelative: Bool

  init(_ address: PublicAddress, for request: HTTPRequest, inPage mayBeRelative: Bool = false) {
    self.address = address
    self.request = request
    self.mayBeRelative = mayBeRelative
  }

  /// Returns the target of a path below the landing page.
  func target(_ path: String) -> String { service(Self.root + path) }

  /// Returns the target of a path of the service.
  func service(_ path: String) -> String {
    guard mayBeRelative else { return address.absoluteTarget(path: path, for: request) }
    // Up to the folder of the service, from that of the request.
    let depth = request.path.utf8.count { $0 == UInt8(ascii: "/") } - 1
    return address.target(
      path: path, relative: String(repeating: "../", count: depth) + path.dropFirst(), for: request)
  }

  /// Returns the target of a collection, or of a path below it.
  func collection(_ collection: PointCollection, _ path: String = "") -> String {
    target("/collections/\(collection.id)\(path)")
  }

  /// Returns the target of the request itself.
  ///
  /// - Parameter format: the value of `f` in it; `nil` for that of the request, if any.
  func own(format: String? = nil) -> String {
    let query = format.map { NextLink.query(request.query, setting: "f", to: $0) } ?? NextLink.query(request.query)
    return service(String(request.path) + query)
  }

  /// Returns the target of the next page.
  func next(cursor: String) -> String {
    service(String(request.path) + NextLink.query(request.query, cursor: cursor))
  }

  /// Returns the links of a resource to itself and to its other representation.
  func selfAndAlternate(_ format: FeatureFormat, json: FeatureFormat = .json) -> [PointGeoJSON.Link] {
    let isPage = format == .html
    return [
      .init(relation: "self", mediaType: format.mediaType.essence, target: own()),
      .init(
        relation: "alternate", mediaType: (isPage ? json : .html).mediaType.essence,
        target: own(format: isPage ? "json" : "html")),
    ]
  }
}

extension String {
  /// A media type without its parameters.
  fileprivate var essence: String { String(prefix { $0 != ";" }) }
}

extension PointGeoJSON.Link {
  /// The link as JSON.
  var json: JSONValue {
    ["rel": .string(relation), "type": .string(mediaType), "href": .string(target)]
  }
}

extension [PointGeoJSON.Link] {
  /// The links as JSON.
  var json: JSONValue { .array(map(\.json)) }
}
