public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request that deletes a place: `DELETE /locations/{id}`.
///
/// If the response to the first attempt was lost, the retry finds no place and fails with
/// ``ProblemDetails/Code-swift.struct/notFound``.
///
/// ```swift
/// let loader = waymark.loader(DeletePointRequest(baseURL: baseURL))
/// try await loader.loadAPIRequest(requestData: DeletePointRequest.RequestData(id: id, condition: .version(3)))
/// ```
public struct DeletePointRequest: APIRequest {
  /// The input of a request.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// The precondition.
    public var condition: WriteCondition

    /// Creates the input.
    public init(id: UUID, condition: WriteCondition = .none) {
      self.id = id
      self.condition = condition
    }
  }

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidEntityTag`` and ``RequestError/invalidBaseURL``.
  public func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("DELETE", baseURL, data.id.locationPath)
    try request.setCondition(data.condition)
    return request
  }

  /// Returns nothing: the response has no body.
  public func parseResponse(data: Data) throws {}
}
