public import Foundation

/// The deep links of an app to places: `scheme://open?id=…&mode=…`.
///
/// ```swift
/// let link = try PointLink(scheme: "placesapp")
/// print(link.url(id: place.id.uuidString, mode: .view)?.absoluteString ?? "")
/// ```
public struct PointLink: Hashable, Sendable {
  /// The app's registered URL scheme.
  public let scheme: String

  /// Creates links with a scheme.
  ///
  /// - Throws: ``PointOpenerError/invalidScheme(_:)`` where it is malformed (RFC 3986, section 3.1).
  public init(scheme: String) throws(PointOpenerError) {
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

  /// Returns the link to a place with an id, which is percent-encoded.
  public func url(id: String, mode: OpenMode) -> URL? {
    let query = [QueryParameter("id", .text(id)), QueryParameter("mode", .text(mode.rawValue))].map(\.text)
    return URL(string: "\(scheme)://open?\(query.joined(separator: "&"))")
  }

  /// Returns the id and the mode of a link to a place; `nil` for another URL.
  ///
  /// ```swift
  /// let link = try PointLink(scheme: "placesapp")
  /// if let (id, mode) = link.place(in: fileURL) { print(id, mode) }
  /// ```
  public func place(in url: URL) -> (id: UUID, mode: OpenMode)? {
    guard url.scheme?.lowercased() == scheme.lowercased(), url.host()?.lowercased() == "open",
      let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems,
      let id = items.first(where: { $0.name == "id" })?.value.flatMap(UUID.init(uuidString:)),
      let mode = items.first(where: { $0.name == "mode" })?.value.flatMap(OpenMode.init(rawValue:))
    else { return nil }
    return (id, mode)
  }

  /// Returns the URLs of a place in order of preference: the deep link if it has an id, and its website if it is only
  /// viewed.
  package func candidates(for place: PointOfInterest, mode: OpenMode) -> [URL] {
    let link = place.hasFallbackID ? nil : url(id: place.id.uuidString.lowercased(), mode: mode)
    return [link, mode == .view ? place.website : nil].compactMap { $0 }
  }
}

/// The purpose for which an app opens a place.
///
/// ```swift
/// let modes = OpenMode.allCases.map(\.rawValue)
/// ```
public enum OpenMode: String, CaseIterable, Hashable, Sendable {
  /// The user views it.
  case view
  /// The user edits it.
  case edit
}
