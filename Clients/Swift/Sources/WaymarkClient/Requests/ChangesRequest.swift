package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for a page of the changes since a position, which waits for one if there is none: `GET /changes`.
package struct ChangesRequest: ServiceRequest {
  /// The seconds for which the service waits for a change.
  package static let waitSeconds = 30

  /// A page of changes.
  package struct Page: Decodable, Sendable {
    let changes: [Change]
    let position: String
  }

  /// A change in the service's JSON.
  struct Change: Decodable, Sendable {
    let id: UUID
    let place: PointOfInterest?

    var change: PlaceChange { place.map { .place($0) } ?? .removed(id) }
  }

  private let baseURL: URL

  /// Creates a request.
  package init(baseURL: URL) {
    self.baseURL = baseURL
  }

  /// Creates the request.
  ///
  /// - Parameter data: the conditions, and the position; `nil` for the present one.
  /// - Throws: ``RequestError``: `unsupportedFilter` for a route or open places, the errors of the filter,
  ///   `invalidPosition` or `invalidBaseURL`.
  package func makeRequest(from data: (filter: PointFilter, since: String?)) throws -> URLRequest {
    guard data.filter.open == nil, data.filter.route == nil else { throw RequestError.unsupportedFilter }
    var parameters = try data.filter.parameters()
    if let since = data.since {
      guard URLRequest.isToken(since, maximumLength: 4096) else { throw RequestError.invalidPosition }
      parameters += [QueryParameter("since", .text(since)), QueryParameter("wait", .text("\(Self.waitSeconds)"))]
    }
    return try URLRequest("GET", baseURL, "/changes", parameters: parameters)
  }

  /// Decodes a page.
  ///
  /// - Throws: `DecodingError`.
  package func parseResponse(data: Data) throws -> Page { try JSONDecoder().decode(Page.self, from: data) }
}
