/// A place as a store keeps it.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// What it is known by.
  public let id: PointID

  /// What was said of it.
  public let place: Place

  /// A number that grows with each change and never repeats for an id, across deletion and re-creation too.
  public let version: Int64

  /// When it was created.
  public let createdAt: Timestamp

  /// When it was last changed.
  public let updatedAt: Timestamp

  /// The greatest version that stores count on from, 2⁵², which as microseconds is the year 2112; JavaScript reads twice
  /// as much exactly. A greater one can only come from outside: the place's next version is the store's next, as if the
  /// place had none.
  public static let maximumCountedVersion: Int64 = 1 << 52

  /// A number above every version that a store gives, 2⁵³.
  public static let versionLimit: Int64 = 1 << 53

  /// Creates a point of interest.
  public init(id: PointID, place: Place, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.id = id
    self.place = place
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
