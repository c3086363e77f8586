import Basics

/// The header of a CSV file: the meaning of its columns.
struct CSVHeader {
  /// The meaning of a column.
  enum Column {
    case field(PointField)
    case tag(key: String)
    /// The column that the options name for the `sourceId`.
    case key
    /// A point as well-known text.
    case geometry
  }

  /// The columns, from the left.
  let columns: [Column]

  /// Creates a header from the names of the columns.
  ///
  /// - Throws: ``FormatError`` that names the column that has no name, stands twice or is missing.
  init(_ names: [String], options: RowOptions) throws(FormatError) {
    var columns: [Column] = []
    var seen: [ExactText: String] = [:]
    var fields: Set<PointField> = []
    let lowercased = names.map { $0.lowercased() }
    // A file that has coordinates of its own keeps the text as a tag.
    let hasCoordinates = names.contains { PointField(column: $0) == .latitude }
    let geometry = hasCoordinates ? nil : lowercased.firstIndex(of: "wkt")
    if geometry != nil { fields = [.latitude, .longitude] }
    for (index, name) in names.enumerated() {
      if index == geometry {
        columns.append(.geometry)
        continue
      }
      guard !name.isEmpty else { throw FormatError(reason: "column \(index + 1) of the header has no name") }
      if options.idField.hasSameBytes(as: name) {
        guard seen.updateValue(name, forKey: ExactText("column \(name)")) == nil else {
          throw FormatError(reason: "the header has the column '\(name.prefix(40))' twice")
        }
        columns.append(.key)
        continue
      }
      let field = PointField(column: name)
      let meaning = field.flatMap { $0 == .serviceMade ? nil : "field \($0)" } ?? "column \(name)"
      if let other = seen.updateValue(name, forKey: ExactText(meaning)) {
        throw FormatError(
          reason: "the header has the column '\(name.prefix(40))' twice"
            + (other.hasSameBytes(as: name) ? "" : ", as '\(other)' too")
        )
      }
      if let field {
        columns.append(.field(field))
        fields.insert(field)
      } else if options.unknownFields == .reject {
        throw FormatError(
          reason: "the header has the column '\(name.prefix(40))', which is not a field of a place")
      } else {
        columns.append(.tag(key: name))
      }
    }
    for (field, name) in [(PointField.name, "name"), (.latitude, "lat"), (.longitude, "long")]
    where !fields.contains(field) {
      throw FormatError(reason: "the header has no column '\(name)'; it has \(Self.list(names))")
    }
    if let idField = options.idField, !names.contains(where: { $0.hasSameBytes(as: idField) }) {
      throw FormatError(reason: "the header has no column '\(idField.prefix(40))'; it has \(Self.list(names))")
    }
    if options.source != nil, options.idField == nil, fields.isDisjoint(with: [.id, .sourceID]) {
      throw FormatError(
        reason: "the header has no column 'id' or 'sourceId' whose values could be the sourceId, and idField "
          + "(--id-field) names no other; it has \(Self.list(names))")
    }
    self.columns = columns
  }

  private static func list(_ names: [String]) -> String {
    let shown = names.prefix(20).map { "'\($0.prefix(40))'" }.joined(separator: ", ")
    let more = names.count > 20 ? " and \(names.count - 20) more" : ""
    return shown + more
  }
}
