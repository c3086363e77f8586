public import JSONText
public import Points

/// A JSON merge patch (RFC 7396) to the fields of a place.
public struct PointPatch: Sendable {
  /// The fields that a client may set, and the id, which must stay.
  private static let fields: FieldSet = [
    .id, .name, .category, .latitude, .longitude, .tags, .source, .sourceID,
  ]

  private let patch: JSONValue

  /// Creates a patch from its JSON. Fields are recognised by the same spellings as in ``PointDocument``.
  ///
  /// A field that the patch has in two spellings keeps them, so that the patched place is rejected for it.
  public init(_ patch: JSONValue) {
    guard case .object(let members) = patch else {
      self.patch = patch
      return
    }
    let fields = members.map { PointField(column: $0.name) }
    let counts = fields.reduce(into: [:]) { counts, field in counts[field, default: 0] += 1 }
    self.patch = .object(
      zip(members, fields).map { member, field in
        guard let field, let name = field.name, counts[field] == 1 else { return member }
        return .init(name: name, value: member.value)
      })
  }

  /// Returns the patched place.
  ///
  /// - Throws: ``PointDocument/Failure``, with every rule that the outcome breaks.
  public func applied(to point: PointOfInterest) throws(PointDocument.Failure) -> PointDocument {
    var text: [UInt8] = []
    PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: Self.fields, to: &text)
    let place: JSONValue
    do {
      place = try JSONReader.value(of: text)
    } catch {
      throw .malformed(error)
    }
    return try PointDocument(place.merging(patch).text)
  }
}
