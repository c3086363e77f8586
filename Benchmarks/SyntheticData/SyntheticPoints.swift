package import Geo
package import Points

/// A generator of places distributed like real ones: most in towns of very different sizes and in a few categories,
/// some at shared positions; and a list of places that are hard to search.
package struct SyntheticPoints {
  /// The fields that places have.
  package enum Content: String, CaseIterable {
    /// Names that are numbers, and two tags.
    case numbers

    /// Names of many languages, and addresses and tags of importance for some.
    case names

    /// Names of many languages, and the fields that Overture Maps documents for its places: an address and a
    /// confidence for each, a telephone number for 60 %, and an address of a website for 50 %.
    case contacts
  }

  private struct Town {
    let center: Coordinate
    let radiusDegrees: Double
  }

  private let content: Content
  private let categoryCount: Int
  private var generator: SeededGenerator
  private var names: SyntheticNames
  private var towns: [Town] = []
  private var number = 0

  /// Creates a generator; the same seed gives the same places.
  ///
  /// - Parameters:
  ///   - townCount: the number of towns, at least 1; the first ones have most places.
  ///   - categoryCount: the number of different categories, at least 1; the first ones have most places.
  package init(seed: UInt64, townCount: Int = 400, categoryCount: Int = 60, content: Content = .numbers) throws {
    self.content = content
    self.categoryCount = categoryCount
    names = SyntheticNames(seed: seed &+ 1)
    generator = SeededGenerator(seed: seed)
    for _ in 0..<townCount {
      let radius = 0.002 * Double.random(in: 1...15, using: &generator) * Double.random(in: 1...15, using: &generator)
      towns.append(Town(center: try anywhere(), radiusDegrees: radius))
    }
  }

  /// Returns a coordinate, about uniformly distributed on the ellipsoid.
  package mutating func anywhere() throws -> Coordinate {
    while true {
      let x = Double.random(in: -1...1, using: &generator)
      let y = Double.random(in: -1...1, using: &generator)
      let z = Double.random(in: -1...1, using: &generator)
      let length = (x * x + y * y + z * z).squareRoot()
      guard length <= 1, length > 0.1 else { continue }
      // The sine of the latitude is uniform on a sphere; this is its inverse to a degree, which is enough here.
      let sine = z / length
      let latitude = 90 * sine * (0.637 + 0.363 * sine * sine)
      let longitude = Double.random(in: -180...180, using: &generator)
      return try Coordinate(latitude: Self.inPrint(latitude), longitude: Self.inPrint(longitude))
    }
  }

  /// Returns the next rows, each with a source reference and no id.
  package mutating func rows(count: Int) throws -> [ImportRow] {
    var rows: [ImportRow] = []
    rows.reserveCapacity(count)
    var last: Coordinate?
    for _ in 0..<count {
      number += 1
      let coordinate: Coordinate
      if let last, Int.random(in: 0..<20, using: &generator) == 0 {
        coordinate = last
      } else {
        coordinate = try Int.random(in: 0..<20, using: &generator) == 0 ? anywhere() : inTown()
      }
      last = coordinate
      let label = label()
      rows.append(
        ImportRow(
          number: number,
          id: nil,
          draft: try PointDraft(
            name: label.name,
            category: category(),
            coordinate: coordinate,
            tags: try Tags(label.tags),
            source: "synthetic",
            sourceID: "node/\(number)"
          )
        )
      )
    }
    return rows
  }

  private mutating func label() -> (name: String, tags: [(key: String, value: String)]) {
    switch content {
    case .numbers: ("Place \(number) of many", [("opening_hours", "Mo-Fr 08:00-18:00"), ("ref", String(number))])
    case .names: namedLabel()
    case .contacts: labelWithContacts()
    }
  }

  private mutating func labelWithContacts() -> (name: String, tags: [(key: String, value: String)]) {
    let language = Int.random(in: 0..<SyntheticNames.languageCount, using: &generator)
    let draw = Int.random(in: 0..<1000, using: &generator)
    var tags = [
      (key: "addr:full", value: "\(names.properName(language: language)) \(1 + draw % 200)"),
      ("addr:city", names.properName(language: language)),
      ("addr:postcode", String(10_000 + number % 80_000)),
      ("addr:country", SyntheticNames.countries[language]),
      ("confidence", "0.\(draw)"),
    ]
    if draw % 10 < 6 { tags.append(("phone", "+\(30 + language)\(100_000_000 + number)")) }
    if draw % 2 == 0 {
      tags.append(("website", "https://\(names.properName(language: 0).lowercased())\(draw).example/"))
    }
    return (names.name(language: language), tags)
  }

  private mutating func namedLabel() -> (name: String, tags: [(key: String, value: String)]) {
    let language = Int.random(in: 0..<SyntheticNames.languageCount, using: &generator)
    let draw = Int.random(in: 0..<100, using: &generator)
    let name = names.name(language: language)
    var tags = [(key: "ref", value: String(number))]
    if draw < 15 { tags.append(("name:en", names.name(language: 0))) }
    if draw % 3 == 0 {
      tags.append(("addr:street", names.properName(language: language)))
      tags.append(("addr:housenumber", String(draw + 1)))
      tags.append(("addr:city", names.properName(language: language)))
    }
    if draw == 50 { tags.append(("wikidata", "Q\(number)")) }
    if draw == 51 { tags.append(("population", String(100 * (number % 50_000)))) }
    return (name, tags)
  }

  private mutating func inTown() throws -> Coordinate {
    // The cube makes the first towns the large ones.
    let draw = Double.random(in: 0..<1, using: &generator)
    let town = towns[Int(draw * draw * draw * Double(towns.count))]
    let latitude = town.center.latitude + town.radiusDegrees * generator.normal()
    let longitude = town.center.longitude + town.radiusDegrees * generator.normal()
    return try Coordinate(
      latitude: min(90, max(-90, Self.inPrint(latitude))),
      longitude: Self.inPrint(longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude)
    )
  }

  /// Returns degrees rounded to seven decimals, a centimetre, as published places have them.
  private static func inPrint(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }

  /// Returns a category, or `nil` for a tenth of the places; half of the others have one of the first few.
  private mutating func category() -> String? {
    guard Int.random(in: 0..<10, using: &generator) > 0 else { return nil }
    let draw = Double.random(in: 0..<1, using: &generator)
    return "category \(Int(draw * draw * draw * Double(categoryCount)))"
  }
}

