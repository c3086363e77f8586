import Basics
import JSONText

/// Coordinates as people write them: `48°12'30"N`, `48 12.5 N`, `N48.2`, `-48° 12,5'`, and two of them in one text.
package enum DegreesText {
  /// The coordinate that a letter names: N and S the latitude, E and W the longitude.
  enum Axis {
    case latitude
    case longitude
  }

  /// The maximum length of a text in bytes.
  private static let maximumBytes = 200

  /// Returns the degrees of a text with a letter or a mark of degrees, minutes or seconds; `nil` for any other, and for
  /// one that names the other coordinate.
  package static func value(of text: UnsafeBufferPointer<UInt8>, isLatitude: Bool) -> Double? {
    guard text.count <= maximumBytes, let angle = Angle(String(decoding: text, as: UTF8.self)), !angle.isPlain,
      angle.axis == nil || (angle.axis == .latitude) == isLatitude
    else { return nil }
    return angle.degrees
  }

  /// Returns the advice, after an error about a text that is no number, if a spreadsheet has put thousands separators into
  /// it, so that the position of the decimal point is lost; otherwise nothing.
  package static func advice(on text: String) -> String {
    guard text.wholeMatch(of: /[-+]?[0-9]{1,3}([.,' \u{A0}\u{202F}\u{2019}][0-9]{3}){2,}/) != nil else { return "" }
    return "; a spreadsheet has put thousands separators into it: format its column as text there, and export it again"
  }

  /// Two coordinates in one text.
  struct Pair {
    let first: Double
    let second: Double

    /// The order that letters tell; `nil` if there are none.
    let order: PairOrder?

    /// A Boolean value that indicates whether the text is an array in square brackets, as JSON has it.
    let isArray: Bool
  }

  /// Returns the coordinates of a text with both; `nil` for any other. An array may have a third number, the altitude.
  static func pair(of text: UnsafeBufferPointer<UInt8>) -> Pair? {
    guard text.count <= maximumBytes else { return nil }
    var string = Substring(String(decoding: text, as: UTF8.self)).trimmingBlanks
    if string.lowercased().hasPrefix("geo:") { string.removeFirst(4) }
    var isArray = false
    if let first = string.first, let last = string.last, string.count > 2, "([".contains(first), ")]".contains(last) {
      isArray = first == "["
      string = string.dropFirst().dropLast()
      let parts = string.split(separator: ",", omittingEmptySubsequences: false)
      if isArray, parts.count == 3, Angle(String(parts[2]))?.isPlain == true { string = string[..<parts[1].endIndex] }
    }
    let angles = halves(of: string).lazy.compactMap { first, second -> (Angle, Angle)? in
      guard let first = Angle(String(first)), let second = Angle(String(second)) else { return nil }
      return (first, second)
    }
    guard let (first, second) = angles.first else { return nil }
    switch (first.axis, second.axis) {
    case (.latitude, .latitude), (.longitude, .longitude): return nil
    case (.longitude, _), (_, .latitude):
      return Pair(first: first.degrees, second: second.degrees, order: .longitudeFirst, isArray: isArray)
    case (.latitude, _), (_, .longitude):
      return Pair(first: first.degrees, second: second.degrees, order: .latitudeFirst, isArray: isArray)
    case (nil, nil): return Pair(first: first.degrees, second: second.degrees, order: nil, isArray: isArray)
    }
  }

  /// Returns the ways to divide a text: at a semicolon, a slash or a comma, at white space, or at a letter.
  private static func halves(of text: Substring) -> [(Substring, Substring)] {
    var halves: [(Substring, Substring)] = []
    for separator in [";", "/", ", ", ","] {
      let parts = text.split(separator: separator, omittingEmptySubsequences: false)
      if parts.count == 2 { halves.append((parts[0], parts[1])) }
    }
    let words = text.split(whereSeparator: \.isWhitespace)
    if words.count == 2 { halves.append((words[0], words[1])) }
    let letters = text.indices.filter { "NSEWnsew".contains(text[$0]) }
    if letters.count == 2 {
      // The letters stand before both parts or behind them.
      let isBefore = letters[0] == text.trimmingBlanks.startIndex
      let middle = isBefore ? letters[1] : text.index(after: letters[0])
      halves.append((text[..<middle], text[middle...]))
    }
    return halves
  }

  /// One coordinate.
  private struct Angle {
    let degrees: Double
    let axis: Axis?

    /// A Boolean value that indicates whether the text is a number without a letter or mark.
    let isPlain: Bool

    /// The characters that mark a number as degrees, minutes or seconds.
    private static let marks: [[Character]] = [
      ["°", "º", "˚"], ["'", "′", "’", "‘", "´", "`", "ʹ"], ["\"", "″", "”", "“", "ʺ", "˝"],
    ]

    /// Creates the angle of a text; `nil` if it is none.
    init?(_ text: String) {
      var numbers: [(value: Double, isWhole: Bool)] = []
      var axis: Axis?
      var isNegative = false
      var hasSign = false
      var hasMark = false
      var position = text.startIndex
      func isBlank(_ character: Character) -> Bool { character.isWhitespace || character == ":" }
      while position < text.endIndex {
        let character = text[position]
        let next = text.index(after: position)
        if isBlank(character) {
          position = next
        } else if character.isASCII, character.isNumber {
          guard numbers.count < 3, numbers.last?.isWhole ?? true,
            let number = Self.number(in: text, from: &position)
          else { return nil }
          numbers.append(number)
        } else if "+-−".contains(character), numbers.isEmpty, !hasSign {
          hasSign = true
          isNegative = character != "+"
          position = next
        } else if let index = Self.marks.firstIndex(where: { $0.contains(character) }) {
          // Two marks of minutes are one of seconds.
          let isDoubled = index == 1 && next < text.endIndex && Self.marks[1].contains(text[next])
          guard numbers.count == (isDoubled ? 2 : index) + 1 else { return nil }
          hasMark = true
          position = isDoubled ? text.index(after: next) : next
        } else if "NSEWnsew".contains(character), axis == nil {
          axis = "NSns".contains(character) ? .latitude : .longitude
          guard !hasSign || !isNegative else { return nil }
          if "SWsw".contains(character) { isNegative = true }
          // A letter stands at one of the ends.
          let isFirst = numbers.isEmpty
          guard isFirst || text[next...].allSatisfy(isBlank) else { return nil }
          position = next
        } else {
          return nil
        }
      }
      guard !numbers.isEmpty, numbers.dropFirst().allSatisfy({ $0.value < 60 }),
        numbers.count == 1 || axis != nil || hasMark
      else { return nil }
      let size = zip(numbers, [1, 60, 3600]).reduce(0) { $0 + $1.0.value / $1.1 }
      degrees = isNegative ? -size : size
      self.axis = axis
      isPlain = axis == nil && !hasMark
    }

    /// Reads a number with a decimal point or comma.
    private static func number(in text: String, from position: inout String.Index) -> (value: Double, isWhole: Bool)? {
      var digits: [UInt8] = []
      var isWhole = true
      while position < text.endIndex {
        let character = text[position]
        if character.isASCII, character.isNumber, let digit = character.utf8.first {
          digits.append(digit)
        } else if isWhole, character == "." || character == "," {
          isWhole = false
          digits.append(UInt8(ascii: "."))
        } else {
          break
        }
        position = text.index(after: position)
      }
      return digits.withUnsafeBufferPointer { DecimalText.value(of: $0) }.map { ($0, isWhole) }
    }
  }
}
