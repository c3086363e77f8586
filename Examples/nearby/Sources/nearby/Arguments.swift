import Foundation
import WaymarkClient

/// What the command line asks for.
struct Arguments {
  static let usage = """
    usage: nearby LATITUDE LONGITUDE [COUNT]
      degrees north and east, such as 37.3293 -121.8893, and how many places (10)
      WAYMARK_URL is the service's address (http://127.0.0.1:8080)
    """

  /// Why there is nothing to ask.
  struct Unusable: Error {
    let reason: String
  }

  let coordinate: Coordinate
  let limit: Int
  let baseURL: URL

  /// Reads the arguments after the program's name.
  ///
  /// - Throws: ``Unusable``.
  init(_ arguments: [String], environment: [String: String]) throws(Unusable) {
    guard (2...3).contains(arguments.count) else { throw Unusable(reason: "two numbers are needed, and maybe a third") }
    coordinate = try Self.coordinate(arguments[0], arguments[1])
    guard let limit = arguments.count == 3 ? Int(arguments[2]) : 10 else {
      throw Unusable(reason: "'\(arguments[2])' is not how many places there can be")
    }
    self.limit = limit
    let address = environment["WAYMARK_URL"] ?? "http://127.0.0.1:8080"
    guard let url = URL(string: address) else { throw Unusable(reason: "WAYMARK_URL='\(address)' is no URL") }
    baseURL = url
  }

  private static func coordinate(_ latitude: String, _ longitude: String) throws(Unusable) -> Coordinate {
    guard let latitude = Double(latitude), let longitude = Double(longitude) else {
      throw Unusable(reason: "'\(latitude)' and '\(longitude)' are not two numbers")
    }
    do {
      return try Coordinate(latitude: latitude, longitude: longitude)
    } catch {
      throw Unusable(reason: "\(error)")
    }
  }
}
