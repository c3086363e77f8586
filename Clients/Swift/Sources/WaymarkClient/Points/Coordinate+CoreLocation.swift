#if canImport(CoreLocation)
  public import CoreLocation

  extension Coordinate {
    /// Creates a coordinate from Core Location's.
    ///
    /// ```swift
    /// let coordinate = try Coordinate(CLLocationCoordinate2D(latitude: 37.3293, longitude: -121.8893))
    /// ```
    ///
    /// - Throws: ``RequestError/invalidCoordinate`` for an invalid one, for example `kCLLocationCoordinate2DInvalid`.
    public init(_ coordinate: CLLocationCoordinate2D) throws(RequestError) {
      try self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
  }

  extension CLLocationCoordinate2D {
    /// Creates a coordinate from one of the service.
    ///
    /// ```swift
    /// let coordinate = CLLocationCoordinate2D(here)
    /// ```
    public init(_ coordinate: Coordinate) {
      self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
  }
#endif
