import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hosting
import NIOCore
import NIOHTTP1
import ServerFeatures

/// `waymark search`: finds places by name on a running server.
struct SearchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "Finds places by name on a running server.",
    discussion: """
      Prints a table of the places whose names match best: the distance from --near, the name, the category and the \
      id. Without --url the server on this machine is asked, at HTTP_HOST and HTTP_PORT.

      Exits with 0 if places were found, and 1 if none were.

      Examples:
        waymark search "winchester mystery"
        waymark search museum --near 37.33,-121.89 --limit 5
        waymark search "서울역" --lang en --url https://places.example.org
      """
  )

  @OptionGroup var server: ClientOptions

  @Option(help: "Coordinate near which places rank higher, such as 37.33,-121.89: latitude and longitude.")
  var near: String?

  @Option(help: "Maximum number of places, 1 to 1000.")
  var limit = 10

  @Option(help: "Languages of the names, such as ko,en. (default: the places' own names)")
  var lang: String?

  @Argument(help: "Words of the name.")
  var text: [String]

  func run() async throws {
    let target = try server.target(url: server.url ?? LocalServer(Settings()).url)
    let request = target.request(.GET, "/locations?" + (try query()))
    let places: [FoundPlace]
    do {
      places = try await target.decode([FoundPlace].self, request)
    } catch {
      throw Exit.because("\(error)", error.isUnavailable ? Exit.unavailable : Exit.failed)
    }
    guard !places.isEmpty else {
      throw Exit.because("no place was found", Exit.failed)
    }
    for line in FoundPlace.table(of: places) { StandardOutput.print(line) }
  }

  /// Returns the query of the request.
  ///
  /// - Throws: the exit code 64 for an invalid option, after an error message.
  func query() throws -> String {
    var components = URLComponents()
    var items = [URLQueryItem(name: "q", value: text.joined(separator: " "))]
    if let near {
      let parts = near.split(separator: ",", omittingEmptySubsequences: false).map { part in
        Double(part.trimmingCharacters(in: .whitespaces))
      }
      guard parts.count == 2, let latitude = parts[0], let longitude = parts[1], (-90...90).contains(latitude),
        (-180...180).contains(longitude)
      else { throw Exit.because("--near must be a latitude and a longitude, got '\(near)'", Exit.usage) }
      items += [URLQueryItem(name: "lat", value: "\(latitude)"), URLQueryItem(name: "long", value: "\(longitude)")]
    }
    guard (1...1000).contains(limit) else {
      throw Exit.because("--limit must be an integer from 1 to 1000, got '\(limit)'", Exit.usage)
    }
    items.append(URLQueryItem(name: "limit", value: "\(limit)"))
    if let lang { items.append(URLQueryItem(name: "lang", value: lang)) }
    items.append(URLQueryItem(name: "fields", value: "id,name,category,distance"))
    components.queryItems = items
    // A plus sign is a space in a query.
    return components.percentEncodedQuery?.replacing("+", with: "%2B") ?? ""
  }
}

/// A place in a table of results.
struct FoundPlace: Decodable {
  let id: String
  let name: String
  let category: String?
  let distance: Double?

  /// Returns the lines of a table without trailing spaces, and without control characters, which have no width.
  static func table(of places: [FoundPlace]) -> [String] {
    let hasDistances = places.contains { $0.distance != nil }
    let header = (hasDistances ? ["DISTANCE"] : []) + ["NAME", "CATEGORY", "ID"]
    let rows = places.map { place in
      (hasDistances ? [place.distance.map(Self.text(ofMetres:)) ?? ""] : [])
        + [place.name, place.category ?? "", place.id].map { $0.escapingControls() }
    }
    let widths = header.indices.map { column in
      ([header] + rows).map { Self.width(of: $0[column]) }.max() ?? 0
    }
    return ([header] + rows).map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - width(of: cell))
        let isNumber = hasDistances && column == 0
        line += (column > 0 ? "  " : "") + (isNumber ? padding + cell : cell + padding)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  private static func text(ofMetres distance: Double) -> String {
    // No two places are further from each other than 20,004 km.
    guard 0...1e8 ~= distance else { return "" }
    if distance < 1000 { return "\(Int(distance.rounded())) m" }
    let kilometres = distance / 1000
    return kilometres < 10 ? "\((kilometres * 10).rounded() / 10) km" : "\(Int(kilometres.rounded())) km"
  }

  /// Returns the number of columns of a terminal that a text takes: two for the characters of East Asian scripts.
  private static func width(of text: String) -> Int {
    text.reduce(0) { width, character in
      guard let scalar = character.unicodeScalars.first else { return width }
      switch scalar.value {
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        return width + 2
      default: return width + 1
      }
    }
  }
}
