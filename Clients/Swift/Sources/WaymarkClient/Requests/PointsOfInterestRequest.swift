public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The places nearest to a coordinate, nearest first: `GET /locations?lat=…&long=…`.
public struct PointsOfInterestRequest: APIRequest {
  private let places: PlacesRequest
  private let radiusMetres: Double?
  private let categories: [String]

  /// Creates the kind of call.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address.
  ///   - radiusMetres: how far a place may be, in metres; `nil` for any distance.
  ///   - categories: of which a place has one; empty for any.
  ///   - limit: how many places an answer has at most, 1 to 1,000; `nil` for the service's default, 20.
  ///   - fields: what an answer says of each place.
  public init(
    baseURL: URL, radiusMetres: Double? = nil, categories: [String] = [], limit: Int? = nil,
    fields: PlaceFields = .standard
  ) {
    places = PlacesRequest(baseURL: baseURL, limit: limit, fields: fields)
    self.radiusMetres = radiusMetres
    self.categories = categories
  }

  /// The request for the places around a coordinate.
  ///
  /// - Throws: ``RequestError/invalidRadius``, ``RequestError/invalidLimit`` and ``RequestError/invalidBaseURL``.
  public func makeRequest(from coordinate: Coordinate) throws -> URLRequest {
    try places.makeRequest(
      from: PlaceFilter(center: coordinate, radiusMetres: radiusMetres, categories: categories))
  }

  /// The request for the places around a position whose numbers nobody has looked at yet.
  ///
  /// - Throws: ``RequestError/invalidCoordinate`` where they are no ``Coordinate``, and what
  ///   ``makeRequest(from:)`` throws.
  public func makeRequest(latitude: Double, longitude: Double) throws -> URLRequest {
    try makeRequest(from: Coordinate(checking: latitude, longitude))
  }

  /// The places, from a JSON array of them.
  ///
  /// - Throws: `DecodingError`.
  public func parseResponse(data: Data) throws -> [PointOfInterest] {
    try places.parseResponse(data: data)
  }
}

extension Coordinate {
  /// A coordinate of numbers from outside.
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
