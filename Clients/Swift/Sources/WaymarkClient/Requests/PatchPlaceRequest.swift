public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Changes some of a place's fields: `PATCH /locations/{id}` with a JSON merge patch (RFC 7396).
public struct PatchPlaceRequest: APIRequest {
  /// The place, read as JSON.
  public typealias ResponseDataType = PointOfInterest

  /// What a call is made of.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// What is to become of it.
    public var patch: PlacePatch

    /// What must be so for it.
    public var condition: WriteCondition

    /// Takes the parts.
    public init(id: UUID, patch: PlacePatch, condition: WriteCondition = .none) {
      self.id = id
      self.patch = patch
      self.condition = condition
    }
  }

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request that changes a place.
  ///
  /// - Throws: ``RequestError/invalidEntityTag``, ``RequestError/invalidBaseURL``, or `EncodingError`.
  public func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("PATCH", baseURL, data.id.locationPath, parameters: [PlaceFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.patch), mediaType: "application/merge-patch+json")
    try request.setCondition(data.condition)
    return request
  }
}
