public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One kind of request: a function that creates the `URLRequest`, and one that decodes the response. Both are pure, so
/// that they can be tested without a network; ``APIRequestLoader`` connects them.
///
/// ```swift
/// struct HealthRequest: APIRequest {
///   let baseURL: URL
///
///   func makeRequest(from data: Void) throws -> URLRequest { URLRequest(url: baseURL.appending(path: "health")) }
///   func parseResponse(data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
/// }
/// let health = try await waymark.loader(HealthRequest(baseURL: baseURL)).loadAPIRequest()
/// ```
public protocol APIRequest<RequestDataType, ResponseDataType>: Sendable {
  /// The input of a request.
  associatedtype RequestDataType: Sendable

  /// The decoded value of a response.
  associatedtype ResponseDataType: Sendable

  /// Creates the request.
  ///
  /// - Throws: ``RequestError`` where the data is invalid.
  func makeRequest(from data: RequestDataType) throws -> URLRequest

  /// Decodes the body of a successful response.
  ///
  /// - Throws: `DecodingError` where it is malformed.
  func parseResponse(data: Data) throws -> ResponseDataType

  /// Decodes the body of a successful response, and reports the rows of a list that are invalid. By default, it calls
  /// ``parseResponse(data:)``.
  ///
  /// ```swift
  /// let parsed = try PointsRequest(baseURL: baseURL).parse(data: data)
  /// print(parsed.value.count, parsed.invalidRows.count)
  /// ```
  ///
  /// - Throws: `DecodingError` where the body is malformed as a whole.
  func parse(data: Data) throws -> ParsedResponse<ResponseDataType>

  /// Returns the coordinate of the search; `nil`, as by default, if the request has none. Offline, a cache may return
  /// the response of a nearby search.
  ///
  /// ```swift
  /// let center = PointsRequest(baseURL: baseURL).center(of: PointFilter(center: here))
  /// ```
  func center(of data: RequestDataType) -> Coordinate?

  /// Returns the value that a request has according to the value of the same request with another coordinate; `nil`, as
  /// by default, where that does not tell it. Offline, a client uses it after it has moved.
  ///
  /// ```swift
  /// let places = PointsOfInterestRequest(baseURL: baseURL).value([place], movedTo: here)
  /// ```
  func value(_ value: ResponseDataType, movedTo data: RequestDataType) -> ResponseDataType?
}

extension APIRequest {
  /// Decodes the body, without invalid rows.
  public func parse(data: Data) throws -> ParsedResponse<ResponseDataType> {
    ParsedResponse(value: try parseResponse(data: data))
  }

  /// Returns `nil`: the request has no coordinate.
  public func center(of data: RequestDataType) -> Coordinate? { nil }

  /// Returns `nil`: the value belongs to its coordinate only.
  public func value(_ value: ResponseDataType, movedTo data: RequestDataType) -> ResponseDataType? { nil }
}

extension APIRequest where RequestDataType == Void {
  /// Creates the request.
  ///
  /// ```swift
  /// let urlRequest = try CategoriesRequest(baseURL: baseURL).makeRequest()
  /// ```
  ///
  /// - Throws: ``RequestError``.
  public func makeRequest() throws -> URLRequest { try makeRequest(from: ()) }
}

extension APIRequest where ResponseDataType: Decodable {
  /// Decodes the body as JSON.
  ///
  /// - Throws: `DecodingError`.
  public func parseResponse(data: Data) throws -> ResponseDataType {
    try JSONDecoder().decode(ResponseDataType.self, from: data)
  }
}