extension SyntheticPoints {
  /// Returns places that are hard to search: at and around the poles, on both sides of the antimeridian, on the
  /// equator, many at one position and closer to each other than a printed digit, and at the antipodes of others.
  package static func hardCases() throws -> [ImportRow] {
    var coordinates: [(Double, Double)] = []
    for longitude in [-180.0, -90, 0, 17, 90, 180] {
      coordinates += [(90, longitude), (-90, longitude), (89.999_999_9, longitude), (-89.9, longitude)]
    }
    for latitude in [-60.0, -0.5, 0, 0.5, 45, 66] {
      coordinates += [(latitude, 180), (latitude, -180), (latitude, 179.999_999), (latitude, -179.999_999)]
      coordinates += [(latitude, 0), (latitude, 179.5), (latitude, -179.5)]
    }
    for step in 0..<20 {
      coordinates.append((37.3318 + Double(step) * 1e-9, -121.8893))
      coordinates.append((-37.3318, 58.1107 - Double(step) * 0.01))
    }
    coordinates += Array(repeating: (48.2082, 16.3738), count: 60)
    coordinates += Array(repeating: (-0.0, 0.0), count: 3)
    return try coordinates.enumerated().map { index, degrees in
      ImportRow(
        number: index + 1,
        id: nil,
        draft: try PointDraft(
          name: "Hard case \(index + 1)",
          category: index % 3 == 0 ? nil : "hard \(index % 4)",
          coordinate: try Coordinate(latitude: degrees.0, longitude: degrees.1)
        )
      )
    }
  }
}

/// A generator of random numbers that are the same in every run: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator; the same seed gives the same numbers.
  package init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number, uniformly distributed.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns a number with mean 0 and standard deviation 1: the sum of twelve uniform ones, which is normal except in
  /// the tails.
  package mutating func normal() -> Double {
    (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &self) }
  }
}
