/// Whether a coordinate is at a place: what `/locations/check` answers.
public struct PlaceCheck: Hashable, Sendable, Decodable {
  /// Whether there is a place within the radius.
  public var isPointOfInterest: Bool

  /// The nearest of them.
  public var location: PointOfInterest?

  /// Creates an answer.
  public init(isPointOfInterest: Bool, location: PointOfInterest? = nil) {
    self.isPointOfInterest = isPointOfInterest
    self.location = location
  }
}
