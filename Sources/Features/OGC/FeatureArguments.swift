import APIDescription
import Basics
import CQL2
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import Points

/// The arguments of a request for the features of a collection.
struct FeatureArguments {
  /// The query; `nil` where no place can match.
  let query: PointQuery?

  /// A Boolean value that indicates whether the page follows another one.
  let isContinued: Bool

  /// The reference system of the response.
  let system: ReferenceSystem

  let format: FeatureFormat

  /// The fingerprint of the parameters that all pages have.
  let fingerprint: QueryFingerprint

  /// The maximum number of features of a page. A greater `limit` is this.
  static let maximumLimit = 10_000

  static let defaultLimit = 10

  /// Creates the arguments from the parameters of a request.
  ///
  /// - Throws: `Problem` 400 with every invalid parameter, or 406.
  init(
    _ values: ParameterValues, _ request: HTTPRequest, _ collection: PointCollection, _ filtering: Filtering
  ) throws(Problem) {
    var values = values
    system = values.referenceSystem(.crs)
    let boxSystem = values.referenceSystem(.boxCRS)
    let filterSystem = values.referenceSystem(.filterCRS)
    var query = PointQuery(box: values.box(in: boxSystem), timeLimit: filtering.timeLimit)
    query.limit = values.limit(atMost: Self.maximumLimit, default: Self.defaultLimit)
    let canMatch = Self.narrow(&query, to: collection, &values)
    let times = values.dateTimes()
    query.filter = values.filter(by: filtering, and: times.map { [$0.condition].compactMap(\.self) } ?? []) {
      filterSystem == .crs84 ? $0 : filterSystem.inDegrees($0)
    }
    if !collection.categories.isEmpty { values.fingerprint.add(segment: collection.id) }
    fingerprint = values.fingerprint
    query.after = values.position(in: &query)
    isContinued = query.after != nil
    try values.check()
    self.query = canMatch ? query : nil
    format = try .chosen(by: values[.format], accept: request.headers, from: FeatureFormat.ofItems)
  }

  /// Moves the conditions on categories and sources into the query, where every store evaluates them, and confines it
  /// to the collection.
  ///
  /// - Returns: `false` where no place can match.
  private static func narrow(
    _ query: inout PointQuery, to collection: PointCollection, _ values: inout ParameterValues
  ) -> Bool {
    var categories = values.takeConditions(onProperty: .category)
    if !collection.categories.isEmpty {
      categories = categories?.filter { collection.contains(category: $0) } ?? collection.categories
    }
    var texts = categories ?? []
    var source: [String]?
    if values.hasOneCondition(onProperty: .source) { source = values.takeConditions(onProperty: .source) }
    texts += source ?? []
    query.categories = Set((categories ?? []).map { ExactText($0) })
    query.source = source.map { PointQuery.Source(name: $0[0]) }
    // No place has an empty text or one with U+0000, which PostgreSQL does not accept.
    return categories?.isEmpty != true && !texts.contains { $0.isEmpty || $0.utf8.contains(0) }
  }
}

/// The times of the parameter `datetime`: a moment, or the ones between two. A date is the whole day in UTC.
struct DateTimes {
  /// The first moment in microseconds since 1970; `nil` without a bound.
  let start: Int64?

  /// The last moment; `nil` without a bound.
  let end: Int64?

  private static let microsecondsOfDay: Int64 = 86_400_000_000

  /// Creates the times of a text (OGC 17-069r4, section 7.15.4); `nil` for another one, and for an interval whose end is
  /// before its start.
  init?(_ text: String) {
    func moments(_ text: Substring) -> (first: Int64, last: Int64)? {
      if let time = RFC3339.microsecondsSinceEpoch(of: text) { return (time, time) }
      guard let date = RFC3339.date(of: text) else { return nil }
      let start = Int64(date.daysSinceEpoch) * Self.microsecondsOfDay
      return (start, start + Self.microsecondsOfDay - 1)
    }
    let ends = text.split(separator: "/", omittingEmptySubsequences: false)
    if ends.count == 1 {
      guard let moments = moments(ends[0]) else { return nil }
      (start, end) = moments
      return
    }
    guard ends.count == 2 else { return nil }
    func isOpen(_ text: Substring) -> Bool { text.isEmpty || text == ".." }
    let (first, last) = (moments(ends[0]), moments(ends[1]))
    guard first != nil || isOpen(ends[0]), last != nil || isOpen(ends[1]) else { return nil }
    if let first, let last, last.last < first.first { return nil }
    (start, end) = (first?.first, last?.last)
  }

