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
public struct PointsOfInterestRequest: APIRequest {
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
  ///   - fields: the fields of each place.
  public init(
    baseURL: URL, radiusMetres: Double? = nil, categories: [String] = [], limit: Int? = nil,
    fields: PointFields = .standard
  ) {
    places = PointsRequest(baseURL: baseURL, limit: limit, fields: fields)
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

  /// Creates the request for the places around a position that has not been validated.
  ///
  /// ```swift
  /// let urlRequest = try PointsOfInterestRequest(baseURL: baseURL).makeRequest(latitude: 37.3293, longitude: -121.8893)
  /// ```
  ///
  /// - Throws: ``RequestError/invalidCoordinate`` for an invalid position, and the errors of ``makeRequest(from:)``.
  public func makeRequest(latitude: Double, longitude: Double) throws -> URLRequest {
    try makeRequest(from: Coordinate(checking: latitude, longitude))
  }

  /// Decodes the places from a JSON array, without its invalid rows.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  public func parseResponse(data: Data) throws -> [PointOfInterest] {
    try places.parseResponse(data: data)
  }

  /// Decodes the places from a JSON array, and reports its invalid rows.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  public func parse(data: Data) throws -> ParsedResponse<[PointOfInterest]> { try places.parse(data: data) }

  /// Returns the coordinate.
  public func center(of coordinate: Coordinate) -> Coordinate? { coordinate }

  /// Returns the places with their distances from another coordinate.
  public func value(_ value: [PointOfInterest], movedTo coordinate: Coordinate) -> [PointOfInterest]? {
    value.sorted(around: coordinate, radiusMetres: radiusMetres)
  }
}

extension Coordinate {
  /// Creates a coordinate from unvalidated numbers.
  ///
  /// - Throws: ``RequestError/invalidCoordinate``.
  init(checking latitude: Double, _ longitude: Double) throws(RequestError) {
    do {
      self = try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw .invalidCoordinate
    }
  }
}
