package import APIDescription
package import Basics
import CQL2
package import Geo
package import HTTPServer
import NIOCore
import NIOHTTP1
package import Points
import VectorTiles

/// The arguments that determine the places of a tile and their attributes.
package struct TileArguments {
  package var filters: PointQuery
  package let text: ExactText?
  package let tags: [ExactText]

  /// The areas of the request; `nil` if it needs none.
  let areas: RequestAreas?

  /// A Boolean value that indicates whether any place can match.
  package var canMatch = true

  /// A part of entity tags that identifies the categories of a collection; empty for all places.
  package var variant = ""

  /// A Boolean value that indicates whether the tile may be kept: one of all places, without tags.
  var areCacheable: Bool {
    text == nil && tags.isEmpty && variant.isEmpty && filters == PointQuery(timeLimit: filters.timeLimit)
  }

  init(filters: PointQuery, text: ExactText?, tags: [ExactText], areas: RequestAreas?) {
    self.areas = areas
    self.filters = filters
    self.text = text
    self.tags = tags
  }
}

/// The responses with vector tiles, whatever their paths.
///
/// The entity tag is made of the version of the places of the tile, whatever filters there are: a change elsewhere
/// leaves it valid, and the tile is not drawn for a client that has it. With a text it is made of that of all places,
/// because which words with typos match depends on places elsewhere. That of a tile of the places that are open now ends
/// with the time at which any place opens or closes.
package struct TileResponder: Sendable {
  package static let parameters = [Parameter].mapFilters.union([.tags])

  package static let description = ResponseDescription(
    200, "The tile.", media: [.init(VectorTile.mediaType, Schema(.string, nil, ["format": "binary"]))])

  /// Returns the descriptions of the numbers of a tile in a path.
  ///
  /// - Parameter maximumZoom: the highest zoom level.
  package static func addressParameters(
    maximumZoom: Int = TileAddress.zooms.upperBound
  ) -> KeyValuePairs<String, ParameterDescription> {
    func number(_ description: String, _ maximum: Int) -> ParameterDescription {
      .init(description, Schema(.integer, nil, ["minimum": 0, "maximum": .count(maximum)]), isRequired: true)
    }
    let greatest = 1 << maximumZoom - 1
    return [
      "z": number("Zoom level.", maximumZoom), "x": number("Column, from the west.", greatest),
      "y": number("Row, from the north.", greatest),
    ]
  }

  let service: PointsService
  package let policy: CachePolicy
  package let filtering: Filtering
  private let cache: TileCache

  private let program: ProgramTag

  /// The number of places up to which a tile is drawn on the event loop.
  private static let shortCount = 1000

  /// The estimated number of bytes of each place of a tile that is being drawn.
  private static let placeBytes = 512

  /// The estimated number of bytes of a search for the places that match a text.
  private static let textBytes = 8 << 20

  init(
    service: PointsService, policy: CachePolicy, filtering: Filtering, cache: TileCache, program: ProgramTag
  ) {
    self.service = service
    self.cache = cache
    self.policy = policy
    self.filtering = filtering
    self.program = program
  }

  /// Returns the response with a tile.
  ///
  /// - Throws: `Problem`; 404 without an address.
  package func respond(
    with tile: TileAddress?, _ arguments: TileArguments, to request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    guard let tile else { throw .noSuchTile() }
    let coding = try ContentCoding.accepted(by: request.headers)
    let snapshot = try await service.requiredSnapshot(as: .tile, for: request, text: arguments.text)
    let query = TileQuery(
      tile: tile, filters: arguments.filters, text: arguments.text, tags: arguments.tags,
      timeLimit: filtering.timeLimit)
    // `nil` without a condition, for which no tag is made.
    var known =
      policy.isOff || !request.headers.contains(name: "if-none-match")
      ? nil : request.headers.entityTags("if-none-match")
    var knownExpiry: Int64?
    if arguments.filters.opening?.isNow == true {
      let now = filtering.clock.now().minutesSinceEpoch
      if case .tags(let tags, _)? = known {
        knownExpiry = tags.lazy.compactMap { Expiry.parts(of: $0.text)?.minute }.first { $0 > now }
      }
      if knownExpiry == nil { known = nil }
    }
    let suffix = program.suffix + arguments.variant + arguments.areas.tagSuffix
    let cache = cache.isOn && arguments.areCacheable ? cache : nil
    let kept: @Sendable (TileVersions) -> HTTPResponse? = { [known, knownExpiry] versions in
      func notModified(_ version: ContentVersion?) -> HTTPResponse? {
        guard let known, let tag = version?.tag(suffix), known.matches(Expiry.tag(tag, until: knownExpiry)) else {
          return nil
        }
        return finished(HTTPResponse(status: .notModified), tag, until: knownExpiry)
      }
      if let response = notModified(versions.own) { return response }
      guard let (response, version) = cache?.response(of: tile, versions, coding) else { return nil }
      return versions.own == nil ? notModified(version) ?? response : response
    }
    guard arguments.canMatch else {
      let version = snapshot.contentVersion(of: tile)
      return kept(TileVersions(own: version, enclosing: version))
        ?? finished(HTTPResponse(contentType: VectorTile.mediaType, bytes: ByteBuffer()), version.tag(suffix))
    }
    // The version of a restricted tile is that of its bytes.
    let hasOwnVersion = arguments.text == nil || service.isRestricted
    var versions = snapshot.knownVersions(of: hasOwnVersion ? tile : .map)
    if let response = kept(versions) { return response }
    let enclosing = versions.enclosing
    var drawn = try await draw(query, of: snapshot, for: request) { version in
      hasOwnVersion && kept(TileVersions(own: version, enclosing: enclosing)) != nil
    }
    if hasOwnVersion { versions.own = drawn.version }
    if drawn.bytes == nil {
      if let response = kept(versions) { return response }
      // The cache has dropped the tile meanwhile.
      drawn = try await draw(query, of: snapshot, for: request) { _ in false }
    }
    var response = HTTPResponse(contentType: VectorTile.mediaType, bytes: ByteBuffer(bytes: drawn.bytes ?? []))
    try await ContentCoding.apply(to: &response, of: request)
    let version = hasOwnVersion ? drawn.version : snapshot.contentVersion(of: .map)
    response = finished(response, version.tag(suffix), until: drawn.expiry)
    // Empty tiles are not kept: they are cheap, and there are many.
    if version.count > 0 { cache?.insert(response, of: tile, version, enclosing: enclosing) }
    return response
  }

  private func draw(
    _ query: TileQuery, of snapshot: any IndexSnapshot, for request: HTTPRequest,
    unless isKept: @escaping @Sendable (ContentVersion) -> Bool
  ) async throws(Problem) -> (version: ContentVersion, bytes: [UInt8]?, expiry: Int64?) {
    let count = snapshot.maximumCount(of: query.tile)
    if count <= Self.shortCount, !query.filters.needsIndex, query.text == nil {
      let tile = try await request.result(
        of: service.searched(.tile, try snapshot.tile(matching: query, unless: isKept)))
      return (tile.version, tile.bytes, nil)
    }
    let reservation = try await request.reserveMemory(
      bytes: min(count, TileQuery.maximumPlaces) * Self.placeBytes + (query.text == nil ? 0 : Self.textBytes))
    defer { extendLifetime(reservation) }
    return try await request.computing { () throws(Problem) in
      let tile = try request.searchResult(
        of: service.searched(.tile, try snapshot.tile(matching: query, unless: isKept)))
      return (tile.version, tile.bytes, snapshot.expiry(of: query.filters))
    }
  }

  /// Returns a response with the fields for caches.
  ///
  /// - Parameter minute: the time at which the tile is another one, in minutes since 1970-01-01T00:00:00Z; `nil` if it
  ///   does not depend on the time.
  private func finished(_ response: HTTPResponse, _ tag: String, until minute: Int64? = nil) -> HTTPResponse {
    var response = response
    response.addCaching(by: policy, etag: policy.isOff ? nil : "W/" + Expiry.tag(tag, until: minute))
    policy.expire(&response.headers, at: minute, now: filtering.clock.now())
    return response
  }
}

