public import Foundation

/// The conditions and order of a search. All conditions must hold; without any, the result is all places, ordered by
/// id.
///
/// ```swift
/// let filter = PointFilter(center: here, radiusMetres: 2000, categories: ["cafe", "bar"])
/// let favourites = PointFilter(ids: [id])
/// let stations = PointFilter(categories: ["station"], source: "osm")
/// let accessible = PointFilter(area: area, tags: ["wheelchair": ["yes", "limited"]], condition: "website IS NOT NULL")
/// ```
public struct PointFilter: Hashable, Sendable {
  /// The coordinate by whose distance the places are ordered.
  public var center: Coordinate?

  /// The maximum distance from ``center`` in metres, inclusive. It requires a center.
  public var radiusMetres: Double?

  /// The box that contains the places, edges included.
  public var box: BoundingBox?

  /// The area that contains the places.
  public var area: SearchArea?

  /// The route near which the places are, and along which they are ordered. It excludes a center.
  public var route: SearchRoute?

  /// The accepted categories, with those below them in the service's tree, and behind `!` those that are not accepted;
  /// empty for any.
  public var categories: [String]

  /// The data set that the places come from, of 1 to 200 characters.
  public var source: String?

  /// The identifier of the place in its data set, of 1 to 200 characters. It requires a source.
  public var sourceID: String?

  /// The accepted values of tags by their keys. A place has one of the values of each tag; an empty list accepts any.
  public var tags: [String: [String]]

  /// A condition on any properties.
  public var condition: PointCondition?

  /// The time at which the places are open. Exports do not take it.
  public var open: OpeningTime?

  /// A Boolean value that indicates whether places match, too, of which it is unknown whether they are ``open``.
  public var includesUnknownHours: Bool

  /// A Boolean value that indicates whether places are left out whose tags say that they are closed, for a time or for
  /// good.
  public var leavesOutClosed: Bool

  /// The ids of up to 100 places, in whose order the result is; empty for any. Those of places that do not exist are
  /// left out. It excludes a center, a route and a text, and maps and exports do not take it.
  public var ids: [UUID]

  /// Creates a filter.
  public init(
    center: Coordinate? = nil, radiusMetres: Double? = nil, box: BoundingBox? = nil, area: SearchArea? = nil,
    route: SearchRoute? = nil, categories: [String] = [], source: String? = nil, sourceID: String? = nil,
    tags: [String: [String]] = [:], condition: PointCondition? = nil, open: OpeningTime? = nil,
    includesUnknownHours: Bool = false, leavesOutClosed: Bool = false, ids: [UUID] = []
  ) {
    self.center = center
    self.radiusMetres = radiusMetres
    self.box = box
    self.area = area
    self.route = route
    self.categories = categories
    self.source = source
    self.sourceID = sourceID
    self.tags = tags
    self.condition = condition
    self.open = open
    self.includesUnknownHours = includesUnknownHours
    self.leavesOutClosed = leavesOutClosed
    self.ids = ids
  }

  /// Returns the query parameters, in a fixed order.
  ///
  /// - Throws: ``RequestError``: `radiusWithoutCenter`, `invalidRadius`, `centerWithRoute`, `sourceIDWithoutSource`,
  /// `invalidTagKeys` or `invalidCondition`.
  func parameters() throws(RequestError) -> [QueryParameter] {
    var parameters: [QueryParameter] = []
    if let center {
      guard route == nil else { throw .centerWithRoute }
      parameters.append(QueryParameter("lat", .number(center.latitude)))
      parameters.append(QueryParameter("long", .number(center.longitude)))
    }
    if let radiusMetres {
      guard center != nil else { throw .radiusWithoutCenter }
      parameters.append(try QueryParameter(radiusMetres: radiusMetres))
    }
    if let route {
      parameters.append(QueryParameter("route", .route(route)))
      parameters.append(try QueryParameter(radiusMetres: route.radiusMetres))
    }
    if let box { parameters.append(QueryParameter(box)) }
    if let area { parameters.append(QueryParameter("within", .area(area))) }
    if !categories.isEmpty { parameters.append(QueryParameter("category", .texts(categories))) }
    if let source { parameters.append(QueryParameter("source", .text(source))) }
    if let sourceID {
      guard source != nil else { throw .sourceIDWithoutSource }
      parameters.append(QueryParameter("sourceId", .text(sourceID)))
    }
    for (key, values) in tags.sorted(by: { $0.key < $1.key }) where !values.isEmpty {
      guard TagKey.isValid(key) else { throw .invalidTagKeys }
      parameters.append(QueryParameter("tag." + key, .repeated(values)))
    }
    if let condition { parameters.append(try condition.parameter()) }
    if let open {
      parameters.append(QueryParameter("open", .text(open.text)))
      if includesUnknownHours { parameters.append(QueryParameter("openUnknown", .text("include"))) }
    }
    if leavesOutClosed { parameters.append(QueryParameter("status", .text("operating"))) }
    if !ids.isEmpty { parameters.append(QueryParameter("ids", .texts(ids.map { $0.uuidString.lowercased() }))) }
    return parameters
  }

  /// Returns the query parameters of a call for maps, which has no order and thus no center, radius or route.
  ///
  /// - Parameters:
  ///   - text: the text that the places match; `nil` for any places.
  ///   - takesBox: whether the call takes a box; tiles have boxes of their own.
  /// - Throws: ``RequestError/unsupportedFilter`` if there is such a condition, ``RequestError/invalidText``, and the
  /// errors of ``parameters()``.
  func mapParameters(matching text: String?, takesBox: Bool = true) throws(RequestError) -> [QueryParameter] {
    guard center == nil, radiusMetres == nil, route == nil, ids.isEmpty, takesBox || box == nil else {
      throw .unsupportedFilter
    }
    guard let text else { return try parameters() }
    return [try QueryParameter(searchText: text)] + (try parameters())
  }
}

/// A time at which places are open.
///
/// ```swift
/// let cafes = try await waymark.places(PointFilter(center: here, categories: ["cafe"], open: .now)).firstPage()
/// print(cafes.first?.opening?.text() ?? "")
/// ```
public enum OpeningTime: Hashable, Sendable {
  /// The time of the request.
  case now
  /// A moment, to the minute.
  case at(Date)

  /// The text of the parameter.
  var text: String {
    switch self {
    case .now: "now"
    case .at(let date):
      RFC3339.text(of: Date(timeIntervalSince1970: (date.timeIntervalSince1970 / 60).rounded(.down) * 60))
    }
  }
}

/// The keys of tags in parameters.
enum TagKey {
  /// Returns whether a place may have a tag with the key.
  static func isValid(_ key: String) -> Bool {
    (1...200).contains(key.unicodeScalars.count) && !key.unicodeScalars.contains("\0")
  }

  /// Returns whether the keys are valid in a list, whose elements have commas between.
  static func areValid(_ keys: [String], maximumCount: Int) -> Bool {
    keys.count <= maximumCount && keys.allSatisfy { isValid($0) && !$0.utf8.contains(UInt8(ascii: ",")) }
  }
}
