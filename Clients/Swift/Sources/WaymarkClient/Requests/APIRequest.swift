public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One kind of call: how it is asked, and how its answer is read. Both are pure, so that both are tested without a
/// network; ``APIRequestLoader`` is what goes between them.
public protocol APIRequest<RequestDataType, ResponseDataType>: Sendable {
  /// What a call is made of.
  associatedtype RequestDataType: Sendable

  /// What its answer is read as.
  associatedtype ResponseDataType: Sendable

  /// The request that asks for it.
  ///
  /// - Throws: ``RequestError`` where the data make no request that the service could answer.
  func makeRequest(from data: RequestDataType) throws -> URLRequest

  /// What the body of a successful answer says.
  ///
  /// - Throws: `DecodingError` where it is not what the service's contract says.
  func parseResponse(data: Data) throws -> ResponseDataType
}

extension APIRequest where RequestDataType == Void {
  /// The request that asks for it.
  ///
  /// - Throws: ``RequestError``.
  public func makeRequest() throws -> URLRequest { try makeRequest(from: ()) }
}

extension APIRequest where ResponseDataType: Decodable {
  /// Reads the body as JSON.
  ///
  /// - Throws: `DecodingError`.
  public func parseResponse(data: Data) throws -> ResponseDataType {
    try JSONDecoder().decode(ResponseDataType.self, from: data)
  }
}
