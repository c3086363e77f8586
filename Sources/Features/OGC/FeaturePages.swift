import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// The pages of OGC API Features in HTML, in the language that a request prefers and with the look of the other pages.
struct FeaturePages {
  let links: FeatureLinks
  let texts: PageTexts
  private let imageOrigin: String?

  init(_ links: FeatureLinks, for request: HTTPRequest, _ style: PageStyle) {
    self.links = links
    imageOrigin = style.imageOrigin
    texts = style.texts[style.index(preferredBy: request.headers)]
  }

  func landing() -> HTTPResponse {
    page(
      "Waymark",
      HTML.list([
        link("ogc.collections", links.target("/collections?f=html")),
        link("ogc.conformance", links.target("/conformance?f=html")),
        link("ogc.description", links.target("/api")),
        link("ogc.documentation", links.service("/docs")),
      ]))
  }

  func conformance(_ classes: [String]) -> HTTPResponse {
    page(texts.text("ogc.conformance"), under: [home], HTML.list(classes.map(HTML.escape)))
  }

  func collections(_ collections: [PointCollection]) -> HTTPResponse {
    page(
      texts.text("ogc.collections"), under: [home],
      HTML.table(
        collections.map { collection in
          (collection.title, HTML.link(collection.description, links.collection(collection, "?f=html")))
        }))
  }

  func collection(_ collection: PointCollection) -> HTTPResponse {
    page(
      collection.title, under: Array(parents(in: collection).dropLast()),
      "<p dir=\"auto\">\(HTML.escape(collection.description))</p>"
        + HTML.list([
          link("ogc.items", links.collection(collection, "/items?f=html")),
          link("ogc.queryables", links.collection(collection, "/queryables?f=html")),
          link("ogc.schema", links.collection(collection, "/schema?f=html")),
        ]))
  }

  /// Returns the page of a JSON schema, under the title of a name of ``PageTexts``.
  func schema(_ document: JSONValue, _ title: String, of collection: PointCollection) -> HTTPResponse {
    var rows: [(String, String)] = []
    if case .object(let properties)? = document["properties"] {
      rows = properties.map { property in
        let texts = ["type", "format"].compactMap { name -> String? in
          if case .string(let text)? = property.value[name] { text } else { nil }
        }
        return (property.name, HTML.escape(texts.joined(separator: ", ")))
      }
    }
    return page(texts.text(title), under: parents(in: collection), HTML.table(rows))
  }

  func items(_ found: FeaturePage, in collection: PointCollection) -> HTTPResponse {
    let items = found.points.map { found in
      let target = links.collection(collection, "/items/\(found.point.id)?f=html")
      let category = found.point.draft.category.map { " <small>\(HTML.escape($0))</small>" } ?? ""
      return HTML.link(found.point.draft.name, target, attributes(of: found.point)) + category
    }
    let shown = "\(found.points.count)"
    let count =
      found.numberMatched.map { texts.text("ogc.countOfAll", ["count": shown, "total": "\($0)"]) }
      ?? texts.text("ogc.count", ["count": shown])
    let next = found.links.first { $0.relation == "next" }.map { "<p>\(link("ogc.next", $0.target))</p>" }
    return page(
      texts.text("ogc.items"), under: parents(in: collection),
      "<p>\(HTML.escape(count))</p>" + map(isShown: !items.isEmpty) + HTML.list(items) + (next ?? ""))
  }

  func item(_ point: PointOfInterest, in collection: PointCollection) -> HTTPResponse {
    let draft = point.draft
    let position = "\(draft.coordinate.latitude), \(draft.coordinate.longitude)"
    var rows: [(String, String)] = [("id", HTML.escape(point.id.description))]
    if let category = draft.category { rows.append(("category", HTML.escape(category))) }
    rows.append(("position", "<data value=\"\"\(attributes(of: point))>\(position)</data>"))
    rows += draft.tags.pairs.map { ($0.key, HTML.escape($0.value)) }
    if let origin = draft.origin {
      rows += [("source", HTML.escape(origin.source)), ("sourceId", HTML.escape(origin.sourceID))]
    }
    rows += [
      ("version", "\(point.version)"), ("createdAt", point.createdAt.description),
      ("updatedAt", point.updatedAt.description),
    ]
    let items = (title: texts.text("ogc.items"), target: links.collection(collection, "/items?f=html"))
    return page(draft.name, under: parents(in: collection) + [items], map(isShown: true) + HTML.table(rows))
  }

  // MARK: Parts

  private typealias Parent = (title: String, target: String)

  private var home: Parent { (title: "Waymark", target: links.target("?f=html")) }

  private func parents(in collection: PointCollection) -> [Parent] {
    [
      home, (title: texts.text("ogc.collections"), target: links.target("/collections?f=html")),
      (title: collection.title, target: links.collection(collection, "?f=html")),
    ]
  }

  private func link(_ name: String, _ target: String) -> String { HTML.link(texts.text(name), target) }

  /// Returns the attributes by which the script of the page draws a place.
  private func attributes(of point: PointOfInterest) -> String {
    let (draft, coordinate) = (point.draft, point.draft.coordinate)
    return " data-lat=\"\(coordinate.latitude)\" data-long=\"\(coordinate.longitude)\""
      + " data-name=\"\(HTML.escape(draft.name))\" data-category=\"\(HTML.escape(draft.category ?? ""))\""
  }

  private func map(isShown: Bool) -> String {
    guard isShown else { return "" }
    return "<div class=\"stage\"><div id=\"map\" tabindex=\"0\" role=\"application\""
      + " aria-label=\"\(HTML.escape(texts.text("map.name")))\"></div></div>"
  }

  private func page(_ title: String, under parents: [Parent] = [], _ body: String) -> HTTPResponse {
    let file = { HTML.escape(links.service($0)) }
    let path = parents.map { HTML.link($0.title, $0.target) }.joined(separator: " / ")
    let text = """
      <!doctype html>
      <html lang="\(texts.language)">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(HTML.escape(title)) · Waymark</title>
      <link rel="icon" href="data:,">
      <link rel="stylesheet" href="\(file("/pages/common.css"))">
      <link rel="stylesheet" href="\(file("/map/view.css"))">
      <link rel="stylesheet" href="\(file("/ogc/page.css"))">
      <script src="\(file("/pages/failures.js"))"></script>
      <script type="module" src="\(file("/ogc/page.js"))"></script>
      </head>
      <body>
      <header class="bar"><p class="brand">Waymark</p>
      <nav aria-label="\(HTML.escape(texts.text("common.pages")))">\(link("common.map", links.service("/map")))
      \(link("common.api", links.service("/docs"))) \(link("common.status", links.service("/status")))</nav></header>
      <p id="message" role="alert" hidden data-failure="\(HTML.escape(texts.text("common.failure")))"></p>
      <main>
      <nav class="path" aria-label="\(HTML.escape(texts.text("ogc.path")))">\(path)</nav>
      <h1 dir="auto">\(HTML.escape(title))</h1>
      \(body)
      <p>\(HTML.link("JSON", links.own(format: "json")))</p>
      </main>
      </body>
      </html>

      """
    var response = HTTPResponse(contentType: FeatureFormat.html.mediaType, bytes: Array(text.utf8))
    response.addPageFields(texts, imageOrigin: imageOrigin)
    return response
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
