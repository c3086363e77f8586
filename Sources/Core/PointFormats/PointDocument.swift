import Basics
package import JSONText
package import Points

/// One place described by one JSON text, as a client sends it: the fields are those of ``PointParser``'s rows.
///
/// `version`, `createdAt`, `updatedAt` and `distance`, which the service sets, are ignored, so that a place can be sent
/// back as it was received; any other member that is no field is an error, which finds misspelt names.
package struct PointDocument: Hashable, Sendable {
  /// The form of a document.
  package enum Form: Sendable {
    /// An object of its fields.
    case object
    /// A GeoJSON Feature of a Point.
    case feature
  }

  /// The reason why a text describes no place.
  package enum Failure: Error, Hashable, Sendable {
    /// The text is not JSON.
    case malformed(JSONError)
    /// The place breaks a rule.
    case invalid(InvalidPoint)
  }

  /// The id in the text, if any.
  package let id: PointID?

  /// A Boolean value that indicates whether a Feature has an id that is no UUID.
  package let hasForeignID: Bool

  /// The fields that a client may set.
  package let draft: PointDraft

  /// Creates a document from a text. Linear in its length.
  ///
  /// - Throws: ``Failure``, with every rule that is broken.
  package init(_ text: some Collection<UInt8>, form: Form = .object) throws(Failure) {
    var decoder = JSONRowDecoder(accepts: form == .object ? .places : .features, options: .strict)
    let draft: RowDraft
    do {
      draft = try text.withContiguousBytes { bytes throws(JSONError) in try decoder.draft(of: bytes) }
    } catch {
      throw .malformed(error)
    }
    do {
      self.draft = try draft.place()
    } catch {
      throw .invalid(error)
    }
    id = draft.id
    hasForeignID = decoder.hasForeignIDs
  }
}

/// A JSON merge patch (RFC 7396) to the fields of a place.
package struct PointPatch: Sendable {
  private let patch: JSONValue

  /// Creates a patch from its JSON. Fields are recognised by the same spellings as in ``PointDocument``.
  ///
  /// A field that the patch has in two spellings keeps them, so that the patched place is rejected for it.
  package init(_ patch: JSONValue) {
    guard case .object(let members) = patch else {
      self.patch = patch
      return
    }
    let fields = members.map { PointField(column: $0.name) }
    let counts = fields.reduce(into: [:]) { counts, field in counts[field, default: 0] += 1 }
    self.patch = .object(
      zip(members, fields).map { member, field in
        guard let field, field.isWritable, counts[field] == 1 else { return member }
        return .init(name: field.name, value: member.value)
      })
  }

  /// Returns the patched place.
  ///
  /// - Throws: ``PointDocument/Failure``, with every rule that the outcome breaks.
  package func applied(to point: PointOfInterest) throws(PointDocument.Failure) -> PointDocument {
    var text: [UInt8] = []
    PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: .writable, to: &text)
    let place: JSONValue
    do {
      place = try JSONReader.value(of: text)
    } catch {
      throw .malformed(error)
    }
    return try PointDocument(place.merging(patch).text)
  }
}
