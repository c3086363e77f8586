import Foundation
import Geo
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

/// A reference implementation for real places, which scans all of them for each query.
struct ExpectedPoints: Sendable {
  /// A place and its distance.
  struct Neighbour: Sendable, Hashable {
    let origin: SourceReference
    let metres: Double
  }

  private let places: [PointDraft]
  private let positions: [EarthCentred]

  init(_ places: [PointDraft]) {
    self.places = places
    positions = places.map { EarthCentred($0.coordinate) }
  }

  /// Returns the places nearest to a coordinate by the geodesic, nearest first.
  func nearest(_ count: Int, to center: Coordinate) -> [Neighbour] {
    let position = EarthCentred(center)
    // The order by chord is nearly that by the geodesic: five times as many candidates suffice for real places.
    let chords = positions.indices.map { (chord: positions[$0].chordSquared(to: position), index: $0) }
    var kept = chords.prefix(count * 5).sorted { $0.chord < $1.chord }
    for candidate in chords.dropFirst(count * 5) where candidate.chord < kept[kept.count - 1].chord {
      kept.removeLast()
      kept.insert(candidate, at: kept.firstIndex { candidate.chord < $0.chord } ?? kept.endIndex)
    }
    return Array(kept.compactMap { neighbour($0.index, of: center) }.sorted { $0.metres < $1.metres }.prefix(count))
  }

  /// Returns the places within a distance of a coordinate.
  func within(_ metres: Double, of center: Coordinate) -> Set<SourceReference> {
    let chord = metres + 1
    let position = EarthCentred(center)
    let near = positions.indices.filter { positions[$0].chordSquared(to: position) <= chord * chord }
    return Set(near.compactMap { neighbour($0, of: center) }.filter { $0.metres <= metres }.map(\.origin))
  }

  /// Returns the places in a box.
  func within(_ box: BoundingBox) -> Set<SourceReference> {
    Set(places.filter { box.contains($0.coordinate) }.compactMap(\.origin))
  }

  private func neighbour(_ index: Int, of center: Coordinate) -> Neighbour? {
    places[index].origin.map {
      Neighbour(origin: $0, metres: Geodesic.distanceMetres(from: center, to: places[index].coordinate))
    }
  }
}
