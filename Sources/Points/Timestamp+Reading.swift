extension Timestamp {
  /// Reads a time of RFC 3339, such as `2026-11-21T10:15:00Z` or `2026-11-21T11:15:00.5+01:00`; `nil` where it is none.
  ///
  /// Digits of the fraction past the sixth are dropped. A leap second is that before it, a second later.
  public init?(rfc3339 text: some StringProtocol) {
    var bytes = Array(text.utf8)[...]
    func number(_ digits: Int, upTo most: Int64) -> Int64? {
      guard bytes.count >= digits else { return nil }
      var value: Int64 = 0
      for byte in bytes.prefix(digits) {
        guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      bytes.removeFirst(digits)
      return value <= most ? value : nil
    }
    func skip(_ characters: Unicode.Scalar...) -> Bool {
      guard let first = bytes.first, characters.contains(Unicode.Scalar(first)) else { return false }
      bytes.removeFirst()
      return true
    }
    guard let year = number(4, upTo: 9999), skip("-"), let month = number(2, upTo: 12), skip("-"),
      let day = number(2, upTo: 31), skip("T", "t"), let hour = number(2, upTo: 23), skip(":"),
      let minute = number(2, upTo: 59), skip(":"), let second = number(2, upTo: 60), month > 0, day > 0
    else { return nil }
    var microseconds: Int64 = 0
    if skip(".") {
      let digits = bytes.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
      guard !digits.isEmpty else { return nil }
      for index in 0..<6 {
        let digit = index < digits.count ? digits[digits.startIndex + index] - UInt8(ascii: "0") : 0
        microseconds = microseconds * 10 + Int64(digit)
      }
      bytes.removeFirst(digits.count)
    }
    var offsetMinutes: Int64 = 0
    if !skip("Z", "z") {
      let isEast = bytes.first == UInt8(ascii: "+")
      guard skip("+", "-"), let hours = number(2, upTo: 23), skip(":"), let minutes = number(2, upTo: 59) else {
        return nil
      }
      offsetMinutes = (isEast ? 1 : -1) * (hours * 60 + minutes)
    }
    let days = Self.daysSinceEpoch(year: year, month: month, day: day)
    // The calendar written back tells whether the month has that day.
    let written = Timestamp(microsecondsSinceEpoch: days * 86_400_000_000).description
    guard bytes.isEmpty, written.hasPrefix(text.prefix(10)) else { return nil }
    let seconds = days * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
    self.init(microsecondsSinceEpoch: seconds * 1_000_000 + microseconds)
  }

  /// The days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin on the first of March.
  private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
