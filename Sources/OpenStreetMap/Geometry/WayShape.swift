import Geo

extension PlanePoint {
  init(_ position: FixedPosition) {
    self.init(x: Double(position.longitude), y: Double(position.latitude))
  }
}

extension AreaShape {
  /// Adds a closed ring of nodes, the last of which is the first.
  mutating func add(_ positions: [FixedPosition], isHole: Bool) {
    add(positions.map { PlanePoint($0) }, isHole: isHole)
  }
}

extension OSMPosition {
  init(_ point: PlanePoint) {
    let (latitude, longitude) = point.degrees
    self.init(latitude: latitude, longitude: longitude)
  }

  /// Creates the position of a way: inside the area, or in the middle of the line. Returns nil if there are no nodes.
  init?(ofWay positions: [FixedPosition], isArea: Bool) {
    if isArea {
      var shape = AreaShape()
      shape.add(positions, isHole: false)
      if let point = shape.pointInside() {
        self.init(point)
        return
      }
    }
    guard let middle = Plane.middle(ofLine: Plane.path(positions.map { PlanePoint($0) }).points) else { return nil }
    self.init(middle)
  }
}
