import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What must be so for a write to be made (RFC 9110, section 13). Where it is not, the service answers with
/// ``ProblemDetails/Code-swift.struct/versionMismatch``, and nothing has changed.
public enum WriteCondition: Hashable, Sendable {
  /// Nothing: the write is made to whatever is there.
  case none

  /// The place is still of this version, ``PointOfInterest/version``.
  case version(Int)

  /// The place still has this entity tag, ``APIResponse/entityTag``.
  case entityTag(EntityTag)

  /// There is a place of this id.
  case exists

  /// There is no place of this id; for a replacement alone, which then creates it.
  case absent
}

extension URLRequest {
  /// Adds the header field that the condition is sent as.
  mutating func setCondition(_ condition: WriteCondition) throws(RequestError) {
    switch condition {
    case .none: break
    case .version(let version): setValue(EntityTag(version: version).rawValue, forHTTPHeaderField: "If-Match")
    case .entityTag(let tag):
      guard tag.isWellFormed else { throw .invalidEntityTag }
      setValue(tag.rawValue, forHTTPHeaderField: "If-Match")
    case .exists: setValue("*", forHTTPHeaderField: "If-Match")
    case .absent: setValue("*", forHTTPHeaderField: "If-None-Match")
    }
  }
}
