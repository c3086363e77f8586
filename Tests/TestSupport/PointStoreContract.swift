public import Points
public import Testing

/// A behaviour that every store must show; ``all`` of them together are the contract.
///
/// A store's tests run through them with a way to make a store:
///
///     @Test(arguments: PointStoreContract.all)
///     func contractIsKept(_ behaviour: PointStoreContract) async throws {
///       try await behaviour.check { rows in … }
///     }
///
/// Nothing is assumed of how a store gives ids or shuffle keys; stores are also expected to be ``Points/PointImporter``s.
public struct PointStoreContract: Sendable {
  /// Makes a new store with just these places.
  public typealias MakeStore = @Sendable ([ImportRow]) async throws -> any PointStore & PointImporter

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
    nearness + boxes + categories + sources + paging + longTags + lookUps + imports
}

extension PointStoreContract: CustomTestStringConvertible {
  /// The behaviour, as a test's report shows it.
  public var testDescription: String { behaviour }
}
