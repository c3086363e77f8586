/// A place as a store keeps it.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// What it is known by.
  public let id: PointID

  /// What was said of it.
  public let place: Place

  /// 1 when it was created, one more with each change.
  public let version: Int64

  /// When it was created.
  public let createdAt: Timestamp

  /// When it was last changed.
  public let updatedAt: Timestamp

  /// Makes a point of interest.
  public init(id: PointID, place: Place, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.id = id
    self.place = place
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
