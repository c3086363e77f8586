import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The effects of writes on the stored responses of a user.
///
/// A write stores the place as the response to the request for it, and a deletion an empty one. Lists are not changed:
/// when one is taken from the cache, the places in it are replaced by those that were stored after it. So a write costs
/// the same however many lists there are, any ``ResponseCache`` will do, and clients that share one see each other's
/// writes. Where the service knows more than the cache, such as the place in which list a new place belongs, lists from
/// before the write only serve as stale.
struct OwnWrites: Sendable {
  /// A place as it was last written or loaded by itself.
  struct Known: Sendable {
    /// The place; `nil` if it was deleted.
    let place: PointOfInterest?

    /// The version of the place, or the one that was deleted; `nil` if it is unknown.
    let version: Int?

    let receivedAt: Date
  }

  /// The address of a place, or of all of them, at the service.
  private struct Address {
    /// The URL without the id and the query.
    let places: String
    let id: UUID?

    init?(_ url: URL?) {
      guard let url, var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
      (parts.query, parts.fragment) = (nil, nil)
      guard let text = parts.string, let range = text.range(of: "/locations", options: .backwards) else { return nil }
      let rest = text[range.upperBound...].drop { $0 == "/" }
      places = String(text[..<range.upperBound])
      id = UUID(uuidString: String(rest))
    }
  }

  let cache: any ResponseCache
  let user: String?
  let now: @Sendable () -> Date

  private let address: Address

  /// Creates the effects on the cache of the service that a URL belongs to; `nil` if it is not about places.
  init?(cache: any ResponseCache, user: String?, url: URL?, now: @escaping @Sendable () -> Date) {
    guard let address = Address(url) else { return nil }
    self.cache = cache
    self.user = user
    self.now = now
    self.address = address
  }

  /// A Boolean value that indicates whether the URL is that of one place.
  var isOfOnePlace: Bool { address.id != nil }

  // MARK: Writing

  /// Applies a write, given its response; `nil` if its outcome is unknown.
  func apply(_ request: URLRequest, _ response: HTTPResponse?) async {
    guard let response else { return await outdate() }
    if response.isSuccess, request.httpMethod == "DELETE", let id = address.id {
      let version = request.value(forHTTPHeaderField: "If-Match").flatMap(EntityTag.init(rawValue:))
      await remove(id, version)
    } else if response.isSuccess {
      await store(request, response)
    } else if response.status == 404 || response.status == 410, let id = address.id {
      await remove(id, nil)
    } else if response.status >= 500 || response.status == 409 || response.status == 412 {
      await outdate()
    }
  }

  private func store(_ request: URLRequest, _ response: HTTPResponse) async {
    guard let place = try? JSONDecoder().decode(PointOfInterest.self, from: response.body), !place.hasFallbackID,
      request.url?.query(percentEncoded: true) == PointFields.all.parameter?.text
    else {
      // An import, for example.
      await mark(.all)
      return await outdate()
    }
    await store(
      StoredResponse(body: response.body, entityTag: response.entityTag, receivedAt: now(), maxAge: response.maxAge),
      place.id)
    await mark(.some)
  }

  /// Stores that a place does not exist.
  private func remove(_ id: UUID, _ version: EntityTag?) async {
    await store(StoredResponse(body: Data(), entityTag: version, receivedAt: now()), id)
    await mark(.some)
  }

  /// Stores that the place does not exist, which the service has told in response to a request for it.
  func removePlace() async {
    if let id = address.id { await store(StoredResponse(body: Data(), receivedAt: now()), id) }
  }

  /// Leaves the stored responses for use without a network only, since they are perhaps not current any more.
  private func outdate() async {
    await mark(.some)
    guard let id = address.id, var stored = await cache.response(for: key(of: id)) else { return }
    stored.maxAge = StoredResponse.neverFresh
    await store(stored, id)
  }

  private func store(_ response: StoredResponse, _ id: UUID) async {
    try? await cache.store(response, for: key(of: id))
  }

  // MARK: Reading

  /// Returns the time of the last write that a response to a request for the URL may lack; `nil` if there is none.
  func lastWrite() async -> Date? {
    await cache.response(for: key(of: isOfOnePlace ? .all : .some))?.receivedAt
  }

  /// Returns a value from a stored response with the places as they were last written; `nil` if it is of no use any
  /// more.
  func update<Value>(_ value: Value, receivedAt: Date) async -> (value: Value, isChanged: Bool)? {
    guard !isOfOnePlace, let places = value as? any PlaceContaining, await lastWrite() != nil else {
      return (value, false)
    }
    var known: [UUID: Known] = [:]
    for (id, version) in places.placeVersions {
      guard let place = await self.known(id) else { continue }
      let isNewer =
        if let version, let other = place.version {
          place.place == nil ? other >= version : other > version
        } else {
          place.receivedAt >= receivedAt
        }
      if isNewer { known[id] = place }
    }
    guard !known.isEmpty else { return (value, false) }
    return (places.replacingPlaces(known) as? Value).map { ($0, true) }
  }

