public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Creates a place under a new id: `POST /locations`.
///
/// Each request has an `Idempotency-Key`, so that a repeat of it, within a day, creates nothing twice and answers as the
/// first did. ``APIRequestLoader`` repeats the one request; an app that wants to repeat after a restart gives the key.
public struct CreatePlaceRequest: APIRequest {
  /// The place, read as JSON.
  public typealias ResponseDataType = PointOfInterest

  private let baseURL: URL
  private let idempotencyKey: @Sendable () -> String

  /// Creates the kind of call.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address.
  ///   - idempotencyKey: gives each request its key, 1 to 255 visible ASCII characters; a new UUID by default.
  public init(baseURL: URL, idempotencyKey: @escaping @Sendable () -> String = { UUID().uuidString }) {
    self.baseURL = baseURL
    self.idempotencyKey = idempotencyKey
  }

  /// The request that creates a place.
  ///
  /// - Throws: ``RequestError/invalidIdempotencyKey``, ``RequestError/invalidBaseURL``, or `EncodingError`.
  public func makeRequest(from place: PlaceDraft) throws -> URLRequest {
    let key = idempotencyKey()
    guard URLRequest.isToken(key, maximumLength: 255) else { throw RequestError.invalidIdempotencyKey }
    var request = try URLRequest("POST", baseURL, "/locations", parameters: [PlaceFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: place), mediaType: "application/json")
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    return request
  }
}
