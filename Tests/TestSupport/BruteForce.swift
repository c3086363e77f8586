import CQL2
package import Geo
import Basics
import JSONText
import PointDetails
package import Points

/// A place as a record of a filter.
private struct PlaceRecord: FilterRecord {
  let point: PointOfInterest
  let tags: [PropertyFilter.Tag]

  func value(ofProperty number: Int) -> FilterValue {
    func string(_ text: String?) -> FilterValue { text.map { .string(ExactText($0)) } ?? .null }
    let coordinate = point.draft.coordinate
    switch PointField(rawValue: number) {
    case .id: return string(point.id.description)
    case .name: return string(point.draft.name)
    case .category: return string(point.draft.category)
    case .latitude: return .number(coordinate.latitude)
    case .longitude: return .number(coordinate.longitude)
    case .geometry: return .point(x: coordinate.longitude, y: coordinate.latitude)
    case .createdAt: return .timestamp(point.createdAt.microsecondsSinceEpoch)
    case .updatedAt: return .timestamp(point.updatedAt.microsecondsSinceEpoch)
    case .source: return string(point.draft.origin?.source)
    case .sourceID: return string(point.draft.origin?.sourceID)
    case .version: return .number(Double(point.version))
    case .operatingStatus: return string(OperatingStatus(of: point.draft).rawValue)
    case .distance, .along, .tags, .attribution, .openState, .openUntil, .opensAt, .timeZone, .label, .score, .match:
      return .null
    case nil:
      let tag = tags[number - PropertyFilter.firstTag]
      guard case .string(let key)? = try? JSONReader.value(of: tag.jsonKey),
        case .string(let text)? = (try? JSONReader.value(of: Array(point.draft.tags.json.utf8)))?[key]
      else { return .null }
      return FilterValue(text, as: tag.type) ?? .null
    }
  }
}

/// A reference implementation of queries, which measures, sorts and scans all places.
package struct BruteForce: Sendable {
  /// All places.
  package let points: [PointOfInterest]

  /// Creates a reference of the given places.
  package init(_ points: [PointOfInterest]) {
    self.points = points.sorted { $0.id < $1.id }
  }

  /// Returns all places in the order of queries without a centre: by id.
  package func byID() -> Ordered {
    Ordered(found: points.map { FoundPoint(point: $0, distanceMetres: nil) })
  }

  /// Returns all places in the order of queries with a centre: by distance, then id.
  package func byDistance(from center: Coordinate) -> Ordered {
    let found = points.map { point in
      FoundPoint(
        point: point,
        distanceMetres: Geodesic.distanceMetres(from: center, to: point.draft.coordinate)
      )
    }
    return Ordered(
      found: found.sorted { ($0.distanceMetres ?? 0, $0.point.id) < ($1.distanceMetres ?? 0, $1.point.id) }
    )
  }

  /// Returns the places near a route in their order along it, then by id.
  package func along(_ route: PointQuery.Route) -> Ordered {
    let found = points.compactMap { point -> FoundPoint? in
      let coordinate = point.draft.coordinate
      return route.line.nearest(to: coordinate, at: EarthCentred(coordinate), within: route.radiusMetres).map {
        FoundPoint(point: point, distanceMetres: $0.distanceMetres, alongMetres: $0.alongMetres)
      }
    }
    return Ordered(found: found.sorted { ($0.alongMetres ?? 0, $0.point.id) < ($1.alongMetres ?? 0, $1.point.id) })
  }

  /// Returns the counts of all categories, in descending order.
  package func categoryCounts() -> [CategoryCount] {
    Dictionary(grouping: points.compactMap(\.draft.category), by: \.self)
      .map { CategoryCount(category: $0.key, count: $0.value.count) }
      .sorted { left, right in
        left.count != right.count
          ? left.count > right.count
          : left.category.unicodeScalars.lexicographicallyPrecedes(right.category.unicodeScalars)
      }
  }

  /// Returns the number of places that match a query.
  package func count(matching query: PointQuery) -> Int {
    var query = query
    query.after = nil
    return (query.proximity.map { byDistance(from: $0.center) } ?? byID()).matches(of: query).count
  }

  /// Returns the result of a query.
  package func page(matching query: PointQuery) -> PointPage {
    (query.proximity.map { byDistance(from: $0.center) } ?? byID()).page(matching: query)
  }

  /// All places in an order shared by queries of one kind.
  package struct Ordered: Sendable {
    fileprivate let found: [FoundPoint]

    /// A Boolean value that indicates whether the order is that of the ids, and not by distance or along a route.
    package var isByID: Bool { found.first.map { $0.distanceMetres == nil } ?? true }

    /// Returns the result of a query with this order.
    package func page(matching query: PointQuery) -> PointPage {
      let matches = matches(of: query)
      return PointPage(points: Array(matches.prefix(query.limit)), hasMore: matches.count > query.limit)
    }

    /// Returns all matches of a query, whatever its limit.
    package func matches(of query: PointQuery) -> [FoundPoint] {
      places(of: query).filter { found in
        if let radius = query.proximity?.radiusMetres, (found.distanceMetres ?? 0) > radius { return false }
        if let box = query.box, !box.contains(found.point.draft.coordinate) { return false }
        if !query.categories.isEmpty {
          guard let category = found.point.draft.category, query.categories.contains(ExactText(category)) else {
            return false
          }
        }
        if let category = found.point.draft.category, query.excludedCategories.contains(ExactText(category)) {
          return false
        }
        if let source = query.source {
          guard let origin = found.point.draft.origin, ExactText(origin.source) == source.name else { return false }
          if let sourceID = source.sourceID, ExactText(origin.sourceID) != sourceID { return false }
        }
        if let area = query.area, !area.contains(found.point.draft.coordinate) { return false }
        if let filter = query.filter {
          guard filter.condition.matches(PlaceRecord(point: found.point, tags: filter.tags)) else { return false }
        }
        guard let after = query.after, query.ids.isEmpty else { return true }
        if query.route != nil { return (found.alongMetres ?? 0, found.point.id) > (after.distanceMetres, after.id) }
        guard query.proximity != nil else { return found.point.id > after.id }
        return (found.distanceMetres ?? 0, found.point.id) > (after.distanceMetres, after.id)
      }
    }

    /// Returns all places, or those of the query's ids after its position.
    private func places(of query: PointQuery) -> [FoundPoint] {
      if query.ids.isEmpty { return found }
      let ids = query.after.map { after in query.ids.drop { $0 != after.id }.dropFirst() } ?? query.ids[...]
      return ids.compactMap { id in found.first { $0.point.id == id } }
    }
  }
}