  private func known(_ id: UUID) async -> Known? {
    guard let stored = await cache.response(for: key(of: id)) else { return nil }
    guard !stored.body.isEmpty else {
      return Known(place: nil, version: stored.entityTag?.version, receivedAt: stored.receivedAt)
    }
    guard let place = try? JSONDecoder().decode(PointOfInterest.self, from: stored.body) else { return nil }
    return Known(place: place, version: place.version, receivedAt: stored.receivedAt)
  }

  // MARK: Keys

  /// The writes whose time is stored.
  private enum Mark: String {
    /// Any write, after which lists may be outdated.
    case some = "writes"
    /// Writes of places that the response does not tell, after which all responses may be outdated.
    case all = "imports"
  }

  private func mark(_ mark: Mark) async {
    try? await cache.store(StoredResponse(body: Data(), receivedAt: now()), for: key(of: mark))
  }

  private func key(of mark: Mark) -> String { CacheKeys.prefix(ofUser: user) + address.places + " " + mark.rawValue }

  private func key(of id: UUID) -> String {
    let query = PointFields.all.parameter?.text ?? ""
    return CacheKeys.prefix(ofUser: user) + address.places + "/" + id.uuidString.lowercased() + "?" + query
  }
}

extension StoredResponse {
  /// The lifetime of a response that no policy takes for current.
  static let neverFresh: TimeInterval = -1
}

extension EntityTag {
  /// The version of the place that has the tag; `nil` for another tag.
  fileprivate var version: Int? { Int(rawValue.filter { $0 != "\"" }) }
}

/// A value of a response with places in it.
protocol PlaceContaining {
  /// The ids and, where the response has them, versions of the places.
  var placeVersions: [(id: UUID, version: Int?)] { get }

  /// Returns the value with other places; `nil` if it has no meaning without one that was deleted.
  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> Self?
}

extension PointOfInterest: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] { hasFallbackID ? [] : [(id, version)] }

  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> PointOfInterest? {
    guard let known = places[id] else { return self }
    guard var place = known.place else { return nil }
    (place.distanceMetres, place.alongMetres) = (distanceMetres, alongMetres)
    // A row without these fields must not look as if it could be written.
    if version == nil { (place.version, place.createdAt, place.updatedAt) = (nil, nil, nil) }
    if tags[Self.localNameKey] != nil {
      let language = tags.first { $0.key.hasPrefix("name:") && $0.key != Self.localNameKey && $0.value == name }?.key
      place.tags[Self.localNameKey] = place.name
      place.name = language.flatMap { place.tags[$0] } ?? place.name
    }
    return place
  }
}

extension Array: PlaceContaining where Element: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] { flatMap(\.placeVersions) }

  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> [Element]? { compactMap { $0.replacingPlaces(places) } }
}

extension PointMatch: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] { place.placeVersions }

  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> PointMatch? {
    place.replacingPlaces(places).map { PointMatch(place: $0, score: score, name: $0.name == place.name ? name : nil) }
  }
}

extension LabeledPoint: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] { place.placeVersions }

  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> LabeledPoint? {
    place.replacingPlaces(places).map { replaced in
      let rest = label.hasPrefix(place.name) ? label.dropFirst(place.name.count) : ""
      return LabeledPoint(place: replaced, label: rest.isEmpty ? replaced.name : replaced.name + rest)
    }
  }
}

extension PointCheck: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] { place?.placeVersions ?? [] }

  /// Returns `nil` if the place was deleted, because there may be another one.
  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> PointCheck? {
    guard let place else { return self }
    return place.replacingPlaces(places).map { PointCheck(isPointOfInterest: isPointOfInterest, place: $0) }
  }
}

extension SearchSuggestion: PlaceContaining {
  var placeVersions: [(id: UUID, version: Int?)] {
    guard case .place(let point) = self else { return [] }
    return point.placeVersions
  }

  func replacingPlaces(_ places: [UUID: OwnWrites.Known]) -> SearchSuggestion? {
    guard case .place(let point) = self else { return self }
    return point.replacingPlaces(places).map { .place($0) }
  }
}

extension PointFilter {
  /// Returns whether a place may match, by the conditions that can be evaluated here.
  ///
  /// - Parameter categoriesFound: categories of places that match; the service knows which are below those of the filter.
  func mayMatch(_ place: PointOfInterest, categoriesFound: Set<String?>) -> Bool {
    if let box, let coordinate = place.coordinate, !box.contains(coordinate) { return false }
    if let source, let other = place.source, source != other { return false }
    return categories.isEmpty || categoriesFound.contains(place.category)
      || place.category.map(categories.contains) ?? false
  }
}
