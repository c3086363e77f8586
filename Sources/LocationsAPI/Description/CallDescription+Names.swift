import JSONText
import NIOHTTP1
import PointFormats

extension CallDescription {
  /// The problems of a call that searches for a text.
  private static let textProblems = ProblemDescription.parameters.union(ProblemDescription.store)
    .union(ProblemDescription.acceptance).union(ProblemDescription.filter)

  /// The calls that find places by their names, beside the list.
  static let names: [CallDescription] = [
    CallDescription(
      method: .GET, path: "/locations/suggest", id: "suggest", group: .search,
      summary: "Suggest categories and places for a text that is being typed",
      description: "The last word of `q` is the beginning of a word. Up to three categories come first.",
      parameters: [
        "q": Parameter.text.description.required,
        "limit": .limit(SuggestRoute.limits, default: SuggestRoute.defaultLimit),
        "f": .format([.json]),
      ],
      requestHeaders: HeaderDescription.revalidation + [.acceptLanguage],
      responses: [
        .init(
          200, "The suggestions.", headers: .list + [.contentLanguage],
          media: .json(
            Schema(.array(of: .component("Suggestion"))),
            example: [
              ["type": "category", "category": "museum", "count": 72],
              ["type": "place", "id": .string(Examples.id), "name": "Museum of Art", "category": "museum"],
            ])),
        .notModified(.list),
      ],
      problems: textProblems),
    CallDescription(
      method: .GET, path: "/locations/reverse", id: "reverse", group: .search,
      summary: "Get the nearest place with its address",
      parameters: [
        "lat": Parameter.latitude.description.required, "long": Parameter.longitude.description.required,
        "fields": .fields(
          "Fields of the place, separated by commas; those of lists and `label` by default.", additional: .label),
      ],
      requestHeaders: HeaderDescription.revalidation + [.acceptLanguage],
      responses: [
        .init(200, "The place.", headers: .list + [.contentLanguage], media: .place), .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union([.notFound])),
  ]

  static let photon: [CallDescription] = [
    CallDescription(
      method: .GET, path: "/api", id: "photonSearch", group: .photon, summary: "Search for places by name",
      description: "The last word of `q` is the beginning of a word. A text without letters and digits finds nothing.",
      parameters: [
        "q": .init("Words of a place's names, category and address.", Parameter.text.description.schema).required,
        "lat": .init("Latitude of the centre of the bias. Needs `lon`.", Parameter.latitude.description.schema),
        "lon": .init("Longitude of the centre of the bias. Needs `lat`.", Parameter.longitude.description.schema),
        "zoom": .init(
          "Scale of the bias, as of a map: 250 m at 18, doubled with each step below.",
          Schema(.number, nil, ["minimum": 0, "maximum": 24, "default": 12])),
        "location_bias_scale": .init(
          "How much other properties of places count beside their nearness.",
          Schema(.number, nil, ["minimum": 0, "maximum": 1, "default": 0.4])),
        "bbox": .init(
          "Only places in the box: west, south, east, north in degrees. South must not be greater than north.",
          Parameter.box.description.schema),
        "limit": .photonLimit(default: PhotonArguments.defaultSearchLimit), "lang": .photonLanguages,
        "osm_tag": .photonTags, "layer": .photonLayers, "dedupe": .withoutEffect, "debug": .withoutEffect,
      ],
      requestHeaders: HeaderDescription.revalidation + [.acceptLanguage],
      responses: [
        .init(
          200, "The places, the best match first.", headers: .list + [.contentLanguage],
          media: .json(.component("PhotonFeatureCollection"), example: Examples.photon)),
        .notModified(.list),
      ],
      problems: textProblems),
    CallDescription(
      method: .GET, path: "/reverse", id: "photonReverse", group: .photon, summary: "Get the nearest places",
      parameters: [
        "lat": .init("Latitude of the position.", Parameter.latitude.description.schema).required,
        "lon": .init("Longitude of the position.", Parameter.longitude.description.schema).required,
        "radius": .init(
          "Maximum distance from the position in kilometres.",
          Schema(.number, nil, ["minimum": 0, "maximum": 5000, "default": 1])),
        "limit": .photonLimit(default: PhotonArguments.defaultReverseLimit), "lang": .photonLanguages,
        "osm_tag": .photonTags, "layer": .photonLayers, "dedupe": .withoutEffect, "debug": .withoutEffect,
        "distance_sort": .withoutEffect,
      ],
      requestHeaders: HeaderDescription.revalidation + [.acceptLanguage],
      responses: [
        .init(
          200, "The places, nearest first; none is no problem.", headers: .list + [.contentLanguage],
          media: .json(.component("PhotonFeatureCollection"), example: Examples.photon)),
        .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)),
  ]
}

extension ParameterDescription {
  fileprivate static func photonLimit(default fallback: Int) -> ParameterDescription {
    .init(
      "Maximum number of places; more than \(PhotonArguments.maximumLimit) counts as \(PhotonArguments.maximumLimit).",
      Schema(.integer, nil, ["minimum": 1, "default": .count(fallback)]))
  }

  fileprivate static let photonLanguages = ParameterDescription(
    Parameter.languages.description.description + " `default` alone stands for the places' own names.",
    Parameter.languages.description.schema)

  fileprivate static let photonTags = ParameterDescription(
    "Only places whose main tag is one of these: `key:value`, `key` or `:value`. `!key:value`, `!key`, `key:!value` and"
      + " `:!value` exclude places. May be repeated.",
    Schema(
      .array(
        of: Schema(
          .string, nil,
          [
            "pattern":
              "^(([^!:][^:]*)?:(![\\s\\S]+|[^!][\\s\\S]*)|[^!:][^:]*|![^:]+|![^:]*:[^!][\\s\\S]*)$"
          ])),
      nil, ["minItems": 1], example: ["tourism:museum"]),
    isRepeatable: true)

  fileprivate static let photonLayers = ParameterDescription(
    "Only places of these levels of an address. May be repeated.",
    Schema(
      .array(of: .oneOf(PhotonLayer.allCases.map(\.rawValue))), nil, ["minItems": 1], example: ["house"]),
    isRepeatable: true)

  fileprivate static let withoutEffect = ParameterDescription(
    "Accepted without effect.", .oneOf(["0", "1", "true", "false"]))
}
