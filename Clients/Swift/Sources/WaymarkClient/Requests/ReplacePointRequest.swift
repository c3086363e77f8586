package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that replaces a place, or creates it with an id chosen by the app: `PUT /locations/{id}`. The response's
/// ``APIResponse/status`` is 200 or 201, respectively.
package struct ReplacePointRequest: ServiceRequest {
  /// The place.
  package typealias ResponseDataType = PointOfInterest

  /// The input of a request.
  package struct RequestData: Hashable, Sendable {
    /// The place's id.
    package var id: UUID

    /// The new data of the place.
    package var draft: PointDraft

    /// The precondition.
    package var condition: WriteCondition

    /// Creates the input.
    package init(id: UUID, draft: PointDraft, condition: WriteCondition = .none) {
      self.id = id
      self.draft = draft
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
  /// - Throws: ``RequestError/invalidBaseURL``, or `EncodingError`.
  package func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("PUT", baseURL, data.id.locationPath, parameters: [PointFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.draft), mediaType: "application/json")
    request.setCondition(data.condition)
    return request
  }
}
