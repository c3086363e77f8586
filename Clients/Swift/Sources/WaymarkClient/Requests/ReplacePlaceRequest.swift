public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Replaces a place, or creates it under an id of the app's: `PUT /locations/{id}`. Which of the two it was is the
/// answer's ``APIResponse/status``, 200 or 201.
public struct ReplacePlaceRequest: APIRequest {
  /// The place, read as JSON.
  public typealias ResponseDataType = PointOfInterest

  /// What a call is made of.
  public struct RequestData: Hashable, Sendable {
    /// The place's id.
    public var id: UUID

    /// What is to be said of it.
    public var place: PlaceDraft

    /// What must be so for it.
    public var condition: WriteCondition

    /// Takes the parts.
    public init(id: UUID, place: PlaceDraft, condition: WriteCondition = .none) {
      self.id = id
      self.place = place
      self.condition = condition
    }
  }

  private let baseURL: URL

  /// Creates the kind of call to the service of that address.
  public init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// The request that replaces a place.
  ///
  /// - Throws: ``RequestError/invalidEntityTag``, ``RequestError/invalidBaseURL``, or `EncodingError`.
  public func makeRequest(from data: RequestData) throws -> URLRequest {
    var request = try URLRequest("PUT", baseURL, data.id.locationPath, parameters: [PlaceFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: data.place), mediaType: "application/json")
    try request.setCondition(data.condition)
    return request
  }
}
