package import Basics
import CHolidays
package import Geo

/// The public holidays of a country or region.
package struct HolidayCalendar: Hashable, Sendable {
  /// The days since 1970-01-01, ascending.
  private let days: [Int32]

  /// A calendar without holidays.
  package static let none = HolidayCalendar(days: [])

  package init(days: some Sequence<CivilDate>) {
    self.days = Set(days.map { Int32($0.daysSinceEpoch) }).sorted()
  }

  private init(days: [Int32]) {
    self.days = days
  }

  package var dates: [CivilDate] { days.map { CivilDate(daysSinceEpoch: Int($0)) } }

  func contains(day: Int) -> Bool {
    var low = 0
    var high = days.count
    while low < high {
      let middle = (low + high) / 2
      if Int(days[middle]) < day { low = middle + 1 } else { high = middle }
    }
    return low < days.count && Int(days[low]) == day
  }
}

extension HolidayCalendar {
  /// The first and the last year of the built-in calendars.
  package static let builtInYears = 2020...2040

  /// The codes of ISO 3166-1 and 3166-2 with a built-in calendar: `DE`, `DE-BY`.
  package static var builtInCodes: [String] { index.keys.sorted() }

  /// Creates the calendar of a country, or of a region of it, of which no calendar exists that of the country; `nil` if
  /// there is none.
  ///
  /// - Parameter code: A code of ISO 3166-1 or 3166-2 in capital letters.
  package init?(code: String) {
    guard let entry = Self.index[code] ?? Self.index[String(code.prefix(2))] else { return nil }
    var days = Self.decode(entry.start)
    // A region has the days that are holidays either there or in its country, not in both.
    if let country = entry.country {
      days = Set(Self.decode(country)).symmetricDifference(days).sorted()
    }
    self.days = days
  }

  private struct Entry {
    var start: Int
    /// The start of the country's days; `nil` for a country.
    var country: Int?
  }

  // The bytes are constants of the program.
  nonisolated(unsafe) static let bytes: UnsafeBufferPointer<UInt8> = {
    var count = 0
    let bytes = holiday_rules(&count)
    return UnsafeBufferPointer(start: bytes, count: count)
  }()

  /// The entries: the length of a code, the code, the number of days and their distances, from the first of January of
  /// the first year on; numbers have 7 bits a byte, the lowest first.
  private static let index: [String: Entry] = {
    var index: [String: Entry] = [:]
    var position = 0
    while position < bytes.count {
      let length = Int(bytes[position])
      guard length > 0 else { break }
      let code = String(decoding: bytes[(position + 1)..<(position + 1 + length)], as: UTF8.self)
      position += 1 + length
      index[code] = Entry(start: position, country: length > 2 ? index[String(code.prefix(2))]?.start : nil)
      for _ in 0..<number(&position) { _ = number(&position) }
    }
    return index
  }()

  private static func number(_ position: inout Int) -> Int {
    var value = 0
    var shift = 0
    while true {
      let byte = Int(bytes[position])
      position += 1
      value |= (byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
  }

  private static func decode(_ start: Int) -> [Int32] {
    var position = start
    let count = number(&position)
    var day = CivilDate(year: builtInYears.lowerBound, month: 1, day: 1).daysSinceEpoch
    return (0..<count).map { _ in
      day += number(&position)
      return Int32(day)
    }
  }
}

/// The regions with public holidays of their own, by position, such as the states of Germany.
///
/// The borders are those of Natural Earth, 1:10 million. Regions are extended over the sea, so that piers have one.
package enum HolidayRegions {
  // The bytes are constants of the program.
  private nonisolated(unsafe) static let map: PositionMap = {
    var count = 0
    let bytes = holiday_regions(&count)
    return PositionMap(UnsafeBufferPointer(start: bytes, count: count))
  }()

  /// The number of bytes of the built-in file.
  static var byteCount: Int { map.byteCount }

  /// The number of what is in no region.
  package static let none = 0

  /// The codes of ISO 3166-2 of the regions by their numbers; that of ``none`` is no code.
  package static var codes: [String] { map.names }

  /// Returns the number of the region at a position.
  package static func number(at position: Coordinate) -> Int { map.number(at: position) }
}
