package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request that creates a place with a new id: `POST /locations`.
///
/// Each request has an `Idempotency-Key`, so that a retry within a day creates nothing twice and returns the first
/// response. ``APIRequestLoader`` retries with the same key; an app that retries after a restart provides the key
/// itself.
package struct CreatePointRequest: ServiceRequest {
  /// The created place.
  package typealias ResponseDataType = PointOfInterest

  private let baseURL: URL
  private let idempotencyKey: @Sendable () -> String

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL.
  ///   - idempotencyKey: returns the key of each request, 1 to 255 visible ASCII characters; a new UUID by default.
  package init(baseURL: URL, idempotencyKey: @escaping @Sendable () -> String = { UUID().uuidString }) {
    self.baseURL = baseURL
    self.idempotencyKey = idempotencyKey
  }

  /// Creates the request.
  ///
  /// - Throws: ``RequestError/invalidIdempotencyKey``, ``RequestError/invalidBaseURL``, or `EncodingError`.
  package func makeRequest(from place: PointDraft) throws -> URLRequest {
    let key = idempotencyKey()
    guard URLRequest.isToken(key, maximumLength: 255) else { throw RequestError.invalidIdempotencyKey }
    var request = try URLRequest("POST", baseURL, "/locations", parameters: [PointFields.all.parameter])
    request.setBody(try ServiceJSON.data(of: place), mediaType: "application/json")
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    return request
  }
}
