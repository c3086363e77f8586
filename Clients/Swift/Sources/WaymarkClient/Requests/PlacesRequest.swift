public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The places that a filter leaves, a page of them: `GET /locations`. ``APIRequestLoader/pages(requestData:)`` gives all.
public struct PlacesRequest: APIRequest {
  /// The places, read as JSON.
  public typealias ResponseDataType = [PointOfInterest]

  private let baseURL: URL
  private let limit: Int?
  private let fields: PlaceFields

  /// Creates the kind of call.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address.
  ///   - limit: how many places a page has at most, 1 to 1,000; `nil` for the service's default, 20.
  ///   - fields: what an answer says of each place.
  public init(baseURL: URL, limit: Int? = nil, fields: PlaceFields = .standard) {
    self.baseURL = baseURL
    self.limit = limit
    self.fields = fields
  }

  /// The request for the first page.
  ///
  /// - Throws: ``RequestError``: `radiusWithoutCenter`, `invalidRadius`, `invalidLimit` or `invalidBaseURL`.
  public func makeRequest(from filter: PlaceFilter) throws -> URLRequest {
    var parameters: [QueryParameter?] = try filter.parameters()
    if let limit { parameters.append(try QueryParameter(limit: limit)) }
    parameters.append(fields.parameter)
    return try URLRequest("GET", baseURL, "/locations", parameters: parameters)
  }
}
