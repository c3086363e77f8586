/// A date of the proleptic Gregorian calendar.
///
/// The arithmetic counts in eras of 400 years that begin on the first of March, so that the leap day is a year's last
/// (H. Hinnant, "chrono-compatible low-level date algorithms", 2021).
public struct CivilDate: Hashable, Sendable {
  /// The year; 0 is 1 BC.
  public let year: Int

  /// The month, 1 to 12.
  public let month: Int

  /// The day of the month, 1 to 31.
  public let day: Int

  /// Creates a date. A day that the month lacks is one of the next month to ``daysSinceEpoch``.
  public init(year: Int, month: Int, day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// Creates the date so many days after 1970-01-01.
  public init(daysSinceEpoch: Int) {
    let days = daysSinceEpoch + Self.daysFromEraToEpoch
    let era = (days >= 0 ? days : days - (Self.daysInEra - 1)) / Self.daysInEra
    let dayOfEra = days - era * Self.daysInEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The days from 1970-01-01 to this date.
  public var daysSinceEpoch: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * Self.daysInEra + dayOfEra - Self.daysFromEraToEpoch
  }

  private static let daysInEra = 146_097

  /// The days from 0000-03-01 to 1970-01-01.
  private static let daysFromEraToEpoch = 719_468
}
