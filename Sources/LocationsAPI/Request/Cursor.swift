import Basics
import CQL2
import Geo
import JSONText
import Points

/// The position at which a page ended, as an opaque text for the `cursor` parameter.
///
/// It has the position and a fingerprint of the query, so that a cursor of another query is rejected instead of
/// skipping places. It has no secret and needs none: a forged cursor gives a page that starts elsewhere.
///
/// At the end it has the minute of a query for places that are open now, so that all pages are of one moment.
enum Cursor {
  private static let version: UInt8 = 1

  private static let byteCount = 1 + 8 + 8 + 8 + 4

  /// The version of the positions in the matches of a text, which end with the stage: its number and a detail.
  private static let textVersion: UInt8 = 2
  private static let stageByteCount = 1 + 2

  /// The version of the positions among pairs of places, which end with the greater id.
  private static let pairVersion: UInt8 = 3
  private static let idByteCount = 16

  /// Returns the text of a position among the pairs of a search for duplicates.
  static func text(
    for rank: DuplicateCandidate.Rank, in query: DuplicateQuery, _ states: Set<DuplicateState>
  ) -> String {
    var bytes = bytes(
      pairVersion, Double(rank.score), rank.pair.lower, fingerprint: fingerprint(of: query, states))
    for half in [rank.pair.upper.high, rank.pair.upper.low] {
      withUnsafeBytes(of: half.bigEndian) { bytes.append(contentsOf: $0) }
    }
    return Base64URL.encode(bytes)
  }

