package import JSONText
package import PointFormats
import Points

/// The description of a parameter of the query or the path.
package struct ParameterDescription: Sendable {
  package var description: String
  package var schema: Schema
  package var isRequired = false
  /// A Boolean value that indicates whether the elements of the value are described as several parameters.
  package var isRepeatable = false
  /// A Boolean value that indicates whether `style` and `explode` are stated although the value is no array. OGC API
  /// Features prescribes it for `limit` and `datetime`, and QGIS recognises conditions on properties by it.
  package var statesStyle = false
  /// A value with which a first request is answered, of a parameter that may be left out if there are others.
  package var example: JSONValue?

  package init(
    _ description: String, _ schema: Schema, isRequired: Bool = false, isRepeatable: Bool = false,
    statesStyle: Bool = false, example: JSONValue? = nil
  ) {
    self.description = description
    self.schema = schema
    self.isRequired = isRequired
    self.isRepeatable = isRepeatable
    self.statesStyle = statesStyle
    self.example = example
  }

  /// The parameter where it must be given.
  package var required: ParameterDescription {
    var parameter = self
    parameter.isRequired = true
    return parameter
  }
}

extension Schema {
  /// Returns the schema of the names of fields.
  ///
  /// - Parameter additional: the fields that a call has beside those of every place.
  package static func fields(additional: FieldSet) -> Schema {
    Schema(.array(of: .oneOf(fieldNames(additional: additional))), nil, ["minItems": 1], example: ["id", "name"])
  }

  /// Returns the names of the fields of every place and of additional ones, and `*`.
  package static func fieldNames(additional: FieldSet) -> [String] {
    FieldSet.all.union([.attribution, additional]).fields.map(\.name) + ["*"]
  }

  /// Returns the schema of the name of a data set, or of an id in one.
  package static func origin(example: JSONValue) -> Schema {
    Schema(
      .string, nil,
      ["minLength": 1, "maxLength": .count(PointDraft.maximumOriginLength), "pattern": "^[^\\u0000]*$"],
      example: example)
  }
}

extension ParameterDescription {
  /// The id in a path.
  package static let id = ParameterDescription(
    "Id of the place.", Schema(.string, nil, ["format": "uuid"], example: .string(Examples.id)), isRequired: true)

  /// The fields of a call that has some beside those of every place.
  package static func fields(_ description: String, additional: FieldSet) -> ParameterDescription {
    .init(description, .fields(additional: additional))
  }

  /// The maximum number of places of a call with other limits than those of lists.
  package static func limit(_ limits: ClosedRange<Int>, default fallback: Int) -> ParameterDescription {
    .init(
      "Maximum number of elements.",
      Schema(
        .integer, nil,
        ["minimum": .count(limits.lowerBound), "maximum": .count(limits.upperBound), "default": .count(fallback)]))
  }
}

extension Schema {
  /// Returns the schema of a name that an import gives to its rows.
  package static func rowOption(example: JSONValue) -> Schema {
    Schema(
      .string, nil, ["minLength": 1, "maxLength": .count(PointDraft.maximumOriginLength), "pattern": .notBlank],
      example: example)
  }
}

extension JSONValue {
  /// The pattern of texts without control characters that are not blank.
  package static let notBlank: JSONValue =
    "^[^\\u0000-\\u001F\\u007F-\\u009F]*[^\\s\\u0000-\\u001F\\u007F-\\u009F][^\\u0000-\\u001F\\u007F-\\u009F]*$"

  package static func count(_ number: Int) -> JSONValue { .number(String(number)) }

  /// The pattern of ``DataSource/isAddress(_:)``.
  package static let address: JSONValue =
    "^https?://[^\\s\\u0000-\\u001F\\u007F-\\u009F/?#][^\\s\\u0000-\\u001F\\u007F-\\u009F]*$"

  /// The pattern of texts without control characters.
  package static let noControlCharacters: JSONValue = "^[^\\u0000-\\u001F\\u007F-\\u009F]*$"
}
