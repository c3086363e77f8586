import Foundation
import WaymarkClient

/// The parsed command line.
struct Arguments {
  static let usage = """
    usage: nearby LATITUDE LONGITUDE [COUNT]
      degrees north and east, such as 37.3293 -121.8893, and the number of places (10)
      WAYMARK_URL is the service's URL (http://127.0.0.1:8080)
    """

  /// The error of an invalid command line.
  struct UsageError: Error {
    let reason: String
  }

  let coordinate: Coordinate
  let limit: Int
  let baseURL: URL

  /// Parses the arguments after the program's name.
  ///
  /// - Throws: ``UsageError``.
  init(_ arguments: [String], environment: [String: String]) throws(UsageError) {
    guard (2...3).contains(arguments.count) else { throw UsageError(reason: "expected two or three arguments") }
    coordinate = try Self.coordinate(arguments[0], arguments[1])
    guard let limit = arguments.count == 3 ? Int(arguments[2]) : 10 else {
      throw UsageError(reason: "COUNT must be an integer, got '\(arguments[2])'")
    }
    self.limit = limit
    let address = environment["WAYMARK_URL"] ?? "http://127.0.0.1:8080"
    guard let url = URL(string: address) else { throw UsageError(reason: "WAYMARK_URL='\(address)' is not a URL") }
    baseURL = url
  }

  private static func coordinate(_ latitude: String, _ longitude: String) throws(UsageError) -> Coordinate {
    guard let latitude = Double(latitude), let longitude = Double(longitude) else {
      throw UsageError(reason: "LATITUDE and LONGITUDE must be numbers, got '\(latitude)' and '\(longitude)'")
    }
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw UsageError(reason: "\(error)")
    }
  }
}
