import CQL2
import Geo
import Points

extension ParameterValues {
  /// Returns the area of `within`; `nil` where it is not given or invalid.
  mutating func area(by filtering: Filtering) -> PointQuery.Area? {
    guard has(.within), !isMistyped(.within) else { return nil }
    do {
      let shape = try GeodesicArea(geometry(of: .within))
      return PointQuery.Area(shape, timeLimit: filtering.timeLimit)
    } catch {
      note(
        .invalid, Parameter.within.name, "must be a polygon or a multipolygon in WKT or GeoJSON, \(error)",
        pointer: error.pointer)
      return nil
    }
  }

  /// Returns the route of `route` with its radius; `nil` where it is not given or something is invalid.
  mutating func route(radius: Double?, by filtering: Filtering) -> PointQuery.Route? {
    guard has(.route) else { return nil }
    for parameter in [Parameter.latitude, .longitude] where has(parameter) {
      note(.invalid, name(of: parameter), "must not be given where route is")
    }
    let greatest = GeodesicRoute.maximumRadiusMetres
    if !has(.radius) { note(.missing, Parameter.radius.name, "must be given where route is") }
    if let radius, radius > greatest {
      note(.invalid, Parameter.radius.name, "must be at most \(Int(greatest)) metres where route is given")
    }
    guard !isMistyped(.route) else { return nil }
    do {
      let line = try lineOfRoute()
      guard let radius, radius <= greatest else { return nil }
      return PointQuery.Route(line, radiusMetres: radius, timeLimit: filtering.timeLimit)
    } catch {
      note(
        .invalid, Parameter.route.name,
        "must be an encoded polyline of precision 5, or a line string in WKT or GeoJSON, \(error)",
        pointer: error.pointer)
      return nil
    }
  }

  private func lineOfRoute() throws(FilterError) -> GeodesicRoute {
    if let object = object(.route) { return try GeodesicRoute(FilterGeometry(geoJSON: object)) }
    return try GeodesicRoute(text: self[.route] ?? "")
  }

  private func geometry(of parameter: Parameter) throws(FilterError) -> FilterGeometry {
    if let object = object(parameter) { return try FilterGeometry(geoJSON: object) }
    return try FilterGeometry(text: self[parameter] ?? "")
  }
}
