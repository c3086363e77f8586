import Foundation
import PointFormats
import Points

/// Files of real places of the world, which are optional and not part of the project.
enum SharedData {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data")

  /// The paths of the files, in the order of import.
  static let files = ["osm-places.geojson", "airports.csv", "navaids.ndjson"].map { folder.appending(path: $0).path }

  /// A Boolean value that indicates whether the files exist.
  static let isThere = files.allSatisfy(FileManager.default.fileExists(atPath:))

  /// The reason given for tests that are skipped without the files.
  static let absence = "the files of real places are not beside the project"

  /// Returns all places of the files.
  static func places() async throws -> [PointDraft] {
    let files = PointFiles(try files.map { path in try PointFiles.File(path: path) }, onRejection: { _ in })
    var places: [PointDraft] = []
    for try await rows in files { places += rows.map(\.draft) }
    return places
  }
}
