import Geo
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
