package import Geo
package import Points

/// A reference implementation for real places, which scans all of them for each query.
package struct ExpectedPoints: Sendable {
  /// A place and its distance.
  package struct Neighbour: Sendable, Hashable {
    package let origin: SourceReference
    package let metres: Double
  }

  private let places: [PointDraft]
  private let positions: [EarthCentred]

  package init(_ places: [PointDraft]) {
    self.places = places
    positions = places.map { EarthCentred($0.coordinate) }
  }

  /// Returns the places nearest to a coordinate by the geodesic, nearest first.
  package func nearest(_ count: Int, to center: Coordinate) -> [Neighbour] {
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
  package func within(_ metres: Double, of center: Coordinate) -> Set<SourceReference> {
    let chord = metres + 1
    let position = EarthCentred(center)
    let near = positions.indices.filter { positions[$0].chordSquared(to: position) <= chord * chord }
    return Set(near.compactMap { neighbour($0, of: center) }.filter { $0.metres <= metres }.map(\.origin))
  }

  /// Returns the places in a box.
  package func within(_ box: BoundingBox) -> Set<SourceReference> {
    Set(places.filter { box.contains($0.coordinate) }.compactMap(\.origin))
  }

  private func neighbour(_ index: Int, of center: Coordinate) -> Neighbour? {
    places[index].origin.map {
      Neighbour(origin: $0, metres: Geodesic.distanceMetres(from: center, to: places[index].coordinate))
    }
  }
}
