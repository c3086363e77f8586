import Basics

extension Timestamp {
  /// Creates a timestamp from a time of RFC 3339, such as `2026-11-21T10:15:00Z` or `2026-11-21T11:15:00.5+01:00`;
  /// `nil` for any other text.
  ///
  /// Digits of the fraction past the sixth are dropped. A leap second is the second before it plus one.
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
    let date = CivilDate(year: Int(year), month: Int(month), day: Int(day))
    // A day that the month lacks comes back as another one.
    guard bytes.isEmpty, CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date else { return nil }
    let seconds = Int64(date.daysSinceEpoch) * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
    self.init(microsecondsSinceEpoch: seconds * 1_000_000 + microseconds)
  }
}
