import Basics
import Foundation
import Geo
import JSONText
import OpeningHours

// opening-hours
//
// Reads a JSON object a line and prints one for each. The members "hours" is a text; "zone" the name of a time zone,
// "country" a code of a holiday calendar, "position" a latitude and a longitude, "instants" a list of seconds since
// 1970. The result has the canonical text and for each instant the state, the comment and the seconds of the next
// change of state, or the error. With "event" and "noon" instead of "hours" it is the time of the sun, with "calendar"
// the dates of a holiday calendar, with "zoneAt" or "regionAt", a latitude and a longitude, the name of the zone or the
// code of the region there. --time prints the nanoseconds that parsing and evaluating took, too. For
// scripts/conformance opening-hours.

var zones: [String: ZoneRules] = [:]
var calendars: [String: HolidayCalendar] = [:]
let isTiming = CommandLine.arguments.contains("--time")

@MainActor func zone(_ name: String) -> ZoneRules? {
  if let zone = zones[name] { return zone }
  guard let data = FileManager.default.contents(atPath: "/usr/share/zoneinfo/" + name) else { return nil }
  let zone = ZoneRules(name: name, tzif: data)
  zones[name] = zone
  return zone
}

func text(_ value: JSONValue?) -> String? {
  if case .string(let text)? = value { return text }
  return nil
}

func numbers(_ value: JSONValue?) -> [Double] {
  guard case .array(let elements)? = value else { return [] }
  return elements.compactMap { element in
    if case .number(let text) = element { return Double(text) }
    return nil
  }
}

func position(_ value: JSONValue?) -> Coordinate? {
  let numbers = numbers(value)
  return numbers.count == 2 ? try? Coordinate(latitude: numbers[0], longitude: numbers[1]) : nil
}

@MainActor func calendar(_ code: String) -> HolidayCalendar {
  if let calendar = calendars[code] { return calendar }
  let calendar = HolidayCalendar(code: code) ?? .none
  calendars[code] = calendar
  return calendar
}

func nanoseconds<Value>(_ work: () throws -> Value) rethrows -> (Value, Int) {
  let clock = ContinuousClock()
  let start = clock.now
  let value = try work()
  return (value, Int((clock.now - start) / .nanoseconds(1)))
}

@MainActor func writeStates(_ hours: String, _ request: JSONValue, to line: inout JSONWriter<[UInt8]>) {
  do {
    let (expression, parsing) = try nanoseconds { try HoursExpression(text: hours) }
    line.write(member: "text", expression.text)
    if isTiming { line.write(member: "parsing", parsing) }

    let again = try? HoursExpression(text: expression.text)
    if again != expression { line.write(member: "unstable", again?.text ?? "") }
    guard let zone = zone(text(request["zone"]) ?? "UTC") else { return line.write(member: "error", "no such zone") }
    let context = HoursContext(
      zone: zone, holidays: text(request["country"]).map(calendar) ?? .none, position: position(request["position"]))
    line.write(name: "states")
    line.beginArray()
    for instant in numbers(request["instants"]) {
      let (interval, evaluating) = nanoseconds { expression.interval(at: Int64(instant), in: context) }
      line.beginArray()
      line.write(string: "\(interval.state)")
      line.write(string: interval.comment?.text ?? "")
      if interval.endsWithChange, interval.end < .max { line.write(integer: interval.end) } else { line.writeNull() }
      if isTiming { line.write(integer: evaluating) }
      line.endArray()
    }
    line.endArray()
  } catch {
    line.write(member: "error", "\(error)")
  }
}

while let request = readLine() {
  guard let request = try? JSONReader.value(of: Data(request.utf8)) else { continue }
  var line = JSONWriter()
  line.beginObject()
  if let code = text(request["calendar"]) {
    line.write(name: "dates")
    line.beginArray()
    for date in calendar(code).dates { line.write(string: "\(date.year)-\(date.month)-\(date.day)") }
    line.endArray()
  } else if let position = position(request["zoneAt"]) {
    line.write(member: "zone", PositionZones.names[PositionZones.number(at: position)])
  } else if let position = position(request["regionAt"]) {
    line.write(member: "region", HolidayRegions.codes[HolidayRegions.number(at: position)])
  } else if let name = text(request["event"]), let event = SunEvent.allCases.first(where: { "\($0)" == name }),
    let position = position(request["position"]), let noon = numbers(request["noon"]).first
  {
    line.write(name: "instant")
    if case .at(let instant) = SunTimes.result(event, noon: Int64(noon), at: position) {
      line.write(integer: instant)
    } else {
      line.writeNull()
    }
  } else {
    writeStates(text(request["hours"]) ?? "", request, to: &line)
  }
  line.endObject()
  print(String(decoding: line.sink, as: UTF8.self))
}
