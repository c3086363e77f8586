package import Points
import Testing

/// The behaviour that every store of decisions on pairs must have.
package enum DuplicateContract {
  /// Records an issue for each deviation of two views of one store, such as two instances.
  package static func check(_ first: any DuplicateStore, _ second: any DuplicateStore) async throws {
    func pair(_ one: UInt64, _ other: UInt64) throws -> PlacePair {
      try #require(PlacePair(PointID(high: 1, low: one), PointID(high: 1, low: other)))
    }
    let (confirmed, refuted, untouched) = (try pair(1, 2), try pair(1, 3), try pair(2, 3))
    #expect(try await first.decisions().isEmpty)

    try await first.decide(.confirmed, on: confirmed)
    try await first.decide(.refuted, on: refuted)
    try await second.decide(.refuted, on: refuted)
    try await second.decide(.open, on: untouched)
    #expect(try await second.decisions() == [confirmed: .confirmed, refuted: .refuted])

    try await second.decide(.refuted, on: confirmed)
    try await first.decide(.open, on: refuted)
    #expect(try await first.decisions() == [confirmed: .refuted])
  }
}