  /// Returns the position of a text; `nil` when it is no cursor, or one of another search for duplicates.
  static func position(
    from text: some StringProtocol, in query: DuplicateQuery, _ states: Set<DuplicateState>
  ) -> DuplicateCandidate.Rank? {
    guard let bytes = Base64URL.decode(text, count: byteCount + idByteCount),
      let (value, lower) = parts(of: bytes, pairVersion, fingerprint: fingerprint(of: query, states)),
      let score = Int(exactly: value)
    else { return nil }
    func half(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    let upper = PointID(high: half(byteCount..<byteCount + 8), low: half(byteCount + 8..<byteCount + idByteCount))
    return PlacePair(lower, upper).map { DuplicateCandidate.Rank(score: score, pair: $0) }
  }

  /// Returns a hash of the conditions that determine the pairs.
  private static func fingerprint(of query: DuplicateQuery, _ states: Set<DuplicateState>) -> UInt32 {
    var hash = FNV1a()
    for source in [query.source, query.other] {
      hash.combine(bytes: source.text.utf8)
      hash.combine(0)
    }
    hash.combine(UInt64(fingerprint(of: PointQuery(box: query.box))))
    hash.combine(UInt64(query.minimumScore))
    for state in DuplicateState.allCases where states.contains(state) { hash.combine(bytes: state.rawValue.utf8) }
    return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
  }

  /// Returns the text of a position in the places that match a query.
  static func text(for position: PointQuery.Position, in query: PointQuery) -> String {
    var bytes = bytes(version, position.distanceMetres, position.id, fingerprint: fingerprint(of: query))
    append(query.opening, to: &bytes)
    return Base64URL.encode(bytes)
  }

  private static let minuteByteCount = 4

  /// Appends the minute of a condition on the present.
  private static func append(_ opening: PointQuery.Opening?, to bytes: inout [UInt8]) {
    guard let opening, opening.isNow, case .instant(let minutes) = opening.time else { return }
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: minutes).bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Returns the bytes of a text without the minute, which the condition gets; `nil` if there are not as many.
  private static func bytes(
    of text: some StringProtocol, count: Int, _ opening: inout PointQuery.Opening?
  ) -> [UInt8]? {
    guard opening?.isNow == true else { return Base64URL.decode(text, count: count) }
    guard let bytes = Base64URL.decode(text, count: count + minuteByteCount) else { return nil }
    opening?.time = .instant(minutes: Int32(bytes[count...].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF))
    opening?.isOfFirstPage = true
    return Array(bytes[..<count])
  }

  /// Returns the text of a position in the matches of a text.
  static func text(for position: TextQuery.Position, in query: TextQuery) -> String {
    var bytes = bytes(textVersion, position.value, position.id, fingerprint: fingerprint(of: query))
    let (number, detail) = position.stage.code
    bytes += [number, UInt8(detail >> 8), UInt8(detail & 0xFF)]
    append(query.filters.opening, to: &bytes)
    return Base64URL.encode(bytes)
  }

  private static func bytes(_ version: UInt8, _ value: Double, _ id: PointID, fingerprint: UInt32) -> [UInt8] {
    var bytes: [UInt8] = [version]
    bytes.reserveCapacity(byteCount + stageByteCount + minuteByteCount)
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
    append(value.bitPattern)
    append(id.high)
    append(id.low)
    append(fingerprint)
    return bytes
  }

  /// Returns the position of a text; `nil` when it is no cursor, or one of another query.
  ///
  /// - Parameter query: the query; it gets the minute of the first page.
  static func position(from text: some StringProtocol, in query: inout PointQuery) -> PointQuery.Position? {
    guard let bytes = bytes(of: text, count: byteCount, &query.opening) else { return nil }
    return parts(of: bytes, version, fingerprint: fingerprint(of: query)).map { .init(distanceMetres: $0, id: $1) }
  }

  /// Returns the position of a text; `nil` when it is no cursor, or one of another query.
  ///
  /// - Parameter query: the query; it gets the minute of the first page.
  static func position(from text: some StringProtocol, in query: inout TextQuery) -> TextQuery.Position? {
    guard let bytes = bytes(of: text, count: byteCount + stageByteCount, &query.filters.opening),
      let stage = TextQuery.Stage(
        code: bytes[byteCount], UInt16(bytes[byteCount + 1]) << 8 | UInt16(bytes[byteCount + 2]))
    else { return nil }
    return parts(of: bytes, textVersion, fingerprint: fingerprint(of: query)).map {
      .init(value: $0, id: $1, stage: stage)
    }
  }

  private static func parts(
    of bytes: [UInt8], _ version: UInt8, fingerprint: UInt32
  ) -> (value: Double, id: PointID)? {
    guard bytes[0] == version else { return nil }
    func number(at offset: Int) -> UInt64 {
      bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    let check = bytes[25..<byteCount].reduce(0) { $0 << 8 | UInt32($1) }
    let value = Double(bitPattern: number(at: 1))
    guard check == fingerprint, value.isFinite, value >= 0 else { return nil }
    return (value, PointID(high: number(at: 9), low: number(at: 17)))
  }

  /// Returns a hash of the conditions that determine the matches and their order.
  private static func fingerprint(of query: TextQuery) -> UInt32 {
    var hash = FNV1a()
    hash.combine(UInt64(fingerprint(of: query.filters)))
    hash.combine(bytes: query.text.utf8)
    hash.combine(query.completesLastWord ? 1 : 2)
    hash.combine(query.order == .distance ? 1 : 2)
    for reading in query.areaReadings {
      hash.combine(bytes: reading.text.utf8)
      hash.combine(reading.area)
    }
    if let bias = query.bias {
      for number in [bias.center.latitude, bias.center.longitude, bias.scaleMetres, bias.weight] {
        hash.combine(number.bitPattern >> 32)
        hash.combine(number.bitPattern & 0xFFFF_FFFF)
      }
    }
    return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
  }

  /// Returns a hash of the conditions that determine the matching places and their order.
  private static func fingerprint(of query: PointQuery) -> UInt32 {
    var hash = FNV1a()
    func mix(numbers: Double...) {
      for number in numbers {
        hash.combine(number.bitPattern >> 32)
        hash.combine(number.bitPattern & 0xFFFF_FFFF)
      }
    }
    if let proximity = query.proximity {
      hash.combine(1)
      mix(numbers: proximity.center.latitude, proximity.center.longitude)
      if let radius = proximity.radiusMetres { mix(numbers: radius) }
    }
    if let box = query.box {
      hash.combine(2)
      mix(numbers: box.west, box.south, box.east, box.north)
    }
    for category in query.categories.sorted() {
      hash.combine(3)
      hash.combine(bytes: category.text.utf8)
    }
    for category in query.excludedCategories.sorted() {
      hash.combine(10)
      hash.combine(bytes: category.text.utf8)
    }
    if let source = query.source {
      hash.combine(4)
      hash.combine(bytes: source.name.text.utf8)
      if let sourceID = source.sourceID {
        hash.combine(5)
        hash.combine(bytes: sourceID.text.utf8)
      }
    }
    for id in query.ids {
      hash.combine(11)
      hash.combine(id.high)
      hash.combine(id.low)
    }
    if let filter = query.filter {
      hash.combine(6)
      hash.combine(bytes: filter.expression.json)
    }
    if let area = query.area {
      hash.combine(7)
      hash.combine(area)
    }
    if let route = query.route {
      hash.combine(8)
      mix(numbers: route.radiusMetres)
      for coordinate in route.line.coordinates { mix(numbers: coordinate.latitude, coordinate.longitude) }
    }
    if let opening = query.opening {
      hash.combine(opening.includesUnknown ? 9 : 10)
      switch opening.time {
      case .instant(let minutes):
        hash.combine(1)
        hash.combine(UInt64(bitPattern: Int64(minutes)))
      case .local(let minutes):
        hash.combine(2)
        hash.combine(UInt64(bitPattern: Int64(minutes)))
      }
    }
    return UInt32(truncatingIfNeeded: hash.value ^ hash.value >> 32)
  }
}

extension FNV1a {
  fileprivate mutating func combine(_ area: GeodesicArea) {
    for polygon in area.polygons {
      combine(UInt64(polygon.count))
      for ring in polygon {
        combine(UInt64(ring.count))
        for coordinate in ring {
          for number in [coordinate.latitude, coordinate.longitude] {
            combine(number.bitPattern >> 32)
            combine(number.bitPattern & 0xFFFF_FFFF)
          }
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
    }
  }

  /// Creates the stage of a code; `nil` where there is none.
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
    default: return nil
    }
    guard code == (number, detail) else { return nil }
  }
}
