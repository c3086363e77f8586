/// A state of all the places of a store, by a name that no other state of them has.
///
/// Two versions with the same token mean the same places, down to their fields: nothing was written, or only what was
/// undone before anyone could see it. It does not hold the other way round: a store may change the token although no
/// place changed.
///
/// Who reads a version *before* a search may say of the answer that it is of that version. If the places changed in
/// between, the answer is newer than its name, and the name is never given again: asked later whether that version is
/// still the current one, the store says no. A stale answer is never confirmed.
public struct DataVersion: Hashable, Sendable {
  /// The name: letters, digits and hyphens.
  public let token: String

  /// What told the version: where a store has several servers, which may be behind one another, an answer is only of
  /// the version that the same source told before and still speaks for after the search.
  public let source: UInt64

  /// When the places became what they are, by a clock that never goes back while the source lives; `nil` where the store
  /// has no such clock.
  public let changedAt: Timestamp?

  /// A Boolean value that indicates whether this was the version of the places at the moment when it was told, and not
  /// that of a while ago.
  public let isCurrent: Bool

  /// Creates a version.
  public init(token: String, source: UInt64 = 0, changedAt: Timestamp? = nil, isCurrent: Bool = true) {
    self.token = token
    self.source = source
    self.changedAt = changedAt
    self.isCurrent = isCurrent
  }
}
