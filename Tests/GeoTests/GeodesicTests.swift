import Geo
import Testing

@Suite struct GeodesicTests {
  struct Pair: Sendable, CustomTestStringConvertible {
    let kind: String
    let start: Coordinate
    let end: Coordinate
    let metres: Double

    var testDescription: String {
      "\(kind) (\(start.latitude), \(start.longitude)) (\(end.latitude), \(end.longitude))"
    }
  }

  static let reference: [Pair] = GeodesicReference.table.split(separator: "\n").compactMap { line in
    let fields = line.split(separator: " ")
    let numbers = fields.dropFirst().compactMap { Double($0) }
    guard fields.count == 6, numbers.count == 5,
      let start = try? Coordinate(latitude: numbers[0], longitude: numbers[1]),
      let end = try? Coordinate(latitude: numbers[2], longitude: numbers[3])
    else { return nil }
    return Pair(kind: String(fields[0]), start: start, end: end, metres: numbers[4])
  }

  static let kinds = Set(reference.map(\.kind)).sorted()

  @Test func everyLineOfTheReferenceIsRead() {
    let lines = GeodesicReference.table.split(separator: "\n").count

    #expect(Self.reference.count == lines)
    #expect(lines > 300)
  }

  @Test(arguments: kinds)
  func distanceIsThatOfGeographicLib(kind: String) {
    for pair in Self.reference where pair.kind == kind {
      let metres = Geodesic.distanceMetres(from: pair.start, to: pair.end)

      #expect(abs(metres - pair.metres) < 0.0001, "\(pair.testDescription)")
    }
  }

  @Test(arguments: kinds)
  func distanceIsTheSameBackwards(kind: String) {
    for pair in Self.reference where pair.kind == kind {
      let there = Geodesic.distanceMetres(from: pair.start, to: pair.end)
      let back = Geodesic.distanceMetres(from: pair.end, to: pair.start)

      #expect(there.bitPattern == back.bitPattern, "\(pair.testDescription)")
    }
  }

  @Test func distanceWithKnownPositionsIsTheSameToTheLastBit() {
    for pair in Self.reference {
      let plain = Geodesic.distanceMetres(from: pair.start, to: pair.end)
      let sooner = Geodesic.distanceMetres(
        from: pair.start,
        at: EarthCentred(pair.start),
        to: pair.end,
        at: EarthCentred(pair.end)
      )

      #expect(plain.bitPattern == sooner.bitPattern, "\(pair.testDescription)")
    }
  }

  @Test func equalPositionsHaveDistanceZero() {
    for pair in Self.reference where pair.kind == "coincident" {
      #expect(Geodesic.distanceMetres(from: pair.start, to: pair.end) == 0, "\(pair.testDescription)")
    }
    for pair in Self.reference {
      #expect(Geodesic.distanceMetres(from: pair.start, to: pair.start) == 0, "\(pair.testDescription)")
    }
  }

  @Test(arguments: [-71.5, 0, 50.01078781334113, 89.9])
  func longitudes180AndMinus180HaveEqualDistances(latitude: Double) throws {
    let center = try Coordinate(latitude: latitude, longitude: -166.15693640620108)
    for other in [-60.0, -0.0, 0, 12.25, 90] {
      let east = Geodesic.distanceMetres(from: center, to: try Coordinate(latitude: other, longitude: 180))
      let west = Geodesic.distanceMetres(from: center, to: try Coordinate(latitude: other, longitude: -180))

      #expect(east.bitPattern == west.bitPattern)
    }
  }

