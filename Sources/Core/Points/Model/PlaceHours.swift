public import Basics
package import Geo
import JSONText
package import OpeningHours

/// The tags of a place that decide whether it is open, as they are in its stored tags: JSON strings.
package struct HoursTags {
  package private(set) var hours: UnsafeBufferPointer<UInt8>?
  package private(set) var zone: UnsafeBufferPointer<UInt8>?
  package private(set) var country: UnsafeBufferPointer<UInt8>?
  package private(set) var region: UnsafeBufferPointer<UInt8>?

  /// Creates the tags of a place.
  ///
  /// - Parameter tags: the place's tags, as ``Tags/json``, which must outlive these.
  package init(_ tags: UnsafeBufferPointer<UInt8>) {
    JSONString.forEachMember(ofStrings: tags) { name, value in
      let key = UnsafeBufferPointer(rebasing: tags[name])
      if Self.isKey(key, "\"opening_hours\"") {
        hours = UnsafeBufferPointer(rebasing: tags[value])
      } else if Self.isKey(key, "\"timezone\"") {
        zone = UnsafeBufferPointer(rebasing: tags[value])
      } else if Self.isKey(key, "\"addr:country\"") {
        country = UnsafeBufferPointer(rebasing: tags[value])
      } else if Self.isKey(key, "\"addr:state\"") {
        region = UnsafeBufferPointer(rebasing: tags[value])
      }
      return true
    }
  }

  @inline(__always)
  private static func isKey(_ key: UnsafeBufferPointer<UInt8>, _ name: StaticString) -> Bool {
    key.count == name.utf8CodeUnitCount && name.withUTF8Buffer { key.elementsEqual($0) }
  }

  /// Returns the text of a stored string.
  package static func text(of string: UnsafeBufferPointer<UInt8>) -> String? {
    var reader = JSONReader(string)
    return (try? reader.readString())?.string
  }

  /// The zone that the tag `timezone` names; `nil` if it names none.
  package var zoneRules: ZoneRules? { zone.flatMap(Self.text).flatMap { ZoneRules.system(named: $0) } }

  /// Returns the code of the country or region whose public holidays hold: the country is `addr:country`, or else that of
  /// the zone; the region `addr:state`, if that is a code, or else that of the position. `nil` if the country is unknown.
  ///
  /// - Parameter region: the number of the position's region, of ``HolidayRegions``.
  package func holidayCode(in zone: ZoneRules, region: Int) -> String? {
    let named = country.flatMap(Self.text).flatMap { $0.utf8.count == 2 ? $0.uppercased() : nil }
    guard let code = named ?? zone.country else { return nil }
    if named != nil, let state = self.region.flatMap(Self.text), state.utf8.count <= 3 {
      return "\(code)-\(state.uppercased())"
    }
    let regional = HolidayRegions.codes[region]
    // Near the border, the position may be in a region of the neighbour.
    return region != HolidayRegions.none && regional.hasPrefix(code) ? regional : code
  }
}

/// The opening hours of a place.
package struct PlaceHours: Sendable {
  /// The tag `opening_hours`; `nil` without one.
  package let text: String?

  /// The hours; `nil` without the tag, or if it cannot be parsed.
  package let expression: HoursExpression?

  /// The reason for which the tag cannot be parsed.
  package private(set) var error: HoursError?

  /// The code of the country or region whose public holidays hold; `nil` if it is unknown.
  package let holidayCode: String?

  package let context: HoursContext

  /// Creates the hours of a place.
  ///
  /// - Parameter tags: the place's tags, as ``Tags/json``.
  package init(tags: UnsafeBufferPointer<UInt8>, coordinate: Coordinate) {
    let tags = HoursTags(tags)
    let zone = tags.zoneRules ?? PositionZones.rules(of: PositionZones.number(at: coordinate))
    text = tags.hours.flatMap(HoursTags.text)
    holidayCode = tags.holidayCode(in: zone, region: HolidayRegions.number(at: coordinate))
    do throws(HoursError) {
      expression = try text.map { text throws(HoursError) in try HoursExpression(text: text) }
    } catch {
      (expression, self.error) = (nil, error)
    }
    let holidays = expression?.usesPublicHolidays == true ? holidayCode.flatMap { HolidayCalendar(code: $0) } : nil
    context = HoursContext(zone: zone, holidays: holidays ?? .none, position: coordinate)
  }

  package init(_ point: PointOfInterest) {
    var json = point.draft.tags.json
    let coordinate = point.draft.coordinate
    self = json.withUTF8 { PlaceHours(tags: $0, coordinate: coordinate) }
  }

  /// Returns the instant of a time, in seconds since 1970-01-01T00:00:00Z.
  package func instant(of time: PointQuery.Opening.Time) -> Int64 {
    switch time {
    case .instant(let minutes): Int64(minutes) * 60
    case .local(let minutes): context.zone.instant(ofLocalSeconds: Int64(minutes) * 60)
    }
  }

  /// Returns an instant as the place's clock shows it.
  package func text(ofInstant instant: Int64) -> String {
    RFC3339.text(secondsSinceEpoch: instant, offsetSeconds: context.zone.offset(at: instant).seconds)
  }

  /// Returns the date of the place's calendar at an instant.
  package func date(at instant: Int64) -> CivilDate {
    let local = instant + Int64(context.zone.offset(at: instant).seconds)
    return CivilDate(daysSinceEpoch: Int((Double(local) / 86_400).rounded(.down)))
  }

  /// Returns the instant at which a day of the place's calendar ends.
  package func instant(ofMidnightAfter date: CivilDate) -> Int64 {
    context.zone.instant(ofLocalSeconds: Int64(date.daysSinceEpoch + 1) * 86_400)
  }

  /// Returns the intervals of some days of the place's calendar, without gaps; none if the hours are unknown.
  package func intervals(from date: CivilDate, days: Int) -> [HoursInterval] {
    expression?.intervals(from: date, days: days, in: context) ?? []
  }

  /// The number of changes of the state after which the next opening is not looked for any more.
  private static let maximumChanges = 16

  /// Returns the state at an instant, and the instant at which it ends; `Int64.max` if it does not.
  package func state(at instant: Int64) -> (state: PlaceState, end: Int64) {
    var place = PlaceState(state: .unknown, timeZone: context.zone.name)
    guard let expression else { return (place, .max) }
    var interval = expression.interval(at: instant, in: context)
    let end = interval.end
    place.state = PlaceState.State(interval.state)
    if interval.state == .open {
      if interval.end < .max, interval.endsWithChange { place.openUntil = text(ofInstant: interval.end) }
      return (place, end)
    }
    for _ in 0..<Self.maximumChanges where interval.end < .max {
      interval = expression.interval(at: interval.end, in: context)
      guard interval.state == .open else { continue }
      place.opensAt = text(ofInstant: interval.start)
      break
    }
    return (place, end)
  }
}

/// The state of a place by its opening hours, as responses have it.
public struct PlaceState: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case open, closed, unknown
  }

  public package(set) var state: State

  /// The time at which an open place stops to be; `nil` if that is not known.
  @ComparedByBytes public package(set) var openUntil: String?

  /// The time at which a place opens that is not open; `nil` if that is not known.
  @ComparedByBytes public package(set) var opensAt: String?

  /// The name of the time zone.
  @ComparedByBytes public private(set) var timeZone: String

  init(state: State, timeZone: String) {
    self.state = state
    self.timeZone = timeZone
  }
}

extension PlaceState.State {
  package init(_ state: HoursState) {
    self =
      switch state {
      case .open: .open
      case .closed: .closed
      case .unknown: .unknown
      }
  }
}
