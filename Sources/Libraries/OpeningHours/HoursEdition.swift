import Basics

/// The edition of expressions, zones and holidays, by which a file tells that what it has of them is that of this
/// program.
package enum HoursEdition {
  /// The edition of the language. It grows with each change of what ``HoursExpression`` accepts, or of what an expression
  /// is said to depend on.
  private static let language: UInt64 = 2

  /// A hash of the edition of the language, the number of bytes of the zones and regions by position, and the holidays.
  package static let current: UInt64 = {
    var hash = FNV1a()
    hash.combine(language)
    hash.combine(UInt64(PositionZones.byteCount))
    hash.combine(UInt64(HolidayRegions.byteCount))
    hash.combine(bytes: HolidayCalendar.bytes)
    return hash.value
  }()
}
