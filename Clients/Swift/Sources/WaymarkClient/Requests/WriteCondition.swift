import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The precondition of a write (RFC 9110, section 13). If it fails, the service changes nothing and responds with
/// ``ProblemDetails/Code-swift.struct/versionMismatch``.
package enum WriteCondition: Hashable, Sendable {
  /// No precondition.
  case none

  /// The place has this version, ``PointOfInterest/version``.
  case version(Int)

  /// The place does not exist; only for a replacement, which then creates it.
  case absent
}

extension URLRequest {
  /// Sets the header field for the precondition.
  mutating func setCondition(_ condition: WriteCondition) {
    switch condition {
    case .none: break
    case .version(let version): setValue(EntityTag(version: version).rawValue, forHTTPHeaderField: "If-Match")
    case .absent: setValue("*", forHTTPHeaderField: "If-None-Match")
    }
  }
}

/// An entity tag, which identifies a version of a response (RFC 9110, section 8.8.3), as in the `ETag` header, with the
/// quotation marks.
package struct EntityTag: Hashable, Sendable, RawRepresentable {
  /// The tag, for example `"3"` with the quotation marks.
  package let rawValue: String

  /// Creates a tag from a header's value.
  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Creates the tag of a place's version in JSON.
  package init(version: Int) {
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
