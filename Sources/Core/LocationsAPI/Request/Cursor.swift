package import Basics
import CQL2
package import Geo
import JSONText
package import Points

/// The position at which a page ended, as an opaque text for the `cursor` parameter.
///
/// It has the position and a fingerprint of the query, so that a cursor of another query is rejected instead of
/// skipping places. It is not signed: a forged cursor only gives a page that starts elsewhere.
///
/// At the end it has the minute of a query for places that are open now, so that all pages are of one moment.
package enum Cursor {
  private static let version: UInt8 = 1

  private static let byteCount = 1 + 8 + 8 + 8 + 4

  /// The version of the positions in the matches of a text, which end with the stage: its number and a detail.
  private static let textVersion: UInt8 = 2
  private static let stageByteCount = 1 + 2

  /// The version of the positions among pairs of places, which end with the greater id.
  private static let pairVersion: UInt8 = 3
  private static let idByteCount = 16

  /// The version of the positions in the matches near a place that a text names. They end with the number of the reading
  /// of the text, the id and the coordinate of that place, so that all pages are around it.
  private static let nearVersion: UInt8 = 4
  private static let landmarkByteCount = 1 + 16 + 16

  /// The maximum number of bytes behind those that every cursor has.
  private static let maximumRest = stageByteCount + landmarkByteCount + minuteByteCount

  private static let maximumTextLength = Base64URL.length(ofByteCount: byteCount + maximumRest)

  /// The maximum length of the text of a position among places or pairs of places, in bytes.
  static let maximumLength = Base64URL.length(ofByteCount: byteCount + idByteCount)

  /// A position among pairs of places.
  package typealias PairPosition = (score: Int, lower: PointID, upper: PointID)

  /// Returns the text of a position among pairs of places.
  package static func text(for pair: PairPosition, of fingerprint: QueryFingerprint) -> String {
    String(atMost: maximumLength) { text in
      write(pairVersion, Double(pair.score), pair.lower, fingerprint.check(), to: &text) { bytes in
        bytes.write(bigEndian: pair.upper.high)
        bytes.write(bigEndian: pair.upper.low)
      }
    }
  }

  /// Returns the position among pairs of places of a text; `nil` if it is not a cursor, or is one of another query.
  package static func pairPosition(
    from text: some StringProtocol, of fingerprint: QueryFingerprint
  ) -> PairPosition? {
    guard let bytes = Base64URL.decode(text, count: byteCount + idByteCount),
      let (value, lower) = parts(of: bytes, pairVersion, fingerprint.check()),
      let score = Int(exactly: value)
    else { return nil }
    let (high, low) = (bytes[byteCount...].prefix(8), bytes.suffix(8))
    return (score, lower, PointID(high: UInt64(bigEndianBytes: high), low: UInt64(bigEndianBytes: low)))
  }

  /// Returns the text of a position in the places that match a query.
  ///
  /// - Parameter fingerprint: the fingerprint of the parameters of the query.
  package static func text(
    for position: PointQuery.Position, in query: PointQuery, of fingerprint: QueryFingerprint
  ) -> String {
    String(atMost: maximumLength) { write(position, in: query, of: fingerprint, to: &$0) }
  }

  /// Writes the text of a position in the places that match a query, at most ``maximumLength`` bytes.
  static func write(
    _ position: PointQuery.Position, in query: PointQuery, of fingerprint: QueryFingerprint,
    to text: inout UncheckedBytes
  ) {
    let check = fingerprint.check(in: query.area)
    write(version, position.distanceMetres, position.id, check, to: &text) { write(query.opening, to: &$0) }
  }

  private static let minuteByteCount = 4

  /// Writes the minute of a condition on the present.
  private static func write(_ opening: PointQuery.Opening?, to bytes: inout UncheckedBytes) {
    guard let opening, opening.isNow, case .instant(let minutes) = opening.time else { return }
    bytes.write(bigEndian: minutes)
  }

  /// Returns the bytes of a text without the minute, which the condition gets; `nil` if there are not as many.
  private static func bytes(
    of text: some StringProtocol, count: Int, _ opening: inout PointQuery.Opening?
  ) -> [UInt8]? {
    guard opening?.isNow == true else { return Base64URL.decode(text, count: count) }
    guard let bytes = Base64URL.decode(text, count: count + minuteByteCount) else { return nil }
    opening?.time = .instant(minutes: Int32(UInt32(bigEndianBytes: bytes[count...]) & 0x7FFF_FFFF))
    opening?.isOfFirstPage = true
    return Array(bytes[..<count])
  }

  /// Returns the text of a position in the matches of a text.
  ///
  /// - Parameters:
  ///   - landmark: the place that the matches are near, if the text names one.
  ///   - fingerprint: the fingerprint of the parameters of the query.
  static func text(
    for position: TextQuery.Position, in query: TextQuery, near landmark: Landmark?, of fingerprint: QueryFingerprint
  ) -> String {
    let check = fingerprint.check(in: query.filters.area, query.areaReadings)
    let version = landmark == nil ? textVersion : nearVersion
    return String(atMost: maximumTextLength) { text in
      write(version, position.value, position.id, check, to: &text) { bytes in
        let (number, detail) = position.stage.code
        bytes.write(number)
        bytes.write(bigEndian: detail)
        if let landmark {
          bytes.write(landmark.reading)
          bytes.write(bigEndian: landmark.id.high)
          bytes.write(bigEndian: landmark.id.low)
          bytes.write(bigEndian: landmark.coordinate.latitude.bitPattern)
          bytes.write(bigEndian: landmark.coordinate.longitude.bitPattern)
        }
        write(query.filters.opening, to: &bytes)
      }
    }
  }

  /// Writes the text of what every cursor has, and of at most ``maximumRest`` bytes that a closure writes behind it.
  @inline(__always)
  private static func write(
    _ version: UInt8, _ value: Double, _ id: PointID, _ check: UInt32, to text: inout UncheckedBytes,
    _ writeRest: (inout UncheckedBytes) -> Void
  ) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount + maximumRest) { buffer in
      let start = buffer.baseAddress.unsafelyUnwrapped
      var bytes = UncheckedBytes(at: start)
      bytes.write(version)
      bytes.write(bigEndian: value.bitPattern)
      bytes.write(bigEndian: id.high)
      bytes.write(bigEndian: id.low)
      bytes.write(bigEndian: check)
      writeRest(&bytes)
      Base64URL.write(UnsafeBufferPointer(start: start, count: bytes.end - start), to: &text)
    }
  }

  /// Returns the position of a text; `nil` when it is no cursor, or one of another query.
  ///
  /// - Parameters:
  ///   - query: the query; it gets the minute of the first page.
  ///   - fingerprint: the fingerprint of its parameters.
  static func position(
    from text: some StringProtocol, in query: inout PointQuery, of fingerprint: QueryFingerprint
  ) -> PointQuery.Position? {
    guard let bytes = bytes(of: text, count: byteCount, &query.opening) else { return nil }
    return parts(of: bytes, version, fingerprint.check(in: query.area)).map { .init(distanceMetres: $0, id: $1) }
  }

  /// Returns the position of a text; `nil` when it is no cursor, or one of another query.
  ///
  /// - Parameters:
  ///   - query: the query; it gets the minute of the first page.
  ///   - fingerprint: the fingerprint of its parameters.
  static func position(
    from text: some StringProtocol, in query: inout TextQuery, of fingerprint: QueryFingerprint
  ) -> TextQuery.Position? {
    guard let bytes = bytes(of: text, count: byteCount + stageByteCount, &query.filters.opening),
      let stage = TextQuery.Stage(code: bytes[byteCount], UInt16(bigEndianBytes: bytes[(byteCount + 1)...]))
    else { return nil }
    return parts(of: bytes, textVersion, fingerprint.check(in: query.filters.area, query.areaReadings)).map {
      .init(value: $0, id: $1, stage: stage)
    }
  }

  /// Returns the position of a text and the place that the matches are near; `nil` when it is no cursor, or one of
  /// another query or of matches that are near none.
  ///
  /// - Parameters:
  ///   - query: the query; it gets the minute of the first page.
  ///   - fingerprint: the fingerprint of its parameters.
  static func nearPosition(
    from text: some StringProtocol, in query: inout TextQuery, of fingerprint: QueryFingerprint
  ) -> (position: TextQuery.Position, landmark: Landmark)? {
    let start = byteCount + stageByteCount
    guard let bytes = bytes(of: text, count: start + landmarkByteCount, &query.filters.opening),
      let stage = TextQuery.Stage(code: bytes[byteCount], UInt16(bigEndianBytes: bytes[(byteCount + 1)..<start])),
      let (value, id) = parts(of: bytes, nearVersion, fingerprint.check(in: query.filters.area))
    else { return nil }
    func number(_ index: Int) -> UInt64 { UInt64(bigEndianBytes: bytes[(start + 1 + 8 * index)...].prefix(8)) }
    let (latitude, longitude) = (Double(bitPattern: number(2)), Double(bitPattern: number(3)))
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude) else { return nil }
    let landmark = Landmark(
      reading: bytes[start], id: PointID(high: number(0), low: number(1)), coordinate: coordinate)
    return (TextQuery.Position(value: value, id: id, stage: stage), landmark)
  }

  private static func parts(
    of bytes: [UInt8], _ version: UInt8, _ expected: UInt32
  ) -> (value: Double, id: PointID)? {
    guard bytes[0] == version else { return nil }
    let value = Double(bitPattern: UInt64(bigEndianBytes: bytes[1..<9]))
    guard UInt32(bigEndianBytes: bytes[25..<byteCount]) == expected, value.isFinite, value >= 0 else { return nil }
    return (value, PointID(high: UInt64(bigEndianBytes: bytes[9..<17]), low: UInt64(bigEndianBytes: bytes[17..<25])))
  }
}

