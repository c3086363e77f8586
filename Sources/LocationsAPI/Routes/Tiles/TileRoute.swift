import Basics
import CQL2
import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import Points
import VectorTiles

/// `GET /tiles/{z}/{x}/{y}.mvt`: a vector tile of the places that match, or of clusters of them.
///
/// The entity tag is made of the version of the places of the tile, whatever filters there are: a change elsewhere
/// leaves it valid, and the tile is not drawn for a client that has it.
struct TileRoute: RouteHandler {
  static let parameters = Set<Parameter>.mapFilters.union([.tags])

  let service: PointsService
  let policy: CachePolicy
  let filtering: Filtering
  let clusterMaximumZoom: Int

  /// The part of entity tags that stands for what else than the places and the address determines a tile.
  private let programTag: String

  /// The number of places up to which a tile is drawn on the event loop.
  private static let shortCount = 1000

  /// The estimated number of bytes of each place of a tile that is being drawn.
  private static let placeBytes = 512

  /// Creates a route.
  ///
  /// - Parameter version: the version of the program.
  init(service: PointsService, policy: CachePolicy, filtering: Filtering, clusterMaximumZoom: Int, version: String) {
    self.service = service
    self.policy = policy
    self.filtering = filtering
    self.clusterMaximumZoom = clusterMaximumZoom
    var hash = FNV1a()
    hash.combine(bytes: "\(version) \(clusterMaximumZoom) \(filtering.typesOfTags)".utf8)
    programTag = String(hash.value & 0xFFFF_FFFF, radix: 36)
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.parameters)
    let filters = values.filters(by: filtering)
    let tags = values.tagKeys()
    try values.check()
    let path = request.pathParameters
    guard let tile = TileAddress(zoom: path["z"], x: path["x"], y: path["y"]) else {
      throw .notFound("there is no such tile: a zoom level z, from 0 to 22, has the columns and rows 0 to 2^z - 1")
    }
    let snapshot = try await service.mapSnapshot(for: request)
    let version = snapshot.contentVersion(of: tile)
    let tag = "\"\(version.text)-\(programTag)\""
    if !policy.isOff, EntityTag.matches(tag, ifNoneMatch: request.headers.entityTags("if-none-match")) {
      return HTTPResponse(status: .notModified, headers: headers(tag))
    }
    let query = TileQuery(tile: tile, filters: filters, tags: tags, clusterMaximumZoom: clusterMaximumZoom)
    let bytes = try await draw(query, version, of: snapshot, for: request)
    var response = HTTPResponse(contentType: VectorTile.mediaType, bytes: bytes)
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(contentsOf: headers(tag))
    return response
  }

  private func draw(
    _ query: TileQuery, _ version: ContentVersion, of snapshot: any MapSnapshot, for request: HTTPRequest
  ) async throws(Problem) -> [UInt8] {
    if version.count == 0 { return [] }
    if version.count <= Self.shortCount, query.filters.timeLimit == nil {
      return try await request.reportingStoreErrors { () throws(PointStoreError) in
        try snapshot.tile(matching: query)
      }
    }
    let reservation = try await request.reserveMemory(
      bytes: min(version.count, TileQuery.maximumPlaces) * Self.placeBytes)
    defer { extendLifetime(reservation) }
    return try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await besideEventLoop { () throws(PointStoreError) in try snapshot.tile(matching: query) }
    }
  }

  private func headers(_ tag: String) -> HTTPHeaders {
    var headers: HTTPHeaders = ["cache-control": policy.cacheControl, "vary": policy.vary]
    if !policy.isOff { headers.add(name: "etag", value: "W/\(tag)") }
    return headers
  }
}

extension PointsService {
  /// Returns the places of the moment for a map.
  ///
  /// - Throws: `Problem` 501 where there is no index, or that of the store's error.
  func mapSnapshot(for request: HTTPRequest) async throws(Problem) -> any MapSnapshot {
    try await request.reportingStoreErrors { () throws(PointStoreError) in
      guard let mapStore else { throw .indexRequired }
      return try await mapStore.mapSnapshot()
    }
  }
}

extension TileAddress {
  /// Creates the address of the numbers in a path; `nil` where there is no such tile.
  init?(zoom: String, x: String, y: String) {
    guard let zoom = Self.number(zoom), let x = Self.number(x), let y = Self.number(y) else { return nil }
    self.init(zoom: zoom, x: x, y: y)
  }

  /// Returns a number of up to eight digits without leading zeros, so that a tile has one address.
  private static func number(_ text: String) -> Int? {
    guard text.utf8.count <= 8, let number = Int(text), "\(number)".utf8.elementsEqual(text.utf8) else { return nil }
    return number
  }
}

extension ContentVersion {
  /// The version as letters and digits.
  fileprivate var text: String {
    "t" + String(count, radix: 36) + "-" + Hexadecimal.encode(high) + Hexadecimal.encode(low)
  }
}

extension Hexadecimal {
  fileprivate static func encode(_ number: UInt64) -> String {
    encode(withUnsafeBytes(of: number.bigEndian) { Array($0) })
  }
}

extension Set<Parameter> {
  /// The parameters that filter the places of a map.
  static let mapFilters: Set = [.category, .source, .sourceID, .filter, .filterLanguage, .within]
}

extension ParameterValues {
  /// Returns the keys of `tags`; none where it is not given or invalid.
  mutating func tagKeys() -> [ExactText] {
    guard let text = self[.tags] else { return [] }
    var keys: [ExactText] = []
    for key in Self.list(text).map({ ExactText(String($0)) }) where !keys.contains(key) { keys.append(key) }
    let own = ["id", "name", "category"].map { ExactText($0) }
    let length = Tags.maximumKeyLength
    guard (1...TileQuery.maximumTags).contains(keys.count),
      keys.allSatisfy({ (1...length).contains($0.text.unicodeScalars.count) && !own.contains($0) })
    else {
      note(
        .invalid, Parameter.tags.name,
        "must be 1 to \(TileQuery.maximumTags) keys of tags with commas between, other than id, name and category, "
          + "got '\(text.prefix(50))'")
      return []
    }
    return keys
  }

  /// Returns a zoom level.
  mutating func zoom() -> Int {
    guard let text = self[.zoom] else {
      note(.missing, Parameter.zoom.name, "must be given")
      return 0
    }
    guard text.utf8.count <= 2, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
      let zoom = Int(text), TileAddress.zooms.contains(zoom)
    else {
      note(.invalid, Parameter.zoom.name, "must be an integer from 0 to 22, got '\(text.prefix(50))'")
      return 0
    }
    return zoom
  }

  /// Returns the facets of `by`.
  mutating func facets() -> [FacetQuery.Facet] {
    guard let text = self[.facets] else {
      note(.missing, Parameter.facets.name, "must be given")
      return []
    }
    var facets: [FacetQuery.Facet] = []
    for name in Self.list(text).map({ String($0) }) {
      if name.utf8.elementsEqual("category".utf8) {
        facets.append(.category)
      } else if let key = Queryables.tagKey(ofProperty: name),
        key.unicodeScalars.count <= Tags.maximumKeyLength
      {
        facets.append(.tag(ExactText(key)))
      } else {
        note(
          .invalid, Parameter.facets.name,
          "must be category and tag.KEY for keys of tags, with commas between, got '\(name.prefix(50))'")
        return []
      }
    }
    guard facets.count <= FacetQuery.maximumFacets, Set(facets).count == facets.count else {
      note(.invalid, Parameter.facets.name, "must be up to \(FacetQuery.maximumFacets) different names")
      return []
    }
    return facets
  }
}
