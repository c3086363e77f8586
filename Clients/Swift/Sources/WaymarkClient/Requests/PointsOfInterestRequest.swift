public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request for the places nearest to a coordinate, in order of distance: `GET /locations?lat=…&long=…`.
///
/// ```swift
/// let request = PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500, categories: ["cafe"])
/// let urlRequest = try request.makeRequest(from: here)
/// let places = try request.parseResponse(data: data)
/// ```
public struct PointsOfInterestRequest: ListRequest {
  package typealias Row = PointOfInterest

  private let places: PointsRequest
  private let radiusMetres: Double?
  private let categories: [String]

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - radiusMetres: the maximum distance in metres; `nil` for any distance.
  ///   - categories: the accepted categories; empty for any.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  public init(baseURL: URL, radiusMetres: Double? = nil, categories: [String] = [], limit: Int? = nil) {
    places = PointsRequest(baseURL: baseURL, limit: limit)
    self.radiusMetres = radiusMetres
    self.categories = categories
  }

  /// Creates the request for the places around a coordinate.
  ///
  /// - Throws: ``RequestError/invalidRadius``, ``RequestError/invalidLimit`` and ``RequestError/invalidBaseURL``.
  public func makeRequest(from coordinate: Coordinate) throws -> URLRequest {
    try places.makeRequest(
      from: PointFilter(center: coordinate, radiusMetres: radiusMetres, categories: categories))
  }

  /// Decodes the places from a JSON array, without its invalid rows.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  public func parseResponse(data: Data) throws -> [PointOfInterest] {
    try places.parseResponse(data: data)
  }

  package func parse(data: Data) throws -> ParsedResponse<[PointOfInterest]> { try places.parse(data: data) }

  package func center(of coordinate: Coordinate) -> Coordinate? { coordinate }

  package func value(_ value: [PointOfInterest], movedTo coordinate: Coordinate) -> [PointOfInterest]? {
    value.sorted(around: coordinate, radiusMetres: radiusMetres)
  }
}
