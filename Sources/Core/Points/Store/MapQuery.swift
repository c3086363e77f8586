public import Basics
public import Geo

/// The version of the places of a part of the map.
///
/// Two equal versions stand for the same places, down to their fields, in every process: it is made of the ids, the
/// versions and the times of the places, whatever their order. A change elsewhere leaves it as it is.
public struct ContentVersion: Hashable, Sendable {
  /// The number of places.
  public let count: Int

  /// One half of the digest of the places.
  public let high: UInt64

  /// The other half of the digest.
  public let low: UInt64

  /// The version of no places.
  public static let empty = ContentVersion(count: 0, high: 0, low: 0)

  public init(count: Int, high: UInt64, low: UInt64) {
    self.count = count
    self.high = high
    self.low = low
  }
}

/// The versions by which the places of a tile are known to be unchanged.
public struct TileVersions: Sendable {
  /// The version of the places of the tile; `nil` if it is not known.
  public var own: ContentVersion?

  /// The version of the places of a part of the map that contains the tile. While it is the same, so are the places of
  /// the tile; a change of other places of that part gives another one.
  public let enclosing: ContentVersion

  public init(own: ContentVersion?, enclosing: ContentVersion) {
    self.own = own
    self.enclosing = enclosing
  }

  /// Returns a Boolean value that indicates whether these versions and others are known to stand for the same places of
  /// the tile.
  public func haveSamePlaces(as other: TileVersions) -> Bool {
    enclosing == other.enclosing || own != nil && own == other.own
  }
}

/// A query for a vector tile.
public struct TileQuery: Hashable, Sendable {
  /// The zoom levels of tiles.
  public static let zooms = TileAddress.zooms

  /// The highest zoom level of which all tiles are clustered.
  package static let clusterMaximumZoom = 13

  /// The number of places above which a tile of any zoom level is clustered.
  public static let maximumPlaces = 10_000

  /// The binary logarithm of the number of cells along a side of a tile.
  public static let cellBits = 4

  /// The maximum number of ``tags``.
  public static let maximumTags = 20

  /// The tile.
  public let tile: TileAddress

  /// The conditions on the places; their box, proximity and page are ignored.
  public var filters: PointQuery

  /// The text that the places match, as those of a ``TextQuery`` do; `nil` for any place.
  public var text: ExactText?

  /// The keys of the tags that are attributes of the places, each once.
  public var tags: [ExactText]

  /// The longest time that the search for the text may take.
  public var timeLimit: Duration

  public init(
    tile: TileAddress, filters: PointQuery = PointQuery(), text: ExactText? = nil, tags: [ExactText] = [],
    timeLimit: Duration = .seconds(3600)
  ) {
    self.tile = tile
    self.filters = filters
    self.text = text
    self.tags = tags
    self.timeLimit = timeLimit
  }
}

/// A query for the cells of a grid.
public struct CellQuery: Hashable, Sendable {
  /// The box that the cells touch, the box of ``filters`` aside; `nil` for all cells.
  public var box: BoundingBox?

  /// The level of the grid, which has 2^level cells along a side of the map; `nil` for each place by itself.
  public var level: Int?

  /// The conditions on the places; their box, proximity and page are ignored.
  public var filters: PointQuery

  /// The text that the places match, as those of a ``TextQuery`` do; `nil` for any place.
  public var text: ExactText?

  /// The longest time that the search for the text may take.
  public var timeLimit: Duration

  public init(
    box: BoundingBox?, level: Int?, filters: PointQuery = PointQuery(), text: ExactText? = nil,
    timeLimit: Duration = .seconds(3600)
  ) {
    self.box = box
    self.level = level
    self.filters = filters
    self.text = text
    self.timeLimit = timeLimit
  }
}

/// A cell of a grid with its places, or a place by itself.
public struct MapCell: Hashable, Sendable {
  /// The level of the grid; 0 for a place by itself.
  public let level: Int

  /// The number of the cell from the west; 0 for a place by itself.
  public let x: Int

  /// The number of the cell from the north; 0 for a place by itself.
  public let y: Int

  /// The number of places, at least 1.
  public let count: Int

  /// The centre of mass in Web Mercator.
  public let center: Coordinate

  /// The id of the only place, or of a sample.
  public let id: PointID

  /// The name of that place.
  @ComparedByBytes public private(set) var name: String

  /// The most frequent category; `nil` if no place has one.
  @ComparedByBytes public private(set) var category: String?

  public init(
    level: Int, x: Int, y: Int, count: Int, center: Coordinate, id: PointID, name: String, category: String?
  ) {
    self.level = level
    self.x = x
    self.y = y
    self.count = count
    self.center = center
    self.id = id
    self.name = name
    self.category = category
  }
}

/// A query for the frequencies of values.
public struct FacetQuery: Hashable, Sendable {
  /// A property of places whose values are counted.
  public enum Facet: Hashable, Sendable {
    case category
    /// The groups of the tree of categories.
    case group
    case tag(ExactText)
    /// The elements of a tag whose value is a list.
    case elements(ofTag: ExactText)
    /// The named areas of a kind that places are in, by their ids.
    case area(AreaKind)
  }

  /// The accepted range of ``limit``.
  public static let limits = 1...1000

  /// The default of ``limit``.
  public static let defaultLimit = 20

  /// The maximum number of ``facets``.
  public static let maximumFacets = 20

  /// The properties, each once.
  public var facets: [Facet]

  /// The areas that ``Facet/area(_:)`` counts by.
  public var areas = Areas()

  /// The conditions on the places; their page is ignored.
  public var filters: PointQuery

  /// The text that the places match, as those of a ``TextQuery`` do; `nil` for any place.
  public var text: ExactText?

  /// The maximum number of values of each facet.
  public var limit: Int

  /// The longest time that the search may take.
  public var timeLimit: Duration

  public init(
    facets: [Facet], filters: PointQuery = PointQuery(), text: ExactText? = nil, limit: Int = defaultLimit,
    timeLimit: Duration = .seconds(3600)
  ) {
    self.facets = facets
    self.filters = filters
    self.text = text
    self.limit = limit
    self.timeLimit = timeLimit
  }
}

/// The frequencies of values.
public struct Facets: Hashable, Sendable {
  /// A value, or an element of lists, and the number of places that have it.
  public struct Value: Hashable, Sendable {
    /// The value.
    @ComparedByBytes public private(set) var text: String

    /// The number of places that have it.
    public let count: Int

    public init(text: String, count: Int) {
      self.text = text
      self.count = count
    }
  }

  /// The frequencies of a facet.
  public struct Counts: Hashable, Sendable {
    /// The most frequent values, most frequent first, ties by their bytes.
    public let values: [Value]

    /// The number of places without a value.
    public let missing: Int

    public init(values: [Value], missing: Int) {
      self.values = values
      self.missing = missing
    }
  }

  /// The number of places that match.
  public let count: Int

  /// The frequencies in the order of the query's facets.
  public let counts: [Counts]

  public init(count: Int, counts: [Counts]) {
    self.count = count
    self.counts = counts
  }
}
