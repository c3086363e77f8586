import Basics
import Foundation
import Hosting
import JSONText
import Points
import ServerFeatures

/// A follower of the data sets and the named areas of a server.
///
/// The order of its steps makes each of them repeatable: the ids of new areas are kept first, then the areas are applied,
/// then the entity tag of all is.
struct AreaFollower {
  /// The contents of the file.
  private struct State: Codable {
    /// The entity tag of the areas that the copy has; `nil` if it may lack some.
    var tag: String?
    /// The ids of the areas that came from the server.
    var ids: Set<String> = []
    /// The names of the data sets that came from the server.
    var sources: Set<String> = []
  }

  /// The time after which the data sets and the areas are compared again.
  private static let interval = Duration.seconds(30)

  /// The time after which areas without an entity tag are copied again.
  private static let untaggedInterval = Duration.seconds(600)

  private let server: FollowedServer
  private let copy: any FollowCopy
  private let path: String?
  private var state = State()

  /// The data sets that the copy has from this process.
  private var registered: [DataSource]?

  /// The names of the sources of places, of which the server's data sets were read after the places.
  private var knownSources: Set<ExactText> = []
  private var lastTime: ContinuousClock.Instant?
  private var lastCopy: ContinuousClock.Instant?
  private var (wasAnew, copiesAnew) = (false, false)

  /// Creates a follower.
  ///
  /// - Parameter path: the path of the file of the areas; `nil` to keep nothing beyond the process.
  /// - Throws: ``FollowError``.
  init(server: FollowedServer, copy: any FollowCopy, path: String?) throws(FollowError) {
    (self.server, self.copy, self.path) = (server, copy, path)
    guard let path, let data = FileManager.default.contents(atPath: path) else { return }
    guard let state = try? JSONDecoder().decode(State.self, from: data) else {
      throw .damaged("'\(path)' is not a file of areas of waymark follow")
    }
    self.state = state
  }

  /// Copies the data sets and the areas that have changed, if the last time is long enough ago.
  ///
  /// - Parameter anew: a Boolean value that indicates whether the copy may lack what it had.
  mutating func follow(anew: Bool) async throws {
    if anew, !wasAnew { (copiesAnew, registered, lastTime) = (true, nil, nil) }
    wasAnew = anew
    if let lastTime, ContinuousClock.now - lastTime < Self.interval { return }
    try await followSources()
    if copy.hasAreas { try await followAreas() }
    (lastTime, copiesAnew) = (ContinuousClock.now, false)
  }

  // MARK: Data sets

  /// Copies the data sets if places have a source that was not seen before.
  mutating func followSources(of changes: [FollowedChange]) async throws {
    let new = Set(changes.lazy.compactMap(\.source)).subtracting(knownSources)
    guard !new.isEmpty else { return }
    try await followSources()
    knownSources.formUnion(new)
  }

  private mutating func followSources() async throws {
    let sources = try await server.sources()
    let names = Set(sources.map(\.name))
    let changed = sources.filter { registered?.contains($0) != true }
    if !changed.isEmpty {
      if !state.sources.isSuperset(of: names) {
        state.sources.formUnion(names)
        try await write()
      }
      try await copy.register(changed)
    }
    registered = sources
    for name in state.sources.subtracting(names) where try await copy.removeSource(named: name) {
      state.sources.remove(name)
      try await write()
    }
  }

  // MARK: Areas

  private mutating func followAreas() async throws {
    let known = copiesAnew ? nil : state.tag
    guard let tag = try await server.areasTag(known: known) else { return }
    if tag.isEmpty, known == tag, let lastCopy, ContinuousClock.now - lastCopy < Self.untaggedInterval { return }
    var superfluous = state.ids
    var taken: [AreaRow] = []
    var count = 0
    try await server.exportAreas { rows in
      let ids = Set(rows.compactMap { $0.id?.description })
      superfluous.subtract(ids)
      count += ids.count
      if !state.ids.isSuperset(of: ids) {
        state.ids.formUnion(ids)
        try await write()
      }
      if !rows.isEmpty { taken += try await copy.apply(rows) }
    }
    try await copy.deleteAreas(superfluous.compactMap { PointID($0) })
    if !taken.isEmpty { taken = try await copy.apply(taken) }
    if !taken.isEmpty {
      // Areas that have exchanged their origins.
      try await copy.deleteAreas(taken.compactMap(\.id))
      taken = try await copy.apply(taken)
    }
    if !taken.isEmpty {
      StandardError.warn("\(taken.count) areas were not copied: other areas have their source and sourceId")
    }
    state.ids.subtract(superfluous)
    state.tag = tag
    lastCopy = ContinuousClock.now
    try await write()
    let deleted = superfluous.isEmpty ? "" : ", \(superfluous.count) deleted"
    if count > 0 || !superfluous.isEmpty {
      StandardError.write(Array("waymark: \(count - taken.count) areas copied\(deleted)\n".utf8))
    }
  }

  private func write() async throws {
    guard let path else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let file = try ExportFile(path: path, isPrivate: true)
    try file.write(Array(try encoder.encode(state)) + [UInt8(ascii: "\n")])
    try file.finish()
  }
}

extension FollowedChange {
  /// The source of the place; `nil` if it has none, or does not exist.
  fileprivate var source: ExactText? {
    guard let place else { return nil }
    return place.withUnsafeBufferPointer { place in
      var reader = JSONReader(place)
      do throws(JSONError) {
        try reader.enterObject()
        while let name = try reader.nextMember() {
          if name.isEqual(to: "source"), try reader.nextKind() == .string {
            return ExactText(try reader.string(of: try reader.readString()))
          }
          try reader.skipValue()
        }
      } catch {
        return nil
      }
      return nil
    }
  }
}
