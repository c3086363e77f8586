/// Where a place came from.
public struct PlaceOrigin: Hashable, Sendable {
  /// The data set, for example `osm`.
  public var source: String

  /// The place's name in that data set, for example `node/358829`.
  public var id: String

  /// Creates an origin.
  public init(source: String, id: String) {
    self.source = source
    self.id = id
  }
}
