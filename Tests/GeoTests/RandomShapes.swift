import Foundation
import SyntheticData

@testable import Geo

/// A generator of polygons, lines and places on the sphere of latitudes, poles and the antimeridian included.
struct RandomShapes {
  private var generator: SeededGenerator

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  mutating func number(in range: ClosedRange<Double>) -> Double { .random(in: range, using: &generator) }

  mutating func integer(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }

  mutating func center() throws -> Coordinate {
    switch integer(in: 0...5) {
    case 0: try Coordinate(latitude: 89.99, longitude: 0)
    case 1: try Coordinate(latitude: number(in: -90 ... -89), longitude: number(in: -180...180))
    case 2: try Coordinate(latitude: number(in: -60...60), longitude: 180)
    default: try Coordinate(latitude: asin(number(in: -1...1)) * 180 / .pi, longitude: number(in: -180...180))
    }
  }

  /// Returns the place at an angle from another, all in degrees.
  func place(from start: Coordinate, azimuth: Double, degrees: Double) throws -> Coordinate {
    let (latitude, azimuth, angle) = (start.latitude * .pi / 180, azimuth * .pi / 180, degrees * .pi / 180)
    let sine = sin(latitude) * cos(angle) + cos(latitude) * sin(angle) * cos(azimuth)
    let east = atan2(sin(azimuth) * sin(angle) * cos(latitude), cos(angle) - sin(latitude) * sine)
    let longitude = (start.longitude + east * 180 / .pi + 540).truncatingRemainder(dividingBy: 360) - 180
    return try Coordinate(latitude: asin(min(max(sine, -1), 1)) * 180 / .pi, longitude: longitude)
  }

  mutating func place(around center: Coordinate, degrees: Double) throws -> Coordinate {
    try place(from: center, azimuth: number(in: 0...360), degrees: degrees * number(in: 0...1))
  }

  /// Returns a ring around a centre whose vertices are 0.4 to 1 times so many degrees away.
  mutating func ring(around center: Coordinate, degrees: Double, vertices: Int) throws -> [Coordinate] {
    var ring: [Coordinate] = []
    for index in 0..<vertices {
      let azimuth = (Double(index) + number(in: -0.3...0.3)) * 360 / Double(vertices)
      ring.append(try place(from: center, azimuth: azimuth, degrees: degrees * number(in: 0.4...1)))
    }
    if integer(in: 0...1) == 0 { ring.reverse() }
    return ring + ring.prefix(1)
  }

  mutating func line(from start: Coordinate, degrees: Double, vertices: Int) throws -> [Coordinate] {
    var line = [start]
    var azimuth = number(in: 0...360)
    for _ in 1..<vertices {
      azimuth += number(in: -80...80)
      line.append(try place(from: line[line.count - 1], azimuth: azimuth, degrees: degrees * number(in: 0.1...1)))
    }
    return line
  }
}
