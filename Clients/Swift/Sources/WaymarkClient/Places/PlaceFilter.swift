/// Which places are meant, and whether they come by nearness. Every condition that is given holds for each of them;
/// without any, all places are meant, by id.
public struct PlaceFilter: Hashable, Sendable {
  /// What the places come nearest to first.
  public var center: Coordinate?

  /// How far they may be from ``center``, in metres, inclusive; only together with it.
  public var radiusMetres: Double?

  /// The box that they are in, edges included.
  public var box: BoundingBox?

  /// The categories of which they have one; empty is any.
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

  /// The parameters of the query, in the order of the service's contract.
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
