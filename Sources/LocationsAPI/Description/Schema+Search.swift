import JSONText

extension Schema {
  /// The conditions of a search: the parameters of a list as members.
  static let search: Schema = {
    let properties = Parameter.allCases.filter { ListRoute.call.parameters.contains($0) }.map { parameter in
      Property.optional(parameter.name, schema(of: parameter))
    }
    return Schema(
      .object(properties, others: Schema(.anyOf([value, Schema(.array(of: value))]))),
      "The parameters of `GET /locations` as members. The names of others begin with `tag.`; their values are those that"
        + " the tag may have.",
      example: [
        "filter": ["op": "=", "args": [["property": "wheelchair"], "yes"]],
        "within": [
          "type": "Polygon",
          "coordinates": [[[16.3, 48.1], [16.5, 48.1], [16.4, 48.3], [16.3, 48.1]]],
        ],
        "category": ["cafe"], "limit": 10,
      ])
  }()

  private static let value = Schema(.anyOf([Schema(.string), Schema(.number), Schema(.boolean)]))

  /// Returns the schema of the member for a parameter.
  private static func schema(of parameter: Parameter) -> Schema {
    let description = parameter.description
    var schema: Schema
    switch parameter {
    case .filter:
      schema = Schema(.anyOf([Schema(.string), Schema(.object([], others: Schema(.any))), Schema(.boolean)]))
    case .within, .route: schema = Schema(.anyOf([Schema(.string), Schema(.object([], others: Schema(.any)))]))
    case .category, .fields, .languages:
      schema = Schema(.anyOf([Schema(.string), Schema(.array(of: Schema(.string)), nil, ["minItems": 1])]))
    default: schema = description.schema
    }
    schema.description = description.description
    return schema
  }
}
