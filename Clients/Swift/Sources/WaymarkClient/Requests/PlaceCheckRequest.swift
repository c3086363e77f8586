public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Whether a coordinate is at a place, and the nearest one: `GET /locations/check`.
public struct PlaceCheckRequest: APIRequest {
  /// Whether it is at a place, read as JSON.
  public typealias ResponseDataType = PlaceCheck

  private let baseURL: URL
  private let radiusMetres: Double?

  /// Creates the kind of call.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address.
  ///   - radiusMetres: how far the place may be, in metres; `nil` for the service's default, 50.
  public init(baseURL: URL, radiusMetres: Double? = nil) {
    self.baseURL = baseURL
    self.radiusMetres = radiusMetres
  }

  /// The request that asks about a coordinate.
  ///
  /// - Throws: ``RequestError/invalidRadius`` and ``RequestError/invalidBaseURL``.
  public func makeRequest(from coordinate: Coordinate) throws -> URLRequest {
    let filter = PlaceFilter(center: coordinate, radiusMetres: radiusMetres)
    return try URLRequest("GET", baseURL, "/locations/check", parameters: try filter.parameters())
  }
}
