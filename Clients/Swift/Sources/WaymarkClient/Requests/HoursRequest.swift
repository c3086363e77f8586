package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// A request for the opening hours of a place: `GET /locations/{id}/hours`.
package struct HoursRequest: ServiceRequest {
  package typealias ResponseDataType = OpeningHours

  private let baseURL: URL
  private let days: Int?

  /// Creates a request.
  ///
  /// - Parameter days: the number of days from today on, 1 to 31; `nil` for the service's default, 7.
  package init(baseURL: URL, days: Int? = nil) {
    self.baseURL = baseURL
    self.days = days
  }

  /// Creates the request for the place with an id.
  ///
  /// - Throws: ``RequestError``: `invalidDays` or `invalidBaseURL`.
  package func makeRequest(from id: UUID) throws -> URLRequest {
    if let days, !(1...31).contains(days) { throw RequestError.invalidDays }
    return try URLRequest(
      "GET", baseURL, id.locationPath + "/hours", parameters: [days.map { QueryParameter("days", .integer($0)) }])
  }
}
