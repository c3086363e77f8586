package import Basics
package import Geo
package import JSONText
package import Points

/// A mapping of the records of a foreign data set to places.
package protocol RecordMapping: Sendable {
  /// The layout of the data set's text files; `nil` for CSV with a header.
  var table: TableLayout? { get }

  /// Returns the fields of a table with both coordinates in one text from which positions come.
  func pairFields(among names: [String]) -> [String]

  /// The names of columns, in lower case, that the mapping has a meaning for, where other columns of a table with a header
  /// have theirs by the usual names; `nil` if they have none.
  var mentionedNames: Set<ExactText>? { get }

  /// Maps a record to a place.
  ///
  /// - Returns: the place or the reason of its rejection; `nil` for a record that the mapping does not take.
  func place(of record: ForeignRecord) -> Result<PointDraft, InvalidRecord>?
}

/// A record of a foreign data set: a JSON object, a GeoJSON Feature, or a row of CSV.
package struct ForeignRecord: Sendable {
  /// The fields: the members of the object, the Feature's properties, or the cells by their columns, which are strings.
  package var fields: [JSONValue.Member]

  /// The `id` of the Feature.
  package var id: JSONValue?

  /// The kind of the record, such as `node`; `nil` if the data set has one kind.
  package var kind: String?

  /// The geometry of the Feature.
  package var geometry: JSONValue?

  /// The position of the record, where its format determines it.
  package var coordinate: Coordinate?

  /// A Boolean value that indicates whether numbers in texts may have decimal commas.
  package var hasDecimalCommas: Bool

  /// The order of the coordinates in fields with both, as far as other rows tell it, by names in lower case.
  package var pairOrders: [ExactText: PairOrder] = [:]

  /// Opening hours in another form than a text.
  package enum Schedule: Sendable {
    /// The value of the tag `opening_hours`, and the names of the fields that it comes from.
    case hours(String, fields: [String])

    /// The first field that cannot be parsed, for a user.
    case unreadable(String)
  }

  /// The opening hours that fields of the record hold in another form than a text.
  package var schedule: Schedule?

  package init(
    fields: [JSONValue.Member], id: JSONValue? = nil, kind: String? = nil, geometry: JSONValue? = nil,
    coordinate: Coordinate? = nil, hasDecimalCommas: Bool = false
  ) {
    self.fields = fields
    self.id = id
    self.kind = kind
    self.geometry = geometry
    self.coordinate = coordinate
    self.hasDecimalCommas = hasDecimalCommas
  }
}

/// The layout of text files that differ from CSV with a header.
package struct TableLayout: Sendable {
  /// The names of the columns of a text without a header; `nil` if it has one.
  package var columns: [String]?

  /// The separator of the columns; `nil` if the header determines it.
  package var separator: UInt8?

  /// A Boolean value that indicates whether a quotation mark at the start of a cell is a character like any other.
  package var isUnquoted: Bool

  package init(columns: [String]? = nil, separator: UInt8? = nil, isUnquoted: Bool = false) {
    self.columns = columns
    self.separator = separator
    self.isUnquoted = isUnquoted
  }
}

/// The reason why a record is no valid place.
package struct InvalidRecord: Error, Sendable {
  /// The reason, for a user.
  package let detail: String

  /// The origin that the record gives; `nil` if it gives none, or an invalid one.
  package var origin: SourceReference?

  package init(detail: String) {
    self.detail = detail
  }
}

extension RecordMapping {
  package var mentionedNames: Set<ExactText>? { nil }

  /// Returns the row of a record, or its rejection; `nil` if the mapping does not take it.
  func row(_ number: Int, of record: ForeignRecord) -> PointParser.Row? {
    switch place(of: record) {
    case nil: nil
    case .success(let draft):
      .success(ImportRow(number: number, id: nil, draft: draft, unreadableHours: record.unreadableHours(beside: draft)))
    case .failure(let invalid):
      .failure(RejectedRow(number: number, detail: invalid.detail, id: nil, origin: invalid.origin))
    }
  }
}

extension ForeignRecord {
  /// Returns the hours that cannot be parsed, unless the place has the tag from elsewhere.
  fileprivate func unreadableHours(beside draft: PointDraft) -> String? {
    guard case .unreadable(let text)? = schedule else { return nil }
    var json = draft.tags.json
    return json.withUTF8 { HoursTags($0).hours } == nil ? text : nil
  }

  /// Creates the record of a JSON text: the members of an object, or the parts of a Feature.
  ///
  /// - Throws: `JSONError` when it is not JSON.
  init?(json text: UnsafeBufferPointer<UInt8>) throws(JSONError) {
    guard case .object(let members) = try JSONReader.value(of: text) else { return nil }
    let object = JSONValue.object(members)
    guard case .string("Feature")? = object["type"] else {
      self.init(fields: members)
      return
    }
    var fields: [JSONValue.Member] = []
    if case .object(let properties)? = object["properties"] { fields = properties }
    self.init(fields: fields, id: object["id"], geometry: object["geometry"])
  }
}
