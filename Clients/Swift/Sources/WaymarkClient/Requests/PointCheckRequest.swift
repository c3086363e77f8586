package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that checks whether a coordinate is at a place, and returns the nearest one: `GET /locations/check`.
package struct PointCheckRequest: ServiceRequest {
  /// The result of the check.
  package typealias ResponseDataType = PointCheck

  private let baseURL: URL
  private let radiusMetres: Double?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - radiusMetres: the maximum distance of the place in metres; `nil` for the service's default, 50.
  package init(baseURL: URL, radiusMetres: Double? = nil) {
    self.baseURL = baseURL
    self.radiusMetres = radiusMetres
  }

  /// Creates the request for a coordinate.
  ///
  /// - Throws: ``RequestError/invalidRadius`` and ``RequestError/invalidBaseURL``.
  package func makeRequest(from coordinate: Coordinate) throws -> URLRequest {
    let filter = PointFilter(center: coordinate, radiusMetres: radiusMetres)
    return try URLRequest("GET", baseURL, "/locations/check", parameters: try filter.parameters())
  }

  /// Returns the coordinate.
  package func center(of coordinate: Coordinate) -> Coordinate? { coordinate }

  /// Returns the result if the known place is also within the radius of another coordinate; `nil` otherwise, because
  /// there may be other places.
  package func value(_ value: PointCheck, movedTo coordinate: Coordinate) -> PointCheck? {
    value.moved(to: coordinate, radiusMetres: radiusMetres ?? Self.defaultRadiusMetres)
  }

  /// The service's default.
  private static let defaultRadiusMetres = 50.0
}

/// The result of `/locations/check`.
///
/// ```swift
/// let check = PointCheck(isPointOfInterest: true, place: place)
/// ```
public struct PointCheck: Hashable, Sendable, Decodable {
  /// A Boolean value that indicates whether there is a place within the radius.
  public var isPointOfInterest: Bool

  /// The nearest place within the radius.
  public var place: PointOfInterest?

  private enum CodingKeys: String, CodingKey {
    case isPointOfInterest
    case place = "location"
  }

  /// Creates a result.
  public init(isPointOfInterest: Bool, place: PointOfInterest? = nil) {
    self.isPointOfInterest = isPointOfInterest
    self.place = place
  }
}
