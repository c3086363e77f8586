import Geo

/// A bounding box in the form that is compared with bounds of tree nodes.
struct BoxFilter: BitwiseCopyable {
  private let south: Double
  private let north: Double
  // A box that wraps, or has an edge on the antimeridian, has two ranges; any other has the first twice.
  private let west: (Double, Double)
  private let east: (Double, Double)

  init(_ box: BoundingBox) {
    south = box.south
    north = box.north
    let ranges = box.longitudeRanges
    let (first, second) = (ranges[0], ranges[ranges.count - 1])
    west = (first.lowerBound, second.lowerBound)
    east = (first.upperBound, second.upperBound)
  }

  /// Returns a Boolean value that indicates whether the coordinate is in the box.
  @inline(__always)
  func contains(_ coordinate: Coordinate) -> Bool {
    let longitude = coordinate.longitude
    return coordinate.latitude >= south && coordinate.latitude <= north
      && ((longitude >= west.0 && longitude <= east.0) || (longitude >= west.1 && longitude <= east.1))
  }

  /// Returns a Boolean value that indicates whether a place within the bounds can be in the box.
  @inline(__always)
  func meets(_ bounds: GeographicBounds) -> Bool {
    bounds.south <= north && bounds.north >= south
      && ((bounds.west <= east.0 && bounds.east >= west.0) || (bounds.west <= east.1 && bounds.east >= west.1))
  }

  /// Returns a Boolean value that indicates whether every place within the bounds is in the box.
  @inline(__always)
  func covers(_ bounds: GeographicBounds) -> Bool {
    bounds.south >= south && bounds.north <= north
      && ((bounds.west >= west.0 && bounds.east <= east.0) || (bounds.west >= west.1 && bounds.east <= east.1))
  }
}
