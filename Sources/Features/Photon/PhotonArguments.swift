import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import Points
import SearchWords

/// The arguments of Photon's calls `/api`, `/structured` and `/reverse`, as its documentation describes them
/// (https://github.com/komoot/photon/blob/master/docs/api-v1.md), and of those of Nominatim, which has some of them.
struct PhotonArguments {
  /// The maximum number of places of a response; a greater `limit` counts as this one.
  static let maximumLimit = 100

  /// The default `limit` of `/api`.
  static let defaultSearchLimit = 15

  static let defaultReverseLimit = 1

  /// The services of whose APIs a call is one.
  enum Peer {
    case photon, nominatim
  }

  var values: ParameterValues
  private let peer: Peer

  /// Creates the arguments of a request. Parameters that the call does not have are ignored.
  ///
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8.
  init(_ request: HTTPRequest, allowing parameters: [Parameter], of peer: Peer = .photon) throws(Problem) {
    values = try ParameterValues(request, allowing: parameters, ignoresOthers: true)
    self.peer = peer
  }

  /// Throws a problem where there are violations. It has the message where clients of the service look for it too.
  func check() throws(Problem) {
    do throws(Problem) {
      try values.check()
    } catch {
      var problem = error
      let message = JSONValue.string(error.detail ?? error.title)
      switch peer {
      case .photon: problem.members.append(.init(name: "message", value: message))
      case .nominatim:
        let code = JSONValue.count(Int(error.status.code))
        problem.members.append(.init(name: "error", value: ["code": code, "message": message]))
      }
      throw problem
    }
  }

  // MARK: Values

  /// The texts of a search.
  enum Text {
    /// The value of `q`.
    case words(String)
    /// No `q`, but a filter by categories.
    case any
    /// A `q` without words, which nothing matches.
    case none
  }

  /// Returns the text of `q`.
  mutating func text() -> Text {
    guard let text = values[.text], !text.isEmpty else {
      if values.has(Self.include) || values.has(Self.exclude) { return .any }
      values.note(.missing, "q", "must be given for a search without include or exclude")
      return .none
    }
    return words(text, of: .text)
  }

  /// Returns the words of a text, which is the value of a parameter.
  mutating func words(_ text: String, of parameter: Parameter) -> Text {
    let length = text.unicodeScalars.count
    guard length <= TextQuery.maximumLength else {
      values.note(.invalid, parameter.name, "must have 1 to \(TextQuery.maximumLength) characters, got \(length)")
      return .none
    }
    return NormalizedText(text).isEmpty ? .none : .words(text)
  }

  /// Returns the value of a parameter that is a number, or the nearest one in a range; `nil` where it is not given or
  /// invalid.
  mutating func number(_ parameter: Parameter, clampedTo range: ClosedRange<Double>) -> Double? {
    let all = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
    return values.number(parameter, in: all, "such as \(Int(range.upperBound))").map {
      min(max($0, range.lowerBound), range.upperBound)
    }
  }

  /// Returns the maximum number of places, the nearest one from 1 to the greatest.
  mutating func limit(atMost greatest: Int, default fallback: Int) -> Int {
    guard let text = values[.limit] else { return fallback }
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    guard let number = Int(digits: isNegative ? String(text.dropFirst()) : text) else {
      values.note(.invalid, "limit", "must be an integer, got \(values.quoted(text))")
      return fallback
    }
    return isNegative ? 1 : min(max(number, 1), greatest)
  }

  /// Returns four numbers with commas between; `nil` for another text.
  static func corners(_ text: String) -> (x1: Double, y1: Double, x2: Double, y2: Double)? {
    let numbers = ParameterValues.list(text).map { ParameterValues.number($0.filter { $0 != " " }) }
    guard numbers.count == 4, let x1 = numbers[0], let y1 = numbers[1], let x2 = numbers[2], let y2 = numbers[3] else {
      return nil
    }
    return (x1, y1, x2, y2)
  }

  /// Returns the box of `bbox`; `nil` where it is not given or invalid. Its corners may be any two opposite ones. A west
  /// that is greater than the east crosses the antimeridian, unless the south is greater than the north too.
  mutating func box() -> BoundingBox? {
    guard let text = values[Self.box] else { return nil }
    if let (x1, y1, x2, y2) = Self.corners(text) {
      let isReversed = y1 > y2
      let (west, east) = isReversed ? (min(x1, x2), max(x1, x2)) : (x1, x2)
      if let box = try? BoundingBox(west: west, south: min(y1, y2), east: east, north: max(y1, y2)) { return box }
    }
    values.note(
      .invalid, Self.box.name, "must be four numbers, west,south,east,north in degrees, got \(values.quoted(text))")
    return nil
  }

