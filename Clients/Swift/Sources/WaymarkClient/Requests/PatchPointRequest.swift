package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that changes some of a place's fields: `PATCH /locations/{id}` with a JSON merge patch (RFC 7396).
package struct PatchPointRequest: ServiceRequest {
  /// The changed place.
  package typealias ResponseDataType = PointOfInterest

  /// The input of a request.
  package struct RequestData: Hashable, Sendable {
    /// The place's id.
    package var id: UUID

    /// The change.
    package var patch: PointPatch

    /// The precondition.
    package var condition: WriteCondition

    /// Creates the input.
    package init(id: UUID, patch: PointPatch, condition: WriteCondition = .none) {
      self.id = id
      self.patch = patch
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
    var request = try URLRequest("PATCH", baseURL, data.id.locationPath, parameters: [PointFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.patch), mediaType: "application/merge-patch+json")
    request.setCondition(data.condition)
    return request
  }
}
