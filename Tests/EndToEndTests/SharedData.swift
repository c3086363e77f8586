import Foundation
import Geo
import PlaceFormats
import Points

/// Real places of the world, where they are to be had: beside the project, not in it.
enum SharedData {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data")

  /// The files, in the order in which they are imported.
  static let files = ["osm-places.geojson", "airports.csv", "navaids.ndjson"].map { folder.appending(path: $0).path }

  /// Whether they are there.
  static let isThere = files.allSatisfy(FileManager.default.fileExists(atPath:))

  /// Said where a test is skipped because they are not.
  static let absence = "the files of real places are not beside the project"

  /// Every place of the files.
  static func places() async throws -> [Place] {
    let files = PlaceFiles(try files.map { path in try PlaceFiles.File(path: path) }, onRejection: { _ in })
    var places: [Place] = []
    for try await rows in files { places += rows.map(\.place) }
    return places
  }
}

/// The plain reference for real places: looks at every one of them for every question.
struct ExpectedPlaces: Sendable {
  /// A place and how far it is.
  struct Neighbour: Sendable, Hashable {
    let origin: Place.Origin
    let metres: Double
  }

  private let places: [Place]
  private let positions: [EarthCentred]

  init(_ places: [Place]) {
    self.places = places
    positions = places.map { EarthCentred($0.coordinate) }
  }

  /// The places nearest to a coordinate by the geodesic, nearest first.
  func nearest(_ count: Int, to center: Coordinate) -> [Neighbour] {
    let position = EarthCentred(center)
    // Chords rank nearly as geodesics do: five times as many hold all that count, as far as real places go.
    let chords = positions.indices.map { (chord: positions[$0].chordSquared(to: position), index: $0) }
    var kept = chords.prefix(count * 5).sorted { $0.chord < $1.chord }
    for candidate in chords.dropFirst(count * 5) where candidate.chord < kept[kept.count - 1].chord {
      kept.removeLast()
      kept.insert(candidate, at: kept.firstIndex { candidate.chord < $0.chord } ?? kept.endIndex)
    }
    return Array(kept.compactMap { neighbour($0.index, of: center) }.sorted { $0.metres < $1.metres }.prefix(count))
  }

  /// The places within a distance of a coordinate.
  func within(_ metres: Double, of center: Coordinate) -> Set<Place.Origin> {
    let chord = metres + 1
    let position = EarthCentred(center)
    let near = positions.indices.filter { positions[$0].chordSquared(to: position) <= chord * chord }
    return Set(near.compactMap { neighbour($0, of: center) }.filter { $0.metres <= metres }.map(\.origin))
  }

  /// The places in a box.
  func within(_ box: BoundingBox) -> Set<Place.Origin> {
    Set(places.filter { box.contains($0.coordinate) }.compactMap(\.origin))
  }

  private func neighbour(_ index: Int, of center: Coordinate) -> Neighbour? {
    places[index].origin.map {
      Neighbour(origin: $0, metres: Geodesic.distanceMetres(from: center, to: places[index].coordinate))
    }
  }
}
