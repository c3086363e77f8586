/// The conditions and order of a search. All conditions must hold; without any, the result is all places, ordered by
/// id.
///
/// ```swift
/// let filter = PointFilter(center: here, radiusMetres: 2000, categories: ["cafe", "bar"])
/// ```
public struct PointFilter: Hashable, Sendable {
  /// The coordinate by whose distance the places are ordered.
  public var center: Coordinate?

  /// The maximum distance from ``center`` in metres, inclusive. It requires a center.
  public var radiusMetres: Double?

  /// The box that contains the places, edges included.
  public var box: BoundingBox?

  /// The accepted categories; empty for any.
  public var categories: [String]

  /// Creates a filter.
  public init(
    center: Coordinate? = nil, radiusMetres: Double? = nil, box: BoundingBox? = nil, categories: [String] = []
  ) {
    self.center = center
    self.radiusMetres = radiusMetres
    self.box = box
    self.categories = categories
  }

  /// Returns the query parameters, in a fixed order.
  ///
  /// - Throws: ``RequestError/radiusWithoutCenter`` and ``RequestError/invalidRadius``.
  func parameters() throws(RequestError) -> [QueryParameter] {
    var parameters: [QueryParameter] = []
    if let center {
      parameters.append(QueryParameter("lat", "\(center.latitude)"))
      parameters.append(QueryParameter("long", "\(center.longitude)"))
    }
    if let radiusMetres {
      guard center != nil else { throw .radiusWithoutCenter }
      parameters.append(try QueryParameter(radiusMetres: radiusMetres))
    }
    if let box {
      parameters.append(QueryParameter("bbox", [box.west, box.south, box.east, box.north].map { "\($0)" }))
    }
    if !categories.isEmpty { parameters.append(QueryParameter("category", categories)) }
    return parameters
  }
}
