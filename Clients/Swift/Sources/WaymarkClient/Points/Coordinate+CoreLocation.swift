#if canImport(CoreLocation)
  public import CoreLocation

  extension Coordinate {
    /// Creates a coordinate from Core Location's.
    ///
    /// - Throws: ``CoordinateError`` for an invalid one, for example `kCLLocationCoordinate2DInvalid`.
    public init(_ coordinate: CLLocationCoordinate2D) throws(CoordinateError) {
      try self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
  }

  extension CLLocationCoordinate2D {
    /// Creates a coordinate from one of the service.
    public init(_ coordinate: Coordinate) {
      self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
  }
#endif
