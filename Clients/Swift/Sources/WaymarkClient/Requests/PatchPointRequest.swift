public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request that changes some of a place's fields: `PATCH /locations/{id}` with a JSON merge patch (RFC 7396).
///
/// ```swift
/// let data = PatchPointRequest.RequestData(id: id, patch: PointPatch(name: "Museum"), condition: .exists)
/// let place = try await waymark.loader(PatchPointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
/// ```
public struct PatchPointRequest: APIRequest {
  /// The changed place.
  public typealias ResponseDataType = PointOfInterest

  /// The input of a request.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// The change.
    public var patch: PointPatch

    /// The precondition.
    public var condition: WriteCondition

    /// Creates the input.
    public init(id: UUID, patch: PointPatch, condition: WriteCondition = .none) {
      self.id = id
      self.patch = patch
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
  /// - Throws: ``RequestError/invalidEntityTag``, ``RequestError/invalidBaseURL``, or `EncodingError`.
  public func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("PATCH", baseURL, data.id.locationPath, parameters: [PointFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.patch), mediaType: "application/merge-patch+json")
    try request.setCondition(data.condition)
    return request
  }
}