extension TileAddress {
  /// Creates the address of the numbers in a path; `nil` if there is no such tile.
  package init?(zoom: String, x: String, y: String) {
    guard let zoom = Self.number(zoom), let x = Self.number(x), let y = Self.number(y) else { return nil }
    self.init(zoom: zoom, x: x, y: y)
  }

  /// Returns a number of up to eight digits without leading zeros, so that a tile has one address.
  private static func number(_ text: String) -> Int? {
    let digits = text.utf8
    guard (1...8).contains(digits.count), digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
      digits.first != UInt8(ascii: "0") || digits.count == 1
    else { return nil }
    return Int(text)
  }
}

extension Problem {
  /// Returns the problem of a path that does not name a tile.
  package static func noSuchTile(maximumZoom: Int = TileAddress.zooms.upperBound) -> Problem {
    .notFound(
      "there is no such tile: a zoom level z, from 0 to \(maximumZoom), has the columns and rows 0 to 2^z - 1")
  }
}

extension ContentVersion {
  /// Returns the entity tag of the version.
  fileprivate func tag(_ suffix: String) -> String {
    "\"t" + String(count, radix: 36) + "-" + Hexadecimal.text(high) + Hexadecimal.text(low) + suffix + "\""
  }
}

extension Parameter {
  static let tags = Parameter("tags", .list, order: 190) {
    .init(
      "Keys of tags that are attributes of the places, separated by commas.",
      Schema(
        .array(
          of: Schema(
            .string, nil,
            ["minLength": 1, "maxLength": .count(Tags.maximumKeyLength), "pattern": "^(?!(id|name|category)$)[^,]+$"])
        ),
        nil, ["minItems": 1, "maxItems": .count(TileQuery.maximumTags)], example: ["cuisine", "website"]))
  }
}

extension [Parameter] {
  /// The parameters that filter the places of a map.
  package static let mapFilters = filters.subtracting([.latitude, .longitude, .radius, .box, .route]).union(
    opening + [.text])
}

extension ParameterValues {
  package mutating func tileArguments(by filtering: Filtering) -> TileArguments {
    TileArguments(filters: filters(by: filtering), text: text(), tags: tagKeys(), areas: areas)
  }

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
        "must be 1 to \(TileQuery.maximumTags) keys of tags separated by commas, other than id, name and category, "
          + "got '\(text.prefix(50))'")
      return []
    }
    return keys
  }
}

/// A layer of vector tiles, as the descriptions of the tiles have it.
package struct TileLayer {
  /// The type of the values of an attribute.
  package enum FieldType {
    case text, number
  }

  package let id: String
  package let title: String

  /// The attributes, besides the tags that a request asks for.
  package let fields: [(name: String, type: FieldType)]

  package static let places = TileLayer(
    id: "places", title: "Places", fields: [("id", .text), ("name", .text), ("category", .text)])

  package static let clusters = TileLayer(
    id: "clusters", title: "Cells of a grid with several places",
    fields: [("cell", .text), ("count", .number), ("name", .text), ("category", .text)])
}
