import HTTPServer
import NIOHTTP1
import PointFormats

/// A representation of a resource of OGC API Features.
enum FeatureFormat: Hashable {
  case geoJSON
  case json
  case schema
  case html

  /// The media type, for `Content-Type`.
  var mediaType: String {
    switch self {
    case .geoJSON: PointFormat.geoJSON.mediaType
    case .json: PointFormat.json.mediaType
    case .schema: "application/schema+json"
    case .html: "text/html; charset=utf-8"
    }
  }

  /// The representations of features.
  static let ofItems: [FeatureFormat] = [.geoJSON, .json, .html]

  /// The representations of schemas.
  static let ofSchemas: [FeatureFormat] = [.schema, .json, .html]

  /// The representations of all other resources.
  static let ofPages: [FeatureFormat] = [.json, .html]

  /// Returns the representation that `f` names, `json` or `html`, or else the one that `Accept` prefers.
  ///
  /// - Throws: `Problem` 400 for an unknown `f`, 406 when nothing offered is acceptable.
  static func chosen(
    by parameter: String?, accept headers: HTTPHeaders, from offered: [FeatureFormat]
  ) throws(Problem) -> FeatureFormat {
    switch parameter {
    case nil:
      return try MediaRange.preferred(offered, mediaType: \.mediaType, accept: headers[canonicalForm: "accept"])
    case "json"?: return offered[0]
    case "html"?: return .html
    case let name?: throw .invalidParameter("f", "must be json or html, got '\(name.prefix(50))'")
    }
  }
}
