package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that deletes a place: `DELETE /locations/{id}`.
///
/// If the response to the first attempt was lost, the retry finds no place and fails with
/// ``ProblemDetails/Code-swift.struct/notFound``.
package struct DeletePointRequest: ServiceRequest {
  /// The input of a request.
  package struct RequestData: Hashable, Sendable {
    /// The place's id.
    package var id: UUID

    /// The precondition.
    package var condition: WriteCondition

    /// Creates the input.
    package init(id: UUID, condition: WriteCondition = .none) {
      self.id = id
      self.condition = condition
    }
  }

  private let baseURL: URL

  /// Creates a request to the service at a URL.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("DELETE", baseURL, data.id.locationPath)
    request.setCondition(data.condition)
    return request
  }

  /// Returns nothing: the response has no body.
  package func parseResponse(data: Data) throws {}
}

/// A request that removes a data set without places and areas: `DELETE /sources/{name}`.
package struct DeleteSourceRequest: ServiceRequest {
  private let baseURL: URL

  /// Creates a request to the service at a URL.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request for the data set with a name.
  ///
  /// - Throws: ``RequestError/invalidBaseURL``.
  package func makeRequest(from name: String) throws -> URLRequest {
    try URLRequest("DELETE", baseURL, "/sources/" + PercentEncoding.encode(name))
  }

  /// Returns nothing: the response has no body.
  package func parseResponse(data: Data) throws {}
}
