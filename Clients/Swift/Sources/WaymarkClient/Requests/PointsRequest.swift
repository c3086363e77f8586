package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for a page of the places that match a filter: `GET /locations`, or `POST /locations/search` if its address
/// would be longer than 4,000 bytes.
///
/// A response to `POST` has no entity tag and is not stored in a cache.
package struct PointsRequest: ListRequest {
  package typealias Row = PointOfInterest

  private let baseURL: URL
  private let limit: Int?
  private let fields: PointFields

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - limit: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  ///   - fields: the fields of each place.
  package init(baseURL: URL, limit: Int? = nil, fields: PointFields = .standard) {
    self.baseURL = baseURL
    self.limit = limit
    self.fields = fields
  }

  /// Creates the request for the first page.
  ///
  /// - Throws: ``RequestError``: `invalidLimit`, `invalidBaseURL`, or the errors of the filter: `radiusWithoutCenter`,
  /// `invalidRadius`, `centerWithRoute`, `sourceIDWithoutSource`, `invalidTagKeys` or `invalidCondition`.
  package func makeRequest(from filter: PointFilter) throws -> URLRequest {
    var parameters: [QueryParameter?] = try filter.parameters()
    if let limit { parameters.append(try QueryParameter(limit: limit)) }
    parameters.append(fields.parameter)
    return try URLRequest(searching: baseURL, parameters: parameters)
  }

  /// Returns the center of the filter.
  package func center(of filter: PointFilter) -> Coordinate? { filter.center }

  /// Returns the places with their distances from another center.
  package func value(_ value: [PointOfInterest], movedTo filter: PointFilter) -> [PointOfInterest]? {
    filter.center.flatMap { value.sorted(around: $0, radiusMetres: filter.radiusMetres) }
  }
}
