public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request that replaces a place, or creates it with an id chosen by the app: `PUT /locations/{id}`. The response's
/// ``APIResponse/status`` is 200 or 201, respectively.
///
/// ```swift
/// let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .absent)
/// let place = try await waymark.loader(ReplacePointRequest(baseURL: baseURL)).loadAPIRequest(requestData: data)
/// ```
public struct ReplacePointRequest: APIRequest {
  /// The place.
  public typealias ResponseDataType = PointOfInterest

  /// The input of a request.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// The new data of the place.
    public var draft: PointDraft

    /// The precondition.
    public var condition: WriteCondition

    /// Creates the input.
    public init(id: UUID, draft: PointDraft, condition: WriteCondition = .none) {
      self.id = id
      self.draft = draft
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
    var request = try URLRequest("PUT", baseURL, data.id.locationPath, parameters: [PointFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.draft), mediaType: "application/json")
    try request.setCondition(data.condition)
    return request
  }
}
