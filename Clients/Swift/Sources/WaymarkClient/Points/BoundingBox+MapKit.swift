#if canImport(MapKit)
  public import MapKit

  extension BoundingBox {
    /// Creates the box of a map's region. It may cross the antimeridian.
    ///
    /// ```swift
    /// let region = MKCoordinateRegion(
    ///   center: CLLocationCoordinate2D(here), span: MKCoordinateSpan(latitudeDelta: 0.1, longitudeDelta: 0.1))
    /// let places = try await waymark.places(in: BoundingBox(region)).firstPage()
    /// ```
    ///
    /// - Throws: ``RequestError/invalidCoordinate`` or ``RequestError/invalidBox`` for an invalid region.
    public init(_ region: MKCoordinateRegion) throws(RequestError) {
      try self.init(
        centerLatitude: region.center.latitude, centerLongitude: region.center.longitude,
        latitudeDelta: region.span.latitudeDelta, longitudeDelta: region.span.longitudeDelta)
    }
  }

  extension MKCoordinateRegion {
    /// Creates the region of a box.
    ///
    /// ```swift
    /// let region = MKCoordinateRegion(box)
    /// ```
    public init(_ box: BoundingBox) {
      let width = box.west <= box.east ? box.east - box.west : box.east - box.west + 360
      let middle = box.west + width / 2
      self.init(
        center: CLLocationCoordinate2D(
          latitude: (box.south + box.north) / 2, longitude: middle > 180 ? middle - 360 : middle),
        span: MKCoordinateSpan(latitudeDelta: box.north - box.south, longitudeDelta: width))
    }
  }
#endif
