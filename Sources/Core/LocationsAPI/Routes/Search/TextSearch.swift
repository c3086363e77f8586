import APIDescription
package import Basics
import Geo
import HTTPServer
import NIOHTTP1
import PointDetails
import PointFormats
import Points
import SearchWords

/// The arguments that only a search for a text has.
struct TextArguments: Hashable {
  /// The orders of the matches, by the values of `sort`.
  enum Sort: String, CaseIterable {
    case relevance
    case distance
  }

  /// The text, with at least one word.
  let text: ExactText

  /// A Boolean value that indicates whether the text is still being typed.
  let isIncomplete: Bool

  let sort: Sort

  /// A Boolean value that indicates whether the request has the order.
  let isSortGiven: Bool

  /// The position near which matches rank higher.
  let bias: LocationBias?

  /// The readings of the text by which some of its words name an area.
  let areaReadings: [TextQuery.AreaReading]

  /// The readings of the text as places near another one.
  let nearReadings: [NearReading]

  /// The end of the page before.
  var after: TextQuery.Position?

  /// The place that the matches of the page before are near, if the text names one.
  var landmark: Landmark?

  /// The longest time of the search.
  let timeLimit: Duration

  /// Returns the query with the conditions and the limit of a list.
  ///
  /// - Parameter includesMatchedNames: a Boolean value that indicates whether the matched names are needed.
  func query(_ filters: PointQuery, includesMatchedNames: Bool = false) -> TextQuery {
    TextQuery(
      text: text.text, completesLastWord: isIncomplete, bias: bias, filters: filters,
      order: sort == .distance ? .distance : .relevance, limit: filters.limit, after: after,
      includesMatchedNames: includesMatchedNames, areaReadings: areaReadings, timeLimit: timeLimit)
  }
}

extension Parameter {
  package static let text = Parameter("q", order: 140) {
    .init(
      "Words of a place's names, category and address; at least one letter or digit. Spelling errors are tolerated.",
      Schema(
        .string, nil, ["minLength": 1, "maxLength": .count(TextQuery.maximumLength)], example: "winchester mystery"))
  }

  static let autocomplete = Parameter("autocomplete", .flag, order: 150) {
    .init(
      "`true` takes the last word as the beginning of a word. `false` without it. Needs `q`.",
      Schema(.boolean, nil, example: true))
  }

  static let sort = Parameter("sort", order: 160) {
    .init(
      "Order of the matches of `q`: `relevance` without it; `distance` needs `lat` and `long`. Needs `q`.",
      .textOrder)
  }
}

extension ParameterValues {
  /// Returns the text of `q`; `nil` if it is not given or invalid.
  package mutating func text() -> ExactText? {
    guard let text = self[.text] else { return nil }
    let length = text.unicodeScalars.count
    guard (1...TextQuery.maximumLength).contains(length) else {
      note(.invalid, "q", "must have 1 to \(TextQuery.maximumLength) characters, got \(length)")
      return nil
    }
    guard !NormalizedText(text).isEmpty else {
      note(.invalid, "q", "must have a letter or a digit, got '\(text.prefix(50))'")
      return nil
    }
    fingerprint.add(.text, text)
    return ExactText(text)
  }

  /// Returns the arguments of a search for a text; `nil` if `q` is not given, or something is invalid.
  ///
  /// - Parameters:
  ///   - filters: the conditions. A centre without a radius is only a bias, and is removed.
  ///   - filtering: the operator's decisions.
  ///   - isTyped: a Boolean value that indicates whether every text is still being typed.
  mutating func textArguments(
    _ filters: inout PointQuery, by filtering: Filtering, isTyped: Bool = false
  ) -> TextArguments? {
    guard has(.text) else {
      noteParametersOfTexts()
      return nil
    }
    let text = text()
    let isIncomplete = flag(.autocomplete) || isTyped
    let sort = choice(.sort, default: TextArguments.Sort.relevance)
    let center = filters.proximity?.center
    if filters.proximity?.radiusMetres == nil { filters.proximity = nil }
    if sort == .distance, !has(.latitude), !has(.longitude) {
      for name in ["lat", "long"] { note(.missing, name, "must be given for sort=distance") }
    }
    guard let text else { return nil }
    // Where an area is given, the text names none.
    let readings =
      filters.area == nil
      ? areas?.readings(of: text.text, isIncomplete: isIncomplete, near: center) ?? [] : []
    var arguments = TextArguments(
      text: text, isIncomplete: isIncomplete, sort: sort, isSortGiven: has(.sort),
      bias: center.map { LocationBias(center: $0) }, areaReadings: readings,
      nearReadings: NearWords.readings(of: text.text), after: nil, timeLimit: filtering.timeLimit)
    var query = arguments.query(filters)
    arguments.after = position { [fingerprint] cursor in
      if !arguments.nearReadings.isEmpty,
        let (position, landmark) = Cursor.nearPosition(from: cursor, in: &query, of: fingerprint),
        arguments.nearReadings.indices.contains(Int(landmark.reading))
      {
        arguments.landmark = landmark
        return position
      }
      return Cursor.position(from: cursor, in: &query, of: fingerprint)
    }
    filters.opening = query.filters.opening
    return arguments
  }

  /// Notes the parameters that are given without the `q` that they need.
  private mutating func noteParametersOfTexts() {
    if has(.autocomplete) { note(.missing, "q", "must be given if \(Parameter.autocomplete.name) is given") }
    guard let sort = self[.sort] else { return }
    guard TextArguments.Sort(rawValue: sort) != nil else {
      _ = choice(.sort, default: TextArguments.Sort.relevance)
      return
    }
    note(
      .missing, "q",
      "must be given if sort is given; without it, places are in the order of their distance from lat and long, in that"
        + " along the route, or else in that of their ids")
  }
}

extension PointOfInterest {
  /// Returns the name and the address in one line; the areas of the request complete the address.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  func label(in areas: RequestAreas?) throws(Problem) -> String {
    try draft.label(in: areas.completingAddress(of: self))
  }
}

extension [FoundPoint] {
  /// Adds the label of each place where the fields have labels. The names must be in the languages of the request.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  mutating func addLabels(in fields: FieldSet, _ areas: RequestAreas?) throws(Problem) {
    guard fields.contains(.label) else { return }
    for index in indices { self[index].label = try self[index].point.label(in: areas) }
  }
}

extension [FoundPoint] {
  /// Adds the state of each place by its opening hours where the fields have it.
  ///
  /// - Parameters:
  ///   - opening: the condition of the search, whose time is that of the states.
  ///   - clock: the time of day, which the states are of without a condition.
  /// - Returns: the minute since 1970-01-01T00:00:00Z at which a state changes first; `nil` if the fields have none, or
  ///   the time is fixed.
  mutating func addStates(
    in fields: FieldSet, at opening: PointQuery.Opening? = nil, by clock: any WallClock
  ) -> Int64? {
    guard !fields.isDisjoint(with: .opening) else { return nil }
    let time = opening?.time ?? .now(clock.now())
    var end = Int64.max
    for index in indices {
      let hours = PlaceHours(self[index].point)
      let (state, until) = hours.state(at: hours.instant(of: time))
      self[index].state = state
      end = Swift.min(end, until / 60)
    }
    return opening.map { $0.isNow && !$0.isOfFirstPage } ?? true ? end : nil
  }
}

extension Schema {
  fileprivate static let textOrder = enumeration(TextArguments.Sort.allCases.map(\.rawValue))
    .named("TextOrder", order: 770)
}
