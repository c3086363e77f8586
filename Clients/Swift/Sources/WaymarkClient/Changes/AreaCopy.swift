public import Foundation
public import Observation

/// A model with a copy of the places that match a filter, on the device: it is filled once, follows the changes, and
/// answers searches without a network.
///
/// ```swift
/// let copy = AreaCopy(of: PointFilter(box: box), waymark: waymark, file: fileURL)
/// let following = Task { try await copy.follow() }
/// print(copy.places(near: here, category: "cafe").map(\.name))
/// following.cancel()
/// ```
///
/// The copy is one file, which is replaced atomically. It has the position of the changes up to which it is complete, so
/// that it loads only what has changed since, however long the app was away. Use one copy for a file at a time. All
/// places are in memory; a search looks at each of them, which suits some tens of thousands.
@MainActor
@Observable
public final class AreaCopy {
  /// The first line of the file.
  private struct Header: Codable {
    /// The filter, as a query.
    var query: String
    var position: String
  }

  /// The time in seconds between two replacements of the file while places change.
  private static let savingInterval: TimeInterval = 10

  /// The number of places; `nil` before the copy has been read or filled for the first time.
  public private(set) var count: Int?

  private var places: [UUID: PointOfInterest] = [:]
  @ObservationIgnored private var position: String?
  @ObservationIgnored private var savedAt = Date.distantPast
  @ObservationIgnored private let filter: PointFilter
  @ObservationIgnored private let waymark: Waymark
  @ObservationIgnored private let file: URL

  /// Creates the model. It reads nothing before ``follow()``.
  ///
  /// - Parameters:
  ///   - filter: the conditions, as ``Waymark/changes(matching:since:)`` takes them.
  ///   - waymark: the client.
  ///   - file: the file of the copy; its folder exists.
  public init(of filter: PointFilter, waymark: Waymark, file: URL) {
    self.filter = filter
    self.waymark = waymark
    self.file = file
  }

  /// Returns the places of the copy that match, the nearest first where there is a coordinate, otherwise by name.
  ///
  /// ```swift
  /// let museums = copy.places(near: here, matching: "mus", category: "museum", limit: 5)
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate that the places have a distance from.
  ///   - text: the beginning of a word of the name, in any case and without regard to accents; empty for any name.
  ///   - category: the category itself, without those below it; `nil` for any.
  ///   - limit: the maximum number of places.
  public func places(
    near coordinate: Coordinate? = nil, matching text: String = "", category: String? = nil, limit: Int = 20
  ) -> [PointOfInterest] {
    let prefix = text.folded
    var found = places.values.filter { place in
      (category == nil || place.category == category) && (prefix.isEmpty || place.name.hasWord(startingWith: prefix))
    }
    if let coordinate {
      found = found.compactMap { place in
        guard let distance = place.coordinate?.distanceMetres(to: coordinate) else { return nil }
        var place = place
        place.distanceMetres = distance
        return place
      }
    }
    return Array(found.sorted { $0.order < $1.order }.prefix(max(0, limit)))
  }

  /// Reads the copy, fills it if there is none, and follows the changes until the task is cancelled. Without a network
  /// it waits for one.
  ///
  /// - Throws: ``RequestError``, ``WaymarkError`` if the service denies the request, or `CocoaError` if the file can't be
  ///   written.
  public func follow() async throws {
    if count == nil { await read() }
    var retrying = Retrying(random: waymark.configuration.random)
    while !Task.isCancelled {
      do {
        if position == nil { try await fill() }
        retrying.reset()
        try await apply(waymark.changes(matching: filter, since: position))
      } catch is CancellationError {
        break
      } catch {
        let delay = try retrying.delay(after: error)
        try? await waymark.configuration.clock.sleep(for: delay)
      }
    }
    if position != nil { try save() }
  }

  /// Applies changes until there are none, or the places must be loaded again.
  private func apply(_ changes: AsyncThrowingStream<PlaceChange, any Error>) async throws {
    for try await change in changes {
      switch change {
      case .place(let place): places[place.id] = place
      case .removed(let id): places[id] = nil
      case .position(let next):
        position = next
        count = places.count
        if waymark.configuration.now().timeIntervalSince(savedAt) >= Self.savingInterval { try save() }
      case .reset:
        position = nil
        return
      }
    }
  }

  /// Replaces the places by those of an export.
  private func fill() async throws {
    let download = file.appendingPathExtension("export")
    defer { try? FileManager.default.removeItem(at: download) }
    let response = try await waymark.responses.exportPlaces(filter, as: .ndjson, to: download)
    guard let next = response.position else {
      throw WaymarkError.unexpectedStatus(503, requestID: response.requestID)
    }
    let found = try await Self.places(of: download)
    places = found
    position = next
    count = places.count
    try save()
  }

  // MARK: File

  private nonisolated static func places(of file: URL) async throws -> [UUID: PointOfInterest] {
    try places(in: try Data(contentsOf: file)[...])
  }

  private nonisolated static func places(in lines: Data) throws -> [UUID: PointOfInterest] {
    let decoder = JSONDecoder()
    let places = try lines.split(separator: UInt8(ascii: "\n"))
      .map { try decoder.decode(PointOfInterest.self, from: $0) }
    return Dictionary(places.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  private nonisolated static func contents(
    of file: URL
  ) async throws -> (header: Header, places: [UUID: PointOfInterest]) {
    let data = try Data(contentsOf: file)
    let end = data.firstIndex(of: UInt8(ascii: "\n")) ?? data.endIndex
    return (try JSONDecoder().decode(Header.self, from: data[..<end]), try places(in: data[end...]))
  }

  /// The filter as a query.
  private var query: String? { (try? filter.parameters())?.map(\.text).joined(separator: "&") }

  /// Reads the file. A file of another filter, or one that can't be read, counts as none.
  private func read() async {
    guard let (header, found) = try? await Self.contents(of: file), header.query == query else { return }
    places = found
    position = header.position
    count = places.count
    savedAt = waymark.configuration.now()
  }

  private func save() throws {
    guard let position, let query else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var data = try encoder.encode(Header(query: query, position: position))
    for place in places.values {
      data.append(UInt8(ascii: "\n"))
      data.append(try encoder.encode(place))
    }
    try data.write(to: file, options: .atomic)
    savedAt = waymark.configuration.now()
  }
}

extension PointOfInterest {
  /// The order of places: by distance, name and id.
  fileprivate var order: (Double, String, String) { (distanceMetres ?? 0, name, id.uuidString) }
}

extension String {
  /// The text without case and accents.
  fileprivate var folded: String { folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil) }

  fileprivate func hasWord(startingWith prefix: String) -> Bool {
    let name = folded
    return name.hasPrefix(prefix)
      || name.split { !$0.isLetter && !$0.isNumber }.contains { $0.hasPrefix(prefix) }
  }
}