/// A hash of the parameters that the pages of a list have in common: of their names and the values that were read, in
/// whatever order they are added. A value that is the default is left out.
package struct QueryFingerprint: Sendable {
  private var sum: UInt64 = 0

  /// Adds the value of a parameter, unless pages may have different ones.
  ///
  /// - Parameter combine: adds the value to a hash.
  @inline(__always)
  package mutating func add(_ parameter: Parameter, _ combine: (inout FNV1a) -> Void) {
    if !parameter.mayDifferBetweenPages { add(name: parameter.key.bytes, combine) }
  }

  package mutating func add(_ parameter: Parameter, _ text: String) { add(parameter) { $0.combine(bytes: text.utf8) } }

  package mutating func add(_ parameter: Parameter, number: Double) { add(parameter) { $0.combine(number: number) } }

  mutating func add(_ parameter: Parameter, json value: JSONValue) { add(parameter) { $0.combine(bytes: value.text) } }

  /// Adds a box in degrees.
  package mutating func add(_ box: BoundingBox) {
    add(.box) { hash in
      hash.combine(number: box.west)
      hash.combine(number: box.south)
      hash.combine(number: box.east)
      hash.combine(number: box.north)
    }
  }

  /// Adds a part of the path.
  package mutating func add(segment text: String) {
    add(name: UnsafeBufferPointer(start: nil, count: 0)) { $0.combine(bytes: text.utf8) }
  }

  @inline(__always)
  private mutating func add(name: UnsafeBufferPointer<UInt8>, _ combine: (inout FNV1a) -> Void) {
    var hash = FNV1a()
    hash.combine(bytes: name)
    hash.combine(0)
    combine(&hash)
    sum &+= SplitMix64.mix(hash.value)
  }

  /// Returns a hash of the fingerprint and of areas, whose shapes are not those of a name for ever.
  fileprivate func check(in area: GeodesicArea? = nil, _ readings: [TextQuery.AreaReading] = []) -> UInt32 {
    var hash = FNV1a()
    hash.combine(sum)
    if let area { hash.combine(area) }
    for reading in readings {
      hash.combine(bytes: reading.text.utf8)
      hash.combine(reading.area)
    }
    return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
  }
}