  /// The condition on the time of the last change; `nil` for any time.
  var condition: FilterExpression? {
    let time = FilterExpression.property(ExactText(PointField.updatedAt.name))
    var conditions: [FilterExpression] = []
    if let start { conditions.append(.operation(.greaterOrEqual, [time, .timestamp(microsecondsSinceEpoch: start)])) }
    if let end { conditions.append(.operation(.lessOrEqual, [time, .timestamp(microsecondsSinceEpoch: end)])) }
    return FilterExpression(allOf: conditions)
  }
}

extension Parameter {
  static let filterCRS = Parameter("filter-crs") {
    .init(
      "Reference system of the geometries in `filter`; CRS84 without it.",
      .referenceSystem)
  }

  static let crs = Parameter("crs", mayDifferBetweenPages: true) {
    .init(
      "Reference system of the response, with its order of the axes; CRS84 without it.",
      .referenceSystem)
  }

  static let boxCRS = Parameter("bbox-crs", mayDifferBetweenPages: true) {
    .init(
      "Reference system of `bbox`, with its order of the axes; CRS84 without it.",
      .referenceSystem)
  }

  static let dateTime = Parameter("datetime") {
    .init(
      "Only places whose last change was at this time, or between two, separated by a slash, with `..` for an open end."
        + " A date is the whole day in UTC.",
      Schema(.string, nil, ["pattern": dateTimePattern], example: "2026-01-01T00:00:00Z/.."), statesStyle: true)
  }

  /// The pattern of a time or a date (RFC 3339), or of two with a slash between, one of which may be open.
  private static let dateTimePattern: JSONValue = {
    let time =
      "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?"
      + "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?"
    return .string("^(\(time)|\(time)/(\(time)|\\.\\.)?|(\\.\\.)?/\(time))$")
  }()
}

extension ParameterValues {
  /// Returns the reference system of a parameter; CRS84 where it is not given or invalid.
  fileprivate mutating func referenceSystem(_ parameter: Parameter) -> ReferenceSystem {
    choice(parameter, default: .crs84)
  }

  /// Returns the box in a reference system, of four edges or six with heights; `nil` where it is not given or invalid.
  fileprivate mutating func box(in system: ReferenceSystem) -> BoundingBox? {
    guard let text = self[.box] else { return nil }
    let numbers = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { Self.number(Substring($0)) }
    let edges = numbers.compactMap(\.self)
    guard edges.count == numbers.count, edges.count == 4 || edges.count == 6 else {
      note(.invalid, "bbox", "must be four numbers, or six with heights, got '\(text.prefix(50))'")
      return nil
    }
    let half = edges.count / 2
    guard let box = system.box(least: (edges[0], edges[1]), greatest: (edges[half], edges[half + 1])) else {
      note(.invalid, "bbox", "must not have a south greater than its north, got '\(text.prefix(50))'")
      return nil
    }
    fingerprint.add(box)
    return box
  }

  /// Returns the times of `datetime`; `nil` where it is not given or invalid.
  fileprivate mutating func dateTimes() -> DateTimes? {
    guard let text = self[.dateTime] else { return nil }
    if let times = DateTimes(text) {
      fingerprint.add(.dateTime) { hash in
        for time in [times.start, times.end] { hash.combine(UInt64(bitPattern: time ?? .min)) }
      }
      return times
    }
    note(
      .invalid, Parameter.dateTime.name,
      "must be a time such as 2026-11-21T10:15:00Z or a date, or two separated by a slash, the earlier one first, of"
        + " which one may be .., got '\(text.prefix(50))'")
    return nil
  }
}
