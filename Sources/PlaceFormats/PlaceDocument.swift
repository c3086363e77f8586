public import JSONText
public import Points

/// One place described by one JSON text, as a client sends it: the fields are those of ``PlaceParser``'s rows.
///
/// `version`, `createdAt`, `updatedAt` and `distance`, which the service makes, are left out, so that a place can be
/// sent back as it was got; any other member that is no field is an error, which finds a misspelt one.
public struct PlaceDocument: Hashable, Sendable {
  /// How the place is described.
  public enum Form: Sendable {
    /// An object of its fields.
    case object
    /// A GeoJSON Feature of a Point.
    case feature
  }

  /// Why a text describes no place.
  public enum Failure: Error, Hashable, Sendable {
    /// It is not JSON.
    case malformed(JSONError)
    /// It breaks a rule.
    case invalid(InvalidPlace)
  }

  /// The id that the place came with, if any.
  public let id: PointID?

  /// The description.
  public let place: Place

  /// Reads a text, linear in its length.
  ///
  /// - Throws: ``Failure``, with every rule that is broken.
  public init(_ text: UnsafeBufferPointer<UInt8>, form: Form = .object) throws(Failure) {
    var decoder = JSONRowDecoder(accepts: form == .object ? .places : .features, options: .strict)
    let draft: RowDraft
    do {
      draft = try decoder.draft(of: text)
    } catch {
      throw .malformed(error)
    }
    do {
      place = try draft.place()
    } catch {
      throw .invalid(error)
    }
    id = draft.id
  }

  /// Reads a text, linear in its length.
  ///
  /// - Throws: ``Failure``, with every rule that is broken.
  public init(_ text: some Collection<UInt8>, form: Form = .object) throws(Failure) {
    self = try Array(text).withUnsafeBufferPointer { bytes in
      Result { () throws(Failure) in try PlaceDocument(bytes, form: form) }
    }.get()
  }
}
