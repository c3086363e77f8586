public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Removes a place: `DELETE /locations/{id}`.
///
/// Where the answer to a first try was lost, the repeat finds nothing left to remove: it then fails with
/// ``ProblemDetails/Code-swift.struct/notFound``.
public struct DeletePlaceRequest: APIRequest {
  /// What a call is made of.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// What must be so for it.
    public var condition: WriteCondition

    /// Takes the parts.
    public init(id: UUID, condition: WriteCondition = .none) {
      self.id = id
      self.condition = condition
    }
  }

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request that removes a place.
  ///
  /// - Throws: ``RequestError/invalidEntityTag`` and ``RequestError/invalidBaseURL``.
  public func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("DELETE", baseURL, data.id.locationPath)
    try request.setCondition(data.condition)
    return request
  }

  /// Nothing: the answer has no body.
  public func parseResponse(data: Data) throws {}
}