  @Test func distanceIsFiniteAndBoundedOnAGridOfSpecialAngles() throws {
    let latitudes = [
      -90, -89.999_999_999_999, -60, -45, -1e-9, -0.0, 0, Double.leastNonzeroMagnitude, 30, 45, 60, 89.5, 90,
    ]
    let longitudes = [-180, -179.999_999_999_999, -90, -1e-300, 0, 1e-9, 45, 90, 135, 179.4, 179.999_999, 180]
    let coordinates = try latitudes.flatMap { latitude in
      try longitudes.map { try Coordinate(latitude: latitude, longitude: $0) }
    }

    for start in coordinates {
      for end in coordinates {
        let metres = Geodesic.distanceMetres(from: start, to: end)

        #expect(metres >= 0 && metres <= Geodesic.greatestDistanceMetres, "\(start) \(end)")
      }
    }
  }

  @Test(arguments: [
    Double.leastNonzeroMagnitude, Double.leastNormalMagnitude / 1e12,
    1e-308, 1e-200, 1e-170, 1e-162, 1e-155, 1e-154, 1e-150, 1e-101, 1e-99, 1e-50,
  ])
  func latitudeNextToTheEquatorHasTheDistanceOfTheEquator(tiny: Double) throws {
    let longitudes = [-180, -179.7, -120, -3, 0, tiny, 1, 2.5, 45, 90, 135, 179.1, 179.4, 179.9, 179.999_999, 180]
    let latitudes = [-tiny, 0, tiny, tiny / 3, -45, 60]
    for longitude in longitudes {
      for (first, second) in latitudes.flatMap({ first in latitudes.map { (first, $0) } }) {
        let start = try Coordinate(latitude: first, longitude: 0)
        let end = try Coordinate(latitude: second, longitude: longitude)
        let metres = Geodesic.distanceMetres(from: start, to: end)
        let onEquator = Geodesic.distanceMetres(
          from: try Coordinate(latitude: abs(first) > 1 ? first : 0, longitude: 0),
          to: try Coordinate(latitude: abs(second) > 1 ? second : 0, longitude: longitude == tiny ? 0 : longitude))
        let mirrored = Geodesic.distanceMetres(
          from: try Coordinate(latitude: -first, longitude: 0),
          to: try Coordinate(latitude: -second, longitude: -longitude))

        #expect(abs(metres - onEquator) < 0.0001, "\(start) \(end)")
        #expect(metres.bitPattern == mirrored.bitPattern, "\(start) \(end)")
        #expect(metres.bitPattern == Geodesic.distanceMetres(from: end, to: start).bitPattern, "\(start) \(end)")
      }
    }
  }

  @Test(arguments: kinds)
  func chordAndDistanceBoundEachOther(kind: String) {
    for pair in Self.reference where pair.kind == kind {
      let metres = Geodesic.distanceMetres(from: pair.start, to: pair.end)
      let chord = EarthCentred(pair.start).chordSquared(to: EarthCentred(pair.end)).squareRoot()

      #expect(Geodesic.leastDistanceMetres(chordMetres: chord) <= metres, "\(pair.testDescription)")
      #expect(Geodesic.greatestDistanceMetres(chordMetres: chord) >= metres, "\(pair.testDescription)")
      #expect(Geodesic.leastChordMetres(distanceMetres: metres) <= chord, "\(pair.testDescription)")
      #expect(Geodesic.greatestChordMetres(distanceMetres: metres) >= chord, "\(pair.testDescription)")
    }
  }

  @Test(arguments: kinds)
  func estimateIsWithinItsError(kind: String) {
    for pair in Self.reference where pair.kind == kind {
      let (metres, error) = Geodesic.estimateMetres(from: EarthCentred(pair.start), to: EarthCentred(pair.end))

      #expect(abs(metres - pair.metres) <= error, "\(pair.testDescription)")
    }
  }

  @Test func estimateIsWithin100MetresUpToAQuarterOfTheEarth() {
    for pair in Self.reference where pair.kind == "far" && pair.metres < 1e7 {
      let (_, error) = Geodesic.estimateMetres(from: EarthCentred(pair.start), to: EarthCentred(pair.end))

      #expect(error < 100, "\(pair.testDescription)")
    }
  }
}
