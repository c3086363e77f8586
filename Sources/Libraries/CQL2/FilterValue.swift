public import Basics
import JSONText

/// The type of the values of a property.
public enum FilterType: String, Hashable, Sendable, CaseIterable {
  case string, integer, number, boolean, date, timestamp, geometry
  case stringArray = "string-array"
}

/// The value of a property of a record.
public enum FilterValue: Hashable, Sendable {
  /// No value.
  case null
  case string(ExactText)
  case number(Double)
  case boolean(Bool)
  /// Days since 1970-01-01.
  case date(Int)
  /// Microseconds since 1970-01-01T00:00:00Z.
  case timestamp(Int64)
  /// A point by its longitude and latitude.
  case point(x: Double, y: Double)
  case array([FilterValue])
}

extension FilterValue {
  /// Creates the value that a text stands for, such as that of a tag or of a parameter; `nil` if it is none of the
  /// type.
  ///
  /// The elements of an array stand between semicolons.
  public init?(_ text: String, as type: FilterType) {
    switch type {
    case .string: self = .string(ExactText(text))
    case .integer, .number:
      guard let number = Array(text.utf8).withUnsafeBufferPointer({ DecimalText.value(of: $0) }), number.isFinite,
        type == .number || number == number.rounded()
      else { return nil }
      self = .number(number)
    case .boolean:
      switch text {
      case "true", "yes", "1": self = .boolean(true)
      case "false", "no", "0": self = .boolean(false)
      default: return nil
      }
    case .date:
      guard let date = RFC3339.date(of: text) else { return nil }
      self = .date(date.daysSinceEpoch)
    case .timestamp:
      guard let time = RFC3339.microsecondsSinceEpoch(of: text) else { return nil }
      self = .timestamp(time)
    case .stringArray:
      self = .array(
        text.utf8.split(separator: UInt8(ascii: ";")).map { .string(ExactText(String(Substring($0).trimmingSpaces))) })
    case .geometry: return nil
    }
  }
}

extension Substring {
  /// The text without spaces before and after it.
  fileprivate var trimmingSpaces: Substring {
    let space = UInt8(ascii: " ")
    guard let first = utf8.firstIndex(where: { $0 != space }), let last = utf8.lastIndex(where: { $0 != space }) else {
      return ""
    }
    return self[first...last]
  }
}

/// A record that a filter is evaluated on.
public protocol FilterRecord {
  /// Returns the value of a property, of the property's type or null.
  func value(ofProperty number: Int) -> FilterValue
}

/// A property of the records that a filter is evaluated on.
public struct FilterProperty: Hashable, Sendable {
  /// The number by which a record finds the value.
  public let number: Int

  /// The type of the values.
  public let type: FilterType

  public init(number: Int, type: FilterType) {
    self.number = number
    self.type = type
  }
}

/// A span of time from its start to its end, both included.
struct TimeSpan: Hashable, BitwiseCopyable {
  var start: Int64
  var end: Int64
  /// A Boolean value that indicates whether the numbers are days; otherwise they are microseconds.
  var isInDays: Bool

  static let microsecondsPerDay: Int64 = 86_400_000_000

  /// The span in microseconds. A date is all of its day.
  var inMicroseconds: TimeSpan {
    guard isInDays else { return self }
    func scaled(_ days: Int64) -> Int64 {
      let (product, overflow) = days.multipliedReportingOverflow(by: Self.microsecondsPerDay)
      return overflow ? (days < 0 ? .min : .max) : product
    }
    let start = start == .min ? Int64.min : scaled(start)
    let end = end == .max ? Int64.max : scaled(end + 1) - 1
    return TimeSpan(start: start, end: end, isInDays: false)
  }

  /// Returns a Boolean value that indicates whether the span is in a relation to another (W3C Time Ontology in OWL,
  /// section 3.2; J. F. Allen, "Maintaining knowledge about temporal intervals", Communications of the ACM 26, 1983).
  func satisfies(_ relation: FilterOperator, _ other: TimeSpan) -> Bool {
    guard isInDays == other.isInDays else { return inMicroseconds.satisfies(relation, other.inMicroseconds) }
    let startsBefore = start < other.start
    let endsAfter = end > other.end
    let startsWithin = start > other.start && start < other.end
    switch relation {
    case .temporallyAfter: return start > other.end
    case .temporallyBefore: return end < other.start
    case .temporallyDisjoint: return start > other.end || end < other.start
    case .temporallyIntersects: return start <= other.end && end >= other.start
    case .temporallyEquals: return start == other.start && end == other.end
    case .temporallyContains: return startsBefore && endsAfter
    case .temporallyDuring: return start > other.start && end < other.end
    case .temporallyFinishedBy: return startsBefore && end == other.end
    case .temporallyFinishes: return start > other.start && end == other.end
    case .temporallyMeets: return end == other.start
    case .temporallyMetBy: return start == other.end
    case .temporallyOverlappedBy: return startsWithin && endsAfter
    case .temporallyOverlaps: return startsBefore && end > other.start && end < other.end
    case .temporallyStartedBy: return start == other.start && endsAfter
    case .temporallyStarts: return start == other.start && end < other.end
    default: return false
    }
  }
}
