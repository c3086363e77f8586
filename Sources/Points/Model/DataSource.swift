public import Basics

/// A data set that places come from, with its licence and attribution.
public struct DataSource: Hashable, Sendable {
  /// The name, as the source of its places.
  @ComparedByBytes public private(set) var name: String

  /// The licence, preferably as an SPDX identifier, such as `ODbL-1.0`.
  @ComparedByBytes public var licence: String?

  /// The attribution that the licence asks for.
  @ComparedByBytes public var attribution: String?

  /// The address of the data set or of its licence.
  @ComparedByBytes public var url: String?

  /// The maximum length of each text, in Unicode scalars.
  public static let maximumLength = 500

  /// Returns a Boolean value that indicates whether a text is an address that apps can link to: `http://` or `https://`
  /// and a host, without white space and control characters.
  public static func isAddress(_ text: String) -> Bool {
    guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }) else { return false }
    let rest = text.unicodeScalars.dropFirst(scheme.unicodeScalars.count)
    guard let first = rest.first, !["/", "?", "#"].contains(first) else { return false }
    return rest.allSatisfy { !$0.properties.isWhitespace && $0.properties.generalCategory != .control }
  }

  public init(name: String, licence: String? = nil, attribution: String? = nil, url: String? = nil) {
    self.name = name
    self.licence = licence
    self.attribution = attribution
    self.url = url
  }

  /// Returns the data set with the values of another one where it has none.
  public func completed(by other: DataSource?) -> DataSource {
    DataSource(
      name: name, licence: licence ?? other?.licence, attribution: attribution ?? other?.attribution,
      url: url ?? other?.url)
  }
}
