import Basics
public import JSONText
public import Points

/// One place described by one JSON text, as a client sends it: the fields are those of ``PointParser``'s rows.
///
/// `version`, `createdAt`, `updatedAt` and `distance`, which the service sets, are ignored, so that a place can be sent
/// back as it was received; any other member that is no field is an error, which finds misspelt names.
public struct PointDocument: Hashable, Sendable {
  /// The form of a document.
  public enum Form: Sendable {
    /// An object of its fields.
    case object
    /// A GeoJSON Feature of a Point.
    case feature
  }

  /// The reason why a text describes no place.
  public enum Failure: Error, Hashable, Sendable {
    /// The text is not JSON.
    case malformed(JSONError)
    /// The place breaks a rule.
    case invalid(InvalidPoint)
  }

  /// The id in the text, if any.
  public let id: PointID?

  /// A Boolean value that indicates whether a Feature has an id that is no UUID.
  public let hasForeignID: Bool

  /// The fields that a client may set.
  public let draft: PointDraft

  /// Creates a document from a text. Linear in its length.
  ///
  /// - Throws: ``Failure``, with every rule that is broken.
  public init(_ text: some Collection<UInt8>, form: Form = .object) throws(Failure) {
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