  /// Returns the parts of the address of a structured search.
  mutating func address() -> [PhotonAddressPart: String] {
    var parts: [PhotonAddressPart: String] = [:]
    for part in PhotonAddressPart.allCases {
      guard let text = values[part.parameter], !text.isEmpty else { continue }
      if text.unicodeScalars.count > TextQuery.maximumLength || NormalizedText(text).isEmpty {
        values.note(
          .invalid, part.rawValue,
          "must have a letter or a digit, and at most \(TextQuery.maximumLength) characters, got \(values.quoted(text))"
        )
      } else {
        parts[part] = text
      }
    }
    if parts.isEmpty, !values.has(Self.country), values.areValid {
      let names = PhotonAddressPart.allCases.map(\.rawValue).joined(separator: ", ")
      values.note(.missing, "city", "or another part of an address must be given: countrycode, \(names)")
    }
    return parts
  }

  /// Returns the coordinate of `lat` and `lon`; `nil` where neither is given or one is invalid.
  ///
  /// - Parameter purpose: the purpose for which it is required; `nil` where it is optional.
  mutating func center(requiredFor purpose: String? = nil) -> Coordinate? {
    values.coordinate(Self.longitude, requiredFor: purpose)
  }

  /// Returns the bias of a search towards its centre.
  ///
  /// `zoom` is that of a map: each step halves the distance at which the bias is half as strong, 16 km at the default
  /// of 12. `location_bias_scale` is the part that other properties of places keep beside their nearness.
  mutating func bias() -> LocationBias? {
    let zoom = number(Self.zoom, clampedTo: 0...18) ?? 12
    let scale = number(Self.biasScale, clampedTo: 0...1) ?? 0.4
    guard let center = center() else { return nil }
    var metres = 250.0
    for _ in 0..<max(0, Int(18 - zoom)) { metres *= 2 }
    return LocationBias(center: center, scaleMetres: metres, weight: 1 - scale / 2)
  }

  mutating func radiusMetres() -> Double { (values.number(.radius, in: 0...5000) ?? 1) * 1000 }

  /// Returns the languages of `lang`, or else of `Accept-Language`. `default` stands for the places' own names.
  mutating func languages(_ headers: RequestFields) -> LanguageNegotiation {
    if values[.languages]?.hasSameBytes(as: "default") == true { return .none }
    if values[.languages]?.isEmpty == true { return LanguageNegotiation(parameter: nil, headers: headers) }
    return LanguageNegotiation(parameter: values.languages(), headers: headers)
  }

  /// Returns the conditions on tags and layers.
  mutating func filter() -> PhotonFilter {
    var filter = PhotonFilter()
    for text in values.all(Self.tag) {
      if let condition = PhotonFilter.TagCondition(text) {
        filter.tags.append(condition)
      } else {
        values.note(
          .invalid, Self.tag.name,
          "must be key:value, key or :value, with ! for an exclusion, got \(values.quoted(text))")
      }
    }
    for text in values.all(Self.layer) {
      if let layer = PhotonLayer(rawValue: text) {
        filter.layers.append(layer)
      } else {
        let names = PhotonLayer.allCases.map(\.rawValue).joined(separator: ", ")
        values.note(.invalid, Self.layer.name, "must be one of \(names), got \(values.quoted(text))")
      }
    }
    filter.countries = countries(values.all(Self.country), of: Self.country)
    filter.inclusions = categories(Self.include)
    filter.exclusions = categories(Self.exclude)
    if let text = values[Self.duplicates], !["0", "1", "true", "false"].contains(text) {
      values.note(.invalid, Self.duplicates.name, "must be 0, 1, true or false, got \(values.quoted(text))")
    }
    filter.keepsDuplicates = ["0", "false"].contains(values[Self.duplicates])
    return filter
  }

