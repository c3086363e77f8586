import Geo
public import Points

/// What gives ids to places that are imported without one.
public protocol ImportIDSource: Sendable {
  /// An id for a new place. Another attempt gives another id, and is made while the last is taken.
  ///
  /// - Parameter attempt: counted from 0.
  func id(for place: Place, attempt: Int) -> PointID
}

/// Ids that no place ever had: a place that was removed and comes again is another one, so that nobody who knew the
/// former one, by its id and version, takes the two for the same.
struct NewIDs: ImportIDSource {
  private let time: Timestamp

  /// Creates the source at the time that goes into the ids.
  init(at time: Timestamp) {
    self.time = time
  }

  func id(for place: Place, attempt: Int) -> PointID {
    var generator = SystemRandomNumberGenerator()
    return PointID(at: time, using: &generator)
  }
}

/// Ids made from what the places are, so that every instance and every start that loads the same files gives the same.
///
/// A place with an origin gets its id from that, any other from its name and coordinate.
public struct DerivedIDs: ImportIDSource {
  /// Creates the source.
  public init() {}

  /// The id derived from the place's origin, or else from its name and coordinate, and from the attempt but the first.
  public func id(for place: Place, attempt: Int) -> PointID {
    var identity: [UInt8] = []
    if let origin = place.origin {
      identity.append(contentsOf: origin.source.utf8)
      identity.append(Self.separator)
      identity.append(contentsOf: origin.sourceID.utf8)
    } else {
      identity.append(contentsOf: place.name.utf8)
      for degrees in [place.coordinate.latitude, place.coordinate.longitude] {
        identity.append(Self.separator)
        Self.append(degrees.bitPattern, to: &identity)
      }
    }
    if attempt > 0 {
      identity.append(Self.separator)
      Self.append(UInt64(attempt), to: &identity)
    }
    return PointID(derivedFrom: identity)
  }

  /// A byte that no text has.
  private static let separator: UInt8 = 0xFF

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
