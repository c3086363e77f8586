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
/// let health = try await waymark.loader(HealthRequest(baseURL: baseURL)).loadAPIRequest(requestData: ())
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
}

extension APIRequest where ResponseDataType: Decodable {
  /// Decodes the body as JSON.
  ///
  /// - Throws: `DecodingError`.
  public func parseResponse(data: Data) throws -> ResponseDataType {
    try JSONDecoder().decode(ResponseDataType.self, from: data)
  }
}

/// A request of the service, which has more to tell a loader than an app's own ``APIRequest``.
package protocol ServiceRequest<RequestDataType, ResponseDataType>: APIRequest {
  /// Decodes the body of a successful response, and reports the rows of a list that are invalid.
  ///
  /// - Throws: `DecodingError` where the body is malformed as a whole.
  func parse(data: Data) throws -> ParsedResponse<ResponseDataType>

  /// Returns the coordinate of the search; `nil`, as by default, if the request has none. Offline, a cache may return
  /// the response of a nearby search.
  func center(of data: RequestDataType) -> Coordinate?

  /// Returns the value that a request has according to the value of the same request with another coordinate; `nil`, as
  /// by default, where that does not tell it. Offline, a client uses it after it has moved.
  func value(_ value: ResponseDataType, movedTo data: RequestDataType) -> ResponseDataType?
}

extension ServiceRequest {
  package func parse(data: Data) throws -> ParsedResponse<ResponseDataType> {
    ParsedResponse(value: try parseResponse(data: data))
  }

  package func center(of data: RequestDataType) -> Coordinate? { nil }

  package func value(_ value: ResponseDataType, movedTo data: RequestDataType) -> ResponseDataType? { nil }
}

extension ServiceRequest where RequestDataType == Void {
  /// Creates the request.
  ///
  /// - Throws: ``RequestError``.
  package func makeRequest() throws -> URLRequest { try makeRequest(from: ()) }
}

/// A request for a list, whose invalid rows are reported.
package protocol ListRequest: ServiceRequest where ResponseDataType == [Row] {
  /// A row of the list.
  associatedtype Row: Decodable & Sendable
}

extension ListRequest {
  /// Decodes the rows of a JSON array, without the invalid ones.
  ///
  /// - Throws: `DecodingError` if the body is no array or all its rows are invalid.
  package func parseResponse(data: Data) throws -> [Row] { try parse(data: data).value }

  package func parse(data: Data) throws -> ParsedResponse<[Row]> { try LenientList.parse(data) }
}
