package import Points
import Testing

/// A behaviour that every store must have; ``all`` of them are the contract.
///
/// A store's tests check each behaviour with a function that creates a store:
///
///     @Test(arguments: PointStoreContract.all)
///     func contractIsKept(_ behaviour: PointStoreContract) async throws {
///       try await behaviour.check { rows in … }
///     }
///
/// The contract doesn't depend on how a store assigns ids or shuffle keys.
package struct PointStoreContract: Sendable {
  /// A function that creates a store with the given places.
  package typealias MakeStore = @Sendable ([ImportRow]) async throws -> any PointStore

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
    nearness + boxes + categories + counts + sources + paging + longTags + lookUps + imports
}

extension PointStoreContract: CustomTestStringConvertible {
  /// The behaviour, for the report of a test.
  package var testDescription: String { behaviour }
}
