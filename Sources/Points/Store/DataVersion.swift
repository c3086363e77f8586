/// The version of all places of a store: a name that no other state of them has.
///
/// Two versions with the same token mean the same places, down to their fields: nothing was written, or only what was
/// rolled back before it was visible. The converse does not hold: a store may change the token although no place
/// changed.
///
/// A caller that reads a version *before* a search may label the result with it. If the places changed in between, the
/// result is newer than its label, and the label is never used again, so that a later comparison with the current
/// version fails. A stale result is never confirmed.
public struct DataVersion: Hashable, Sendable {
  /// The name: letters, digits and hyphens.
  public let token: String

  /// The server that the version was read from. Where a store has several servers, with different lag, a result is of a
  /// version only if the same source had it before the search and still serves after it.
  public let source: UInt64

  /// The time of the last change, by a clock that never goes back while the source lives; `nil` where the store has no
  /// such clock.
  public let changedAt: Timestamp?

  /// A Boolean value that indicates whether a read between two calls that return this version has exactly its places.
  /// Otherwise, as for a version that was read before and is cached, the read may have newer ones.
  public let isExact: Bool

  public init(token: String, source: UInt64 = 0, changedAt: Timestamp? = nil, isExact: Bool = true) {
    self.token = token
    self.source = source
    self.changedAt = changedAt
    self.isExact = isExact
  }
}