extension UncheckedBytes {
  fileprivate mutating func write<Number: FixedWidthInteger>(bigEndian number: Number) {
    UnsafeMutableRawPointer(end).storeBytes(of: number.bigEndian, as: Number.self)
    end += MemoryLayout<Number>.size
  }
}

extension FNV1a {
  fileprivate mutating func combine(number: Double) {
    combine(number.bitPattern >> 32)
    combine(number.bitPattern & 0xFFFF_FFFF)
  }

  fileprivate mutating func combine(_ area: GeodesicArea) {
    for polygon in area.polygons {
      combine(UInt64(polygon.count))
      for ring in polygon {
        combine(UInt64(ring.count))
        for coordinate in ring {
          combine(number: coordinate.latitude)
          combine(number: coordinate.longitude)
        }
      }
    }
  }
}

extension TextQuery.Stage {
  /// The number of the stage, and what else it has.
  fileprivate var code: (number: UInt8, detail: UInt16) {
    switch self {
    case .words: (0, 0)
    case .typos: (1, 0)
    case .typosBesideRareWord: (2, 0)
    case .moreTypos: (3, 0)
    case .missingWords: (4, 0)
    case .joined(let word): (5, word)
    case .separated(let letter, let omitsLetter): (omitsLetter ? 7 : 6, letter)
    case .lenient: (8, 0)
    case .missingPairs: (9, 0)
    case .twoTypos: (10, 0)
    case .omitted(let words, let hasTypos): (hasTypos ? 12 : 11, UInt16(words))
    case .areas: (13, 0)
    case .separatedWords(let letter): (14, letter)
    }
  }

  /// Creates the stage of a code; `nil` if there is none.
  fileprivate init?(code number: UInt8, _ detail: UInt16) {
    switch number {
    case 0: self = .words
    case 1: self = .typos
    case 2: self = .typosBesideRareWord
    case 3: self = .moreTypos
    case 4: self = .missingWords
    case 5: self = .joined(word: detail)
    case 6: self = .separated(letter: detail, omitsLetter: false)
    case 7: self = .separated(letter: detail, omitsLetter: true)
    case 8: self = .lenient
    case 9: self = .missingPairs
    case 10: self = .twoTypos
    case 11: self = .omitted(words: UInt8(truncatingIfNeeded: detail), hasTypos: false)
    case 12: self = .omitted(words: UInt8(truncatingIfNeeded: detail), hasTypos: true)
    case 13: self = .areas
    case 14: self = .separatedWords(letter: detail)
    default: return nil
    }
    guard code == (number, detail) else { return nil }
  }
}
