package import Points
import Testing

/// A behaviour that every store must have for writes; ``all`` of them are the contract.
///
/// A store's tests check each behaviour with a function that creates a store, as with ``PointStoreContract``.
package struct WriteContract: Sendable {
  /// A store with all its capabilities.
  package typealias Store = PointStore

  /// A function that creates a store with the given places.
  package typealias MakeStore = @Sendable ([ImportRow]) async throws -> any Store

  /// The description of the behaviour.
  package let behaviour: String

  private let body: @Sendable (MakeStore) async throws -> Void

  init(_ behaviour: String, _ body: @escaping @Sendable (MakeStore) async throws -> Void) {
    self.behaviour = behaviour
    self.body = body
  }

  /// Records an issue for each deviation of a store.
  ///
  /// - Throws: the store's errors.
  package func check(_ makeStore: MakeStore) async throws {
    try await body(makeStore)
  }

  /// The complete contract.
  package static let all =
    creations + replacements + removals + keys + races + batches + bulk + importKeys + versions + growth + sources
    + replacing + restrictedImports + edits
}

extension WriteContract: CustomTestStringConvertible {
  /// The behaviour, for the report of a test.
  package var testDescription: String { behaviour }
}

extension PointDraft {
  /// Returns a draft with sample values.
  ///
  /// - Throws: an error if it is invalid.
  package static func sample(
    _ name: String,
    _ latitude: Double = 1,
    _ longitude: Double = 2,
    category: String? = nil,
    tags: KeyValuePairs<String, String> = [:],
    sourceID: String? = nil
  ) throws -> PointDraft {
    try ImportRow.sample(
      name,
      latitude,
      longitude,
      category: category,
      tags: tags,
      source: sourceID == nil ? nil : "s",
      sourceID: sourceID
    ).draft
  }
}
