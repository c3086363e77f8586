public import Foundation

/// The links by which an app opens a place: `scheme://open?id=…&mode=…`.
public struct PlaceLink: Hashable, Sendable {
  /// The scheme that the app is registered for.
  public let scheme: String

  /// Creates links of a scheme.
  ///
  /// - Throws: ``PlaceOpenerError/invalidScheme(_:)`` where it is none (RFC 3986, section 3.1).
  public init(scheme: String) throws(PlaceOpenerError) {
    let isScheme = scheme.utf8.enumerated().allSatisfy { index, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): index > 0
      default: false
      }
    }
    guard isScheme, !scheme.isEmpty else { throw .invalidScheme(scheme) }
    self.scheme = scheme
  }

  /// The link to what the app knows by an id; whatever is in the id, it stays one value of the query.
  public func url(id: String, mode: OpenMode) -> URL? {
    URL(string: "\(scheme)://open?\(QueryParameter("id", id).text)&\(QueryParameter("mode", mode.rawValue).text)")
  }

  /// Where a place may be opened, the best first: in the app, where it has an id; to view, on its website too.
  public func candidates(for place: PointOfInterest, mode: OpenMode) -> [URL] {
    let link = place.id.flatMap { url(id: $0.uuidString.lowercased(), mode: mode) }
    return [link, mode == .view ? place.website : nil].compactMap { $0 }
  }
}
