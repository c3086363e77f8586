import Basics
import HTTPServer
import JSONText
import PointFormats

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