  /// Returns the codes of countries in a parameter, in upper case. Empty ones are left out.
  mutating func countries(_ codes: [String], of parameter: Parameter) -> Set<ExactText> {
    var countries: Set<ExactText> = []
    for code in codes where !code.isEmpty {
      if code.utf8.count == 2, code.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }) {
        countries.insert(ExactText(code.uppercased()))
      } else {
        values.note(.invalid, parameter.name, "must be a code of two letters (ISO 3166-1), got '\(code.prefix(50))'")
      }
    }
    return countries
  }

  /// Returns the lists of categories of a parameter.
  private mutating func categories(_ parameter: Parameter) -> [[PhotonCategory]] {
    var lists: [[PhotonCategory]] = []
    for text in values.all(parameter) {
      let list = text.split(separator: ",", omittingEmptySubsequences: false).map { PhotonCategory(String($0)) }
      if list.contains(nil) {
        values.note(
          .invalid, parameter.name,
          "must be categories of 2 to 4 labels of letters, digits, '_' and '-', such as osm.tourism.museum, got"
            + " '\(text.prefix(50))'")
      }
      lists.append(list.compactMap(\.self))
    }
    return lists
  }
}

/// The parameters of Photon's calls.
extension PhotonArguments {
  static let searchParameters = [text] + filterParameters

  static let structuredParameters = PhotonAddressPart.allCases.map(\.parameter) + filterParameters

  static let reverseParameters =
    [
      radius, withoutEffect("distance_sort"),
      position("lat", "Latitude of the position.", .latitude),
      position("lon", "Longitude of the position.", .longitude),
      limit(default: defaultReverseLimit),
    ] + sharedParameters

  private static let filterParameters =
    [
      zoom, biasScale, box, country, latitude, longitude, limit(default: defaultSearchLimit),
      withoutEffect("suggest_addresses"),
    ] + sharedParameters

  private static let sharedParameters = [languages, tag, layer, include, exclude, duplicates, withoutEffect("debug")]

  private static let text = Parameter("q") {
    .init(
      "Words of a place's names, category and address. May be left out with `include` or `exclude`.",
      Parameter.text.description.schema, example: "winchester")
  }

  private static let latitude = Parameter("lat", .number) {
    .init("Latitude of the centre of the bias. Needs `lon`.", Parameter.latitude.description.schema)
  }

  private static let longitude = Parameter("lon", .number) {
    .init("Longitude of the centre of the bias. Needs `lat`.", Parameter.longitude.description.schema)
  }

  /// Returns a number of a position that must be given.
  static func position(_ name: StaticString, _ description: String, _ number: Parameter) -> Parameter {
    Parameter(name, .number) { .init(description, number.description.schema, isRequired: true) }
  }

  private static let zoom = Parameter("zoom", .number) {
    .init(
      "Scale of the bias, as of a map: 250 m at 18, doubled with each step below. Less than 0 counts as 0, more than 18 as"
        + " 18.",
      Schema(.number, nil, ["default": 12]))
  }

  private static let biasScale = Parameter("location_bias_scale", .number) {
    .init(
      "How much other properties of places count beside their nearness: 0 to 1. Less counts as 0, more as 1.",
      Schema(.number, nil, ["default": 0.4]))
  }

  private static let box = Parameter("bbox", .numbers) {
    .init(
      "Only places in the box: west, south, east, north in degrees. With the latitudes in the other order, any two"
        + " opposite corners.",
      Parameter.box.description.schema)
  }

  private static let country = Parameter("countrycode", .values) {
    .init(
      "Only places in one of these countries: codes of ISO 3166-1 with two letters. May be repeated.",
      Schema(.array(of: Schema(.string, nil, ["pattern": "^([A-Za-z]{2})?$"])), nil, ["minItems": 1], example: ["AT"]),
      isRepeatable: true)
  }

  private static let radius = Parameter("radius", .number) {
    .init(
      "Maximum distance from the position in kilometres.",
      Schema(.number, nil, ["minimum": 0, "maximum": 5000, "default": 1]))
  }

  private static func limit(default fallback: Int) -> Parameter {
    Parameter("limit", .integer) {
      .init(
        "Maximum number of places; less than 1 counts as 1, more than \(maximumLimit) as \(maximumLimit).",
        Schema(.integer, nil, ["default": .count(fallback)]))
    }
  }

  private static let languages = Parameter("lang", .list) {
    .init(
      Parameter.languages.description.description + " `default` alone stands for the places' own names.",
      Parameter.languages.description.schema)
  }

