import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The precondition of a write (RFC 9110, section 13). If it fails, the service changes nothing and responds with
/// ``ProblemDetails/Code-swift.struct/versionMismatch``.
///
/// ```swift
/// let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .version(3))
/// ```
public enum WriteCondition: Hashable, Sendable {
  /// No precondition.
  case none

  /// The place has this version, ``PointOfInterest/version``.
  case version(Int)

  /// The place has this entity tag, ``APIResponse/entityTag``.
  case entityTag(EntityTag)

  /// The place exists.
  case exists

  /// The place does not exist; only for a replacement, which then creates it.
  case absent
}

extension URLRequest {
  /// Sets the header field for the precondition.
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

/// An entity tag, which identifies a version of a response (RFC 9110, section 8.8.3), as in the `ETag` header, with the
/// quotation marks.
///
/// ```swift
/// let tag = EntityTag(version: 3)
/// print(tag == EntityTag(rawValue: "\"3\""))
/// ```
public struct EntityTag: Hashable, Sendable, RawRepresentable {
  /// The tag, for example `"3"` with the quotation marks.
  public let rawValue: String

  /// Creates a tag from a header's value.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Creates the tag of a place's version in JSON.
  public init(version: Int) {
    rawValue = "\"\(version)\""
  }

  /// A Boolean value that indicates whether the tag is valid in a header: characters of RFC 9110's `etagc` in quotation
  /// marks.
  var isWellFormed: Bool {
    let opaque = rawValue.utf8.starts(with: "W/".utf8) ? rawValue.utf8.dropFirst(2) : rawValue.utf8[...]
    return opaque.count >= 2 && opaque.first == UInt8(ascii: "\"") && opaque.last == UInt8(ascii: "\"")
      && opaque.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }
  }
}
