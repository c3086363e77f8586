import Foundation
import WaymarkClient

/// A command that keeps a copy of the places in a box in a file, as NDJSON, and prints what has changed since the last
/// run. Without a connection, the file remains as it is.
@main
enum AreaCopy {
  private static let usage = """
    usage: area-copy FILE WEST SOUTH EAST NORTH
      a file, and the edges of a box in degrees, such as -122.1 37.2 -121.7 37.5
      WAYMARK_URL is the service's URL (http://127.0.0.1:8080), WAYMARK_KEY an API key
    """

  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    let edges = arguments.dropFirst().compactMap { Double($0) }
    let environment = ProcessInfo.processInfo.environment
    guard arguments.count == 5, edges.count == 4, let path = arguments.first,
      let url = URL(string: environment["WAYMARK_URL"] ?? "http://127.0.0.1:8080")
    else { fail(usage, status: 64) }
    let file = URL(filePath: path)
    let waymark = Waymark(baseURL: url, credentials: environment["WAYMARK_KEY"].map { .apiKey($0) })
    do {
      let box = try BoundingBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3])
      let before = try versions(in: file)
      try await waymark.exportPlaces(PointFilter(box: box), as: .ndjson, to: file)
      print(Changes(from: before, to: try versions(in: file)).text)
    } catch let error as RequestError {
      fail("\(error)\n\(usage)", status: 64)
    } catch let error as WaymarkError {
      fail("\(error.failureReason ?? error.localizedDescription) The copy is as it was.", status: 69)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  /// Returns the versions of the places in a copy, by id; none if there is no copy yet.
  private static func versions(in file: URL) throws -> [UUID: Int] {
    guard FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) else { return [:] }
    let decoder = JSONDecoder()
    let places = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
      .map { try decoder.decode(PointOfInterest.self, from: $0) }
    return Dictionary(places.map { ($0.id, $0.version ?? 0) }, uniquingKeysWith: { $1 })
  }

  private static func fail(_ reason: String, status: Int32) -> Never {
    FileHandle.standardError.write(Data("area-copy: \(reason)\n".utf8))
    exit(status)
  }
}

/// The numbers of places that differ between two copies.
struct Changes {
  private let count: Int
  private let added: Int
  private let changed: Int
  private let removed: Int

  init(from before: [UUID: Int], to after: [UUID: Int]) {
    count = after.count
    added = after.keys.count { before[$0] == nil }
    changed = after.count { before[$0.key].map { [version = $0.value] in $0 != version } ?? false }
    removed = before.keys.count { after[$0] == nil }
  }

  var text: String { "\(count) places: \(added) added, \(changed) changed, \(removed) removed" }
}
