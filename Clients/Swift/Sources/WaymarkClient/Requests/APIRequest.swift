public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One kind of request: a function that creates the `URLRequest`, and one that decodes the response. Both are pure, so
/// that they can be tested without a network; ``APIRequestLoader`` connects them.
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

extension APIRequest where RequestDataType == Void {
  /// Creates the request.
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
