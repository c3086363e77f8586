import CQL2

extension ReferenceSystem {
  /// Returns the expression with its geometries in longitude and latitude instead of this system.
  ///
  /// The positions are converted, and the edges between them are straight lines in longitude and latitude.
  func inDegrees(_ expression: FilterExpression) -> FilterExpression {
    switch expression {
    case .geometry(let geometry): .geometry(inDegrees(geometry))
    case .operation(let operation, let operands): .operation(operation, operands.map(inDegrees))
    case .function(let name, let operands): .function(name, operands.map(inDegrees))
    case .array(let elements): .array(elements.map(inDegrees))
    case .string, .number, .boolean, .date, .timestamp, .interval, .property: expression
    }
  }

  private func inDegrees(_ geometry: FilterGeometry) -> FilterGeometry {
    switch geometry {
    case .simple(let part): return .simple(inDegrees(part))
    case .collection(let parts): return .collection(parts.map(inDegrees))
    case .box(let box):
      let least = degrees(first: box.west, second: box.south)
      let greatest = degrees(first: box.east, second: box.north)
      return .box(
        .init(
          west: least.longitude, south: min(least.latitude, greatest.latitude), east: greatest.longitude,
          north: max(least.latitude, greatest.latitude), heights: box.heights))
    }
  }

  private func inDegrees(_ part: FilterGeometry.Simple) -> FilterGeometry.Simple {
    func convert(_ positions: [FilterGeometry.Position]) -> [FilterGeometry.Position] {
      positions.map { position in
        let converted = degrees(first: position.x, second: position.y)
        return .init(x: converted.longitude, y: converted.latitude, z: position.z)
      }
    }
    switch part {
    case .point(let position): return .point(convert([position])[0])
    case .lineString(let positions): return .lineString(convert(positions))
    case .polygon(let rings): return .polygon(rings.map(convert))
    case .multiPoint(let positions): return .multiPoint(convert(positions))
    case .multiLineString(let lines): return .multiLineString(lines.map(convert))
    case .multiPolygon(let polygons): return .multiPolygon(polygons.map { $0.map(convert) })
    }
  }
}
