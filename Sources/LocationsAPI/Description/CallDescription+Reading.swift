import JSONText
import NIOHTTP1
import PointFormats

extension [MediaDescription] {
  /// The representations of a list of places.
  static let places: [MediaDescription] = [
    .init(.json, Schema(.array(of: .component("Place"))), example: [Examples.found]),
    .init(.geoJSON, .component("FeatureCollection"), example: Examples.collection),
    .init(.geoJSONSequence, Schema(.string, "Features (RFC 8142)."), example: Examples.sequence),
    .init(.csv, Schema(.string, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
  ]

  /// The representations of one place.
  static let place: [MediaDescription] = [
    .init(.json, .component("Place"), example: Examples.place),
    .init(.geoJSON, .component("Feature"), example: Examples.feature),
    .init(.geoJSONSequence, Schema(.string, "One Feature (RFC 8142)."), example: Examples.sequence),
    .init(.csv, Schema(.string, "A header row and a row (RFC 4180)."), example: Examples.csv),
  ]

  /// A representation as JSON.
  static func json(_ schema: Schema, example: JSONValue? = nil) -> [MediaDescription] {
    [.init(.json, schema, example: example)]
  }
}

extension [HeaderDescription] {
  /// The fields of a list that can be revalidated.
  static let list = [HeaderDescription.entityTag, .lastModified] + HeaderDescription.caching + [.age]
}

extension ParameterDescription {
  fileprivate static let fieldsOfOne = ParameterDescription(
    "Fields of the place, separated by commas; all of its own by default.", Parameter.fields.description.schema)
}

extension CallDescription {
  static let reading: [CallDescription] = [
    CallDescription(
      method: .GET, path: "/locations", id: "listLocations", group: .search, summary: "List places",
      description:
        "The places that match all filters: with `q` the best match first, else with a position the nearest first, with a"
        + " route in the order along it, else by id. With `q` a position without `radius` makes matches near it rank higher. A `Link` leads to the next"
        + " page.",
      parameters: [
        "fields": .fields(
          Parameter.fields.description.description + " `label`, `score` and `match` need `q`.",
          additional: [.label, .score, .match])
      ],
      requestHeaders: HeaderDescription.revalidation + [.acceptLanguage],
      responses: [
        .init(200, "A page of places.", headers: .list + [.link, .contentLanguage], media: .places),
        .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union(ProblemDescription.filter)),
    CallDescription(
      method: .POST, path: "/locations/search", id: "searchLocations", group: .search,
      summary: "List places by the conditions of a body",
      description:
        "The places that `GET /locations` has for the members of the body, for conditions that are too long for an"
        + " address. A `Link` leads to the next page: the same body is sent there. A `filter`, `within` or `route` that is"
        + " a text has at most 32 KiB; one that is an object is limited by the size of the body and, like a text, by"
        + " 10,000 vertices.",
      requestHeaders: [.minimumPosition, .acceptLanguage],
      body: BodyDescription(
        description: "The conditions.", media: [.init("application/json", .component("Search"))]),
      responses: [
        .init(
          200, "A page of places.", headers: HeaderDescription.caching + [.link, .contentLanguage, .age],
          media: .places)
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union(ProblemDescription.filter).union(ProblemDescription.query)),
    CallDescription(
      method: .GET, path: "/locations/{id}", id: "getLocation", group: .search, summary: "Get a place",
      description: "With `lang` the entity tag is weak, and `If-Match` does not accept it.",
      parameters: ["fields": .fieldsOfOne],
      requestHeaders: [.ifNoneMatch, .minimumPosition],
      responses: [
        .init(
          200, "The place.", headers: [.entityTag.required] + HeaderDescription.caching + [.age, .contentLanguage],
          media: .place),
        .notModified([.entityTag.required] + HeaderDescription.caching),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union([.notFound])),
    CallDescription(
      method: .GET, path: "/locations/check", id: "checkLocation", group: .search,
      summary: "Check whether there is a place at a position",
      description: "The nearest place within the radius, if there is one.",
      parameters: [
        "lat": Parameter.latitude.description.required, "long": Parameter.longitude.description.required,
        "radius": .init(
          Parameter.radius.description.description,
          Schema(.number, nil, ["minimum": 0, "default": .number("\(CheckRoute.defaultRadiusMetres)")], example: 50)),
        "f": .format([.json]),
      ],
      requestHeaders: HeaderDescription.revalidation,
      responses: [
        .init(
          200, "Whether there is one, and the nearest.", headers: .list + [.contentLanguage],
          media: .json(.component("CheckResult"))),
        .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)),
    CallDescription(
      method: .GET, path: "/locations/featured", id: "getFeaturedLocation", group: .search,
      summary: "Get the featured place",
      description: "A new one every 10 seconds, the same on every instance.",
      requestHeaders: [.minimumPosition],
      responses: [
        .init(200, "The place.", headers: HeaderDescription.caching + [.age, .contentLanguage], media: .place)
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union([.notFound])),
    CallDescription(
      method: .GET, path: "/categories", id: "listCategories", group: .search, summary: "List the categories",
      description: "The number of places of each category, most frequent first.",
      parameters: ["f": .format([.json])],
      requestHeaders: HeaderDescription.revalidation,
      responses: [
        .init(200, "The categories.", headers: .list, media: .json(Schema(.array(of: .component("CategoryCount"))))),
        .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)),
    CallDescription(
      method: .GET, path: "/sources", id: "listSources", group: .search, summary: "List the data sets",
      description: "Where places come from, with licence and attribution.",
      parameters: ["f": .format([.json])],
      requestHeaders: [.minimumPosition],
      responses: [
        .init(
          200, "The data sets.", headers: HeaderDescription.caching + [.age],
          media: .json(Schema(.array(of: .component("DataSource")))))
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)),
  ]
}
