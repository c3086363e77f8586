import Geo
package import Points

/// A source of ids for places that are imported without one.
package protocol ImportIDSource: Sendable {
  /// Returns an id for a new place.
  ///
  /// - Parameter attempt: the number of earlier calls whose ids were taken; each attempt gives another id.
  func id(for place: PointDraft, attempt: Int) -> PointID
}

/// A source of ids that no place ever had.
struct NewIDs: ImportIDSource {
  private let time: Timestamp

  /// Creates a source.
  ///
  /// - Parameter time: the time that goes into the ids.
  init(at time: Timestamp) {
    self.time = time
  }

  func id(for place: PointDraft, attempt: Int) -> PointID {
    var generator = SystemRandomNumberGenerator()
    return PointID(at: time, using: &generator)
  }
}

/// A source of ids that are derived from the places, so that every instance and every start that loads the same files
/// gives the same ids.
///
/// The id of a place with a source reference is derived from that, any other from the name and the coordinate.
package struct DerivedIDs: ImportIDSource {
  package init() {}

  /// Returns the id derived from the source reference, or else from the name and the coordinate, and from the attempt
  /// unless it is the first.
  package func id(for place: PointDraft, attempt: Int) -> PointID {
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

  /// A byte that no UTF-8 contains.
  private static let separator: UInt8 = 0xFF

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }
}