  private static let tag = Parameter("osm_tag", .values) {
    .init(
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
  }

  private static let layer = Parameter("layer", .values) {
    .init(
      "Only places of these levels of an address. May be repeated.",
      Schema(
        .array(of: .photonLayer), nil, ["minItems": 1], example: ["house"]),
      isRepeatable: true)
  }

  private static let include = categories("include", "Only places of one of these categories.")

  private static let exclude = categories("exclude", "No places that are of all of these categories.")

  private static func categories(_ name: StaticString, _ effect: String) -> Parameter {
    Parameter(name, .values) {
      let category = #"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){1,3}"#
      return .init(
        effect + " The main tag `key=value` is `osm.key.value`; `osm.key` has all of its values. A list is separated by"
          + " commas. May be repeated; then each list counts.",
        Schema(
          .array(
            of: Schema(.string, nil, ["pattern": .string("^\(category)(,\(category))*$")])),
          nil, ["minItems": 1], example: ["osm.tourism.museum"]),
        isRepeatable: true)
    }
  }

  private static let duplicates = Parameter("dedupe") {
    .init(
      "With `0`, all streets of one name and postal code; else the first of them.", .photonSwitch)
  }

  /// Returns a parameter that is documented by its service, and means nothing here.
  static func withoutEffect(_ name: StaticString) -> Parameter {
    Parameter(name) { .init("Accepted without effect.", Schema(.string)) }
  }
}

/// The parts of an address in a structured search, except the country, from the smallest.
enum PhotonAddressPart: String, CaseIterable {
  case houseNumber = "housenumber"
  case street, district, postcode, city, county, state

  /// The parameter of the part.
  var parameter: Parameter {
    switch self {
    case .houseNumber: Self.part("housenumber", "House number.")
    case .street: Self.part("street", "Street.")
    case .district: Self.part("district", "District or suburb.")
    case .postcode: Self.part("postcode", "Postal code.")
    case .city: Self.part("city", "City.", example: "San Jose")
    case .county: Self.part("county", "County.")
    case .state: Self.part("state", "State.")
    }
  }

  private static func part(_ name: StaticString, _ description: String, example: JSONValue? = nil) -> Parameter {
    Parameter(name) {
      .init(
        description, Schema(.string, nil, ["minLength": 1, "maxLength": .count(TextQuery.maximumLength)]),
        example: example)
    }
  }
}

/// A category by which Photon filters: labels, of which the first is a group.
struct PhotonCategory: Hashable {
  private let labels: [ExactText]

  /// Creates a category of 2 to 4 labels; `nil` for another text.
  init?(_ text: String) {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard 2...4 ~= labels.count, labels.allSatisfy({ Self.isLabel(String($0)) }) else { return nil }
    self.labels = labels.map { ExactText(String($0)) }
  }

  /// Creates the category of a main tag.
  init(_ tag: PhotonPlace.MainTag) {
    let isCategory = Self.isLabel(tag.key.text) && Self.isLabel(tag.value.text)
    labels = ["osm"] + (isCategory ? [tag.key, tag.value] : ["place", "yes"])
  }

  private static func isLabel(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil) || $0 == "_" || $0 == "-"
      }
  }

  /// Returns a Boolean value that indicates whether a category is this one or below it.
  func contains(_ other: PhotonCategory) -> Bool { other.labels.starts(with: labels) }
}

/// The conditions of the parameters that filter.
struct PhotonFilter {
  /// A condition on the main tag of a place.
  struct TagCondition: Hashable {
    let key: ExactText?
    let value: ExactText?
    let isExclusion: Bool

    /// Creates a condition from `key:value`, `key`, `:value`, `!key:value`, `key:!value`, `!key`, `:!value` or
    /// `!:value`; `nil` for another form.
    init?(_ text: String) {
      var text = text[...]
      var isExclusion = false
      if text.first == "!" {
        isExclusion = true
        text = text.dropFirst()
      }
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      var value = parts.count == 2 ? parts[1] : ""
      if value.first == "!" {
        // Excluded twice is no form of Photon's.
        guard !isExclusion else { return nil }
        isExclusion = true
        value = value.dropFirst()
      }
      guard !parts[0].isEmpty || !value.isEmpty, parts.count == 1 || !value.isEmpty else { return nil }
      key = parts[0].isEmpty ? nil : ExactText(String(parts[0]))
      self.value = value.isEmpty ? nil : ExactText(String(value))
      self.isExclusion = isExclusion
    }

    /// Returns a Boolean value that indicates whether the main tag has the key and the value.
    func matches(_ tag: PhotonPlace.MainTag) -> Bool {
      (key == nil || key == tag.key) && (value == nil || value == tag.value)
    }
  }

