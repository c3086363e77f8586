import Geo
public import Basics
import Points

/// The options for the rows of an import.
public struct RowOptions: Hashable, Sendable {
  /// The treatment of members and columns that are no field of a place.
  public enum UnknownFields: String, CaseIterable, Hashable, Sendable {
    /// They become tags.
    case tags
    /// The row is rejected; in CSV the whole text is, since it is the header that names them.
    case reject
  }

  /// The treatment of members and columns that are no field of a place.
  public var unknownFields: UnknownFields

  /// The source of the rows that do not name their own together with a `sourceId`; `nil` where there is none.
  @ComparedByBytes public private(set) var source: String?

  /// The member or column whose value is the `sourceId` under ``source``; `nil` for the Feature's `id`, or the member
  /// or column `id` or `sourceId`.
  @ComparedByBytes public private(set) var idField: String?

  /// Creates options.
  ///
  /// - Throws: ``RowOptionError`` for a source that no place can have, an `idField` that is another field of a place,
  ///   and an `idField` without a source.
  public init(
    unknownFields: UnknownFields = .tags, source: String? = nil, idField: String? = nil
  ) throws(RowOptionError) {
    if let source {
      if source.isEmpty { throw .source("must not be empty") }
      guard let coordinate = try? Coordinate(latitude: 0, longitude: 0) else { throw .source("can't be checked") }
      do {
        _ = try PointDraft(name: "-", coordinate: coordinate, source: source, sourceID: "-")
      } catch {
        throw .source(error.violations.first?.detail ?? "is invalid")
      }
    }
    switch idField.map(PointField.init(column:)) {
    case nil: self.idField = nil
    // These are the default fields.
    case .id??, .sourceID??: self.idField = nil
    case nil?: self.idField = idField
    case .some(.some): throw .idField("must not be a field of a place other than id and sourceId")
    }
    if idField != nil, source == nil { throw .idField("needs a source") }
    self.unknownFields = unknownFields
    self.source = source
  }

  private init(unknownFields: UnknownFields) {
    self.unknownFields = unknownFields
    source = nil
    idField = nil
  }

  /// The default options of an import: unknown fields are tags.
  public static let standard = RowOptions(unknownFields: .tags)

  /// The options of a single place: unknown fields are errors, which finds a misspelt one.
  static let strict = RowOptions(unknownFields: .reject)
}

/// The reason why options for the rows of an import are invalid. The text goes on from the option's name.
public enum RowOptionError: Error, Hashable, Sendable {
  /// The source is invalid.
  case source(String)
  /// The name of the field of ids is invalid.
  case idField(String)
}
