/// A stored point of interest: the values that clients set, with the id, the version and the times of the service.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// The id, unique in the store.
  public let id: PointID

  /// The values that clients set.
  public let draft: PointDraft

  /// A number that grows with each change and never repeats for an id, across deletion and re-creation too.
  public let version: Int64

  /// The time of its creation.
  public let createdAt: Timestamp

  /// The time of its last change.
  public let updatedAt: Timestamp

  /// The greatest version that stores increment, 2⁵², which as microseconds is the year 2112; JavaScript represents
  /// twice as much exactly. A greater one can only come from outside: the next version of its place is then the store's
  /// next, as if the place had none.
  public static let maximumCountedVersion: Int64 = 1 << 52

  /// A number above every version that a store assigns, 2⁵³.
  public static let versionLimit: Int64 = 1 << 53

  /// Creates a point of interest.
  public init(id: PointID, draft: PointDraft, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.id = id
    self.draft = draft
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
