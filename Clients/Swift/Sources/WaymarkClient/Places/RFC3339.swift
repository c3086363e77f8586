import Foundation

/// The times of JSON answers (RFC 3339, section 5.6). Foundation's own reader takes either a fraction or none, and costs
/// more than the rest of a place together.
enum RFC3339 {
  /// The moment that the text names; `nil` where it is no such text.
  static func date(from text: String) -> Date? {
    let bytes = Array(text.utf8)
    func field(_ range: Range<Int>) -> Int? { CalendarDate.number(bytes[range]) }
    guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let year = field(0..<4), let month = field(5..<7), let day = field(8..<10),
      let hour = field(11..<13), let minute = field(14..<16), let second = field(17..<19)
    else { return nil }
    var rest = bytes[19...]
    guard let fraction = takeFraction(from: &rest), let offset = offsetSeconds(rest) else { return nil }
    return CalendarDate.moment(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second, fraction: fraction
    )?.addingTimeInterval(-Double(offset))
  }

  /// Takes a fraction of a second off the front; 0 where there is none, `nil` where it has no digits.
  private static func takeFraction(from rest: inout ArraySlice<UInt8>) -> Double? {
    guard rest.first == UInt8(ascii: ".") else { return 0 }
    let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest = rest[digits.endIndex...]
    guard let number = CalendarDate.number(digits.prefix(9)) else { return nil }
    return (0..<min(digits.count, 9)).reduce(Double(number)) { value, _ in value / 10 }
  }

  /// How many seconds the text's clock is ahead of UTC; `nil` where it is no offset.
  private static func offsetSeconds(_ text: ArraySlice<UInt8>) -> Int? {
    if text.elementsEqual("Z".utf8) || text.elementsEqual("z".utf8) { return 0 }
    let bytes = Array(text)
    guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = CalendarDate.number(bytes[1..<3]),
      let minutes = CalendarDate.number(bytes[4..<6]), hours < 24, minutes < 60
    else { return nil }
    switch bytes[0] {
    case UInt8(ascii: "+"): return (hours * 60 + minutes) * 60
    case UInt8(ascii: "-"): return -(hours * 60 + minutes) * 60
    default: return nil
    }
  }
}
