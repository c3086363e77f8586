public import Points
public import Testing

/// A behaviour that every store must show when it is written to; ``all`` of them together are the contract.
///
/// A store's tests run through them with a way to make a store, as they do with ``PointStoreContract``.
public struct WriteContract: Sendable {
  /// A store with all its sides.
  public typealias Store = PointStore & PointImporter & PointWriter & ChangeLog & PointExporter

  /// Makes a new store with just these places.
  public typealias MakeStore = @Sendable ([ImportRow]) async throws -> any Store

  /// What the store does.
  public let behaviour: String

  private let body: @Sendable (MakeStore) async throws -> Void

  init(_ behaviour: String, _ body: @escaping @Sendable (MakeStore) async throws -> Void) {
    self.behaviour = behaviour
    self.body = body
  }

  /// Records an issue for whatever a store does otherwise.
  ///
  /// - Throws: what the store throws.
  public func check(_ makeStore: MakeStore) async throws {
    try await body(makeStore)
  }

  /// The whole contract.
  public static let all =
    creations + replacements + removals + keys + races + changeLog + bulk + importKeys + versions + growth + sources
}

extension WriteContract: CustomTestStringConvertible {
  /// The behaviour, as a test's report shows it.
  public var testDescription: String { behaviour }
}

extension Place {
  /// A place that a test makes up.
  ///
  /// - Throws: what is wrong with it.
  public static func sample(
    _ name: String,
    _ latitude: Double = 1,
    _ longitude: Double = 2,
    category: String? = nil,
    tags: KeyValuePairs<String, String> = [:],
    sourceID: String? = nil
  ) throws -> Place {
    try ImportRow.sample(
      name,
      latitude,
      longitude,
      category: category,
      tags: tags,
      source: sourceID == nil ? nil : "s",
      sourceID: sourceID
    ).place
  }
}

extension ChangeLog {
  /// All changes that are kept behind a sequence number, read a few at a time.
  ///
  /// - Throws: ``Points/PointStoreError``.
  public func allChanges(after start: Int64 = 0) async throws -> [PointChange] {
    var changes: [PointChange] = []
    while true {
      let next = try await self.changes(after: changes.last?.sequence ?? start, limit: 7)
      if next.isEmpty { return changes }
      changes += next
    }
  }
}