  /// The conditions on the main tag. A place is included where one of the inclusions matches, or there are none, and no
  /// exclusion does.
  var tags: [TagCondition] = []

  /// The layers of which a place has one; empty for all.
  var layers: [PhotonLayer] = []

  /// The codes of countries of which a place is in one; empty for all.
  var countries: Set<ExactText> = []

  /// The lists of categories of which each must have one that the place is in.
  var inclusions: [[PhotonCategory]] = []

  /// The lists of categories of which none may have only such that the place is in.
  var exclusions: [[PhotonCategory]] = []

  /// The parts of the address, as they are normalized.
  var address: [PhotonAddressPart: String] = [:]

  /// The themes of which a place has one; empty for all.
  var themes: [NominatimTheme] = []

  /// The places and areas that are left out, by ``PhotonPlace/number``.
  var excludedNumbers: Set<Int64> = []

  /// The objects of OpenStreetMap that are left out, by ``PhotonPlace/object``.
  var excludedObjects: Set<ExactText> = []

  /// A Boolean value that indicates whether streets of one name and postal code all count.
  var keepsDuplicates = false

  /// A Boolean value that indicates whether every place matches.
  var isEmpty: Bool {
    tags.isEmpty && layers.isEmpty && inclusions.isEmpty && exclusions.isEmpty && !needsAddress && themes.isEmpty
      && excludedNumbers.isEmpty && excludedObjects.isEmpty
  }

  /// A Boolean value that indicates whether the areas that complete an address decide.
  var needsAddress: Bool { !countries.isEmpty || !address.isEmpty }

  /// The kinds of areas whose places satisfy the conditions that their addresses do not decide.
  var areaKinds: [AreaKind] {
    guard themes.isEmpty || themes.contains(.address) else { return [] }
    return AreaKind.allCases.filter { kind in
      PhotonLayer(kind).map { matches(PhotonPlace.mainTag(ofAreasIn: $0), in: $0) } == true
    }
  }

  /// Returns a Boolean value that indicates whether a place satisfies the conditions that its address does not decide.
  func matches(_ place: PhotonPlace) -> Bool {
    guard matches(place.mainTag, in: place.layer), !excludes(place) else { return false }
    return themes.isEmpty || !place.themes.isDisjoint(with: themes)
  }

  /// Returns a Boolean value that indicates whether a place is left out by its id.
  func excludes(_ place: PhotonPlace) -> Bool {
    excludedNumbers.contains(place.number) || place.object.map { excludedObjects.contains(ExactText($0)) } == true
  }

  /// Returns a Boolean value that indicates whether a place of a main tag and a layer satisfies the conditions on these.
  func matches(_ mainTag: PhotonPlace.MainTag, in layer: PhotonLayer) -> Bool {
    if !layers.isEmpty, !layers.contains(layer) { return false }
    let category = PhotonCategory(mainTag)
    guard inclusions.allSatisfy({ $0.contains { $0.contains(category) } }),
      !exclusions.contains(where: { $0.allSatisfy { $0.contains(category) } })
    else { return false }
    let inclusions = tags.filter { !$0.isExclusion }
    return (inclusions.isEmpty || inclusions.contains { $0.matches(mainTag) })
      && !tags.contains { $0.isExclusion && $0.matches(mainTag) }
  }

  /// Returns a Boolean value that indicates whether the address of a place, completed by areas, satisfies the other
  /// conditions.
  func matchesAddress(of place: PhotonPlace) -> Bool {
    matches(countryCode: place.countryCode) && address.allSatisfy { part, text in place.has(part, text) }
  }

  /// Returns a Boolean value that indicates whether places of a country satisfy the condition on countries.
  func matches(countryCode: String?) -> Bool {
    countries.isEmpty || countryCode.map { countries.contains(ExactText($0)) } == true
  }
}

/// The kinds of places by their level in an address, which Photon calls layers.
enum PhotonLayer: String, CaseIterable {
  case house, street, locality, district, city, county, state, country, other
}

extension PhotonLayer {
  /// The layer of a kind of areas; `nil` if it has none.
  init?(_ kind: AreaKind) {
    switch kind {
    case .country: self = .country
    case .region: self = .state
    case .city: self = .city
    case .district: self = .district
    case .postcode, .custom: return nil
    }
  }
}
