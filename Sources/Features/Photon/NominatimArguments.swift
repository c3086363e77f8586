import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import Points
import SearchWords

/// The kinds of places and areas by which Nominatim filters.
enum NominatimFeatureType: String, CaseIterable {
  case country, state, city, settlement

  fileprivate var layers: [PhotonLayer] {
    switch self {
    case .country: [.country]
    case .state: [.state]
    case .city: [.city]
    case .settlement: [.state, .county, .city, .district, .locality]
    }
  }
}

/// The themes by which Nominatim filters, which it calls layers.
enum NominatimTheme: String, CaseIterable {
  case address, poi, railway, natural, manmade
}

/// The formats of places in Nominatim's API, without XML.
enum NominatimFormat: String, CaseIterable {
  case json, jsonv2, geojson, geocodejson
}

enum NominatimStatusFormat: String, CaseIterable {
  case text, json
}

/// The form of a response with places.
struct NominatimForm {
  let format: NominatimFormat
  let languages: LanguageNegotiation
  let hasAddress: Bool
  let hasTags: Bool
  let hasNames: Bool
  let hasPolygons: Bool
}

/// The subject of a search.
enum NominatimSearch {
  case words(String)
  /// A text that is a position.
  case position(Coordinate)
  /// An address.
  ///
  /// - Parameters:
  ///   - streets: the ways to read `street`, each as the parts of the street and the house number, in the order in which
  ///     they are tried.
  ///   - country: the name or the code of the country.
  case address(PhotonAddress, streets: [[PhotonAddressPart: String]], country: String?)
  /// A text without words.
  case nothing

  /// The text as GeocodeJSON states it.
  var text: String {
    switch self {
    case .words(let text): return text
    case .position(let center): return "\(center.latitude),\(center.longitude)"
    case .address(let address, let streets, let country):
      var parts = address.parts
      parts.merge(streets.first ?? [:]) { $1 }
      let texts = [address.amenity] + PhotonAddressPart.allCases.map { parts[$0] } + [country]
      return texts.compactMap(\.self).joined(separator: ", ")
    case .nothing: return ""
    }
  }
}

extension PhotonArguments {
  static let nominatimSearchParameters =
    [words] + addressParameters.map(\.parameter) + [amenity, countryName]
    + [nominatimLimit, countries, view, isBounded, featureType, theme, excluded, distinct] + nominatimParameters

  static let nominatimReverseParameters =
    [
      position("lat", "Latitude of the position.", .latitude),
      position("lon", "Longitude of the position.", .longitude),
      detail, theme,
    ] + nominatimParameters

  static let nominatimLookupParameters = [osmIDs] + nominatimParameters

  private static let nominatimParameters =
    [format, languageField, addressDetails, tagDetails, nameDetails, polygons]
    + [
      withoutEffect("polygon_kml"), withoutEffect("polygon_svg"), withoutEffect("polygon_text"),
      withoutEffect("polygon_threshold"), withoutEffect("entrances"), withoutEffect("json_callback"),
      withoutEffect("email"), withoutEffect("debug"),
    ]

  private static let words = Parameter("q") {
    .init(
      "Words of names, categories and addresses, or a position.",
      Schema(.string, nil, ["maxLength": .count(TextQuery.maximumLength)], example: "winchester"))
  }

  /// The parameters of an address and their parts.
  private static let addressParameters: [(parameter: Parameter, part: PhotonAddressPart)] = [
    (addressPart("street", "Street, with a house number or without."), .street), (addressPart("city", "City."), .city),
    (addressPart("county", "County."), .county), (addressPart("state", "State."), .state),
    (addressPart("postalcode", "Postal code."), .postcode),
  ]

  private static let amenity = addressPart("amenity", "Name or category of a place at the address.")

  private static let countryName = addressPart("country", "Country, by its name or its code of ISO 3166-1.")

  private static func addressPart(_ name: StaticString, _ description: String) -> Parameter {
    Parameter(name) {
      .init(
        description + " Not together with `q`.", Schema(.string, nil, ["maxLength": .count(TextQuery.maximumLength)]))
    }
  }

  private static let nominatimLimit = Parameter("limit", .integer) {
    .init(
      "Maximum number of places; less than 1 counts as 1, more than \(maximumNominatimLimit) as \(maximumNominatimLimit).",
      Schema(.integer, nil, ["default": .count(defaultNominatimLimit)]))
  }

  private static let countries = Parameter("countrycodes") {
    .init(
      "Only places in these countries: codes of ISO 3166-1 with two letters, separated by commas.",
      Schema(.string, nil, ["pattern": "^([A-Za-z]{2})?(,([A-Za-z]{2})?)*$"]))
  }

  private static let view = Parameter("viewbox") {
    .init(
      "Two opposite corners of a box, each longitude and latitude in degrees. Places near its centre are preferred.",
      Schema(.string), example: "-122.5,37.7,-121.8,37.2")
  }

  private static let isBounded = toggle("bounded", "With `1`, only places in `viewbox`, if that is given.")

  private static let featureType = Parameter("featureType") {
    .init("Only places and areas of this kind.", .oneOf(NominatimFeatureType.allCases.map(\.rawValue)))
  }

  private static let theme = Parameter("layer", .list) {
    .init(
      "Only places and areas of these themes. A place with a house number is of `address` too.",
      Schema(
        .array(of: Schema(.string, nil, ["pattern": "^(address|poi|railway|natural|manmade)?$"])), nil, ["minItems": 1],
        example: ["poi"]))
  }

  private static let excluded = Parameter("exclude_place_ids") {
    .init(
      "No places of these ids, which are separated by commas: `place_id`, or an object of OpenStreetMap such as `N17`.",
      Schema(.string, nil, ["pattern": "^( *([0-9]+|[NWRnwr][0-9]+)? *(,|$))*$"]))
  }

  private static let distinct = toggle(
    "dedupe", "With `0`, all streets of one name and postal code; else the first of them.")

  static let detail = Parameter("zoom", .number) {
    .init(
      "Level of detail: up to 4 countries, to 8 regions, to 12 cities, to 15 districts, above these places. Less than 0"
        + " counts as 0, more than 18 as 18.",
      Schema(.number, nil, ["default": 18]))
  }

  private static let osmIDs = Parameter("osm_ids") {
    .init(
      "Up to \(maximumLookups) objects of OpenStreetMap, each `N`, `W` or `R` with the id, separated by commas.",
      Schema(.string, nil, example: "N17,R8"), isRequired: true)
  }

  private static let format = Parameter("format") {
    .init(
      "With `json` the key of the main tag is `class`, with `jsonv2` it is `category`. `jsonv2` by default.",
      .nominatimFormat)
  }

  static let statusFormat = Parameter("format") {
    .init("`text` by default, or `json`.", Schema(.string, nil, ["pattern": "^(text|json)$"]))
  }

  private static let languageField = Parameter("accept-language") {
    .init("Languages of names in the form of the header field, which it replaces unless it is empty.", Schema(.string))
  }

  private static let addressDetails = toggle("addressdetails", "With `1`, places have `address`.")

  private static let tagDetails = toggle(
    "extratags", "With `1`, places have `extratags`, those of no name and no address.")

  private static let nameDetails = toggle(
    "namedetails", "With `1`, places have `namedetails`, their names in all languages.")

  private static let polygons = toggle(
    "polygon_geojson", "With `1`, the geometry is that of the area, and not its centre; as JSON in `geojson`.")

  private static func toggle(_ name: StaticString, _ description: String) -> Parameter {
    Parameter(name) { .init(description + " Any text but `0` counts as `1`.", Schema(.string)) }
  }

  static let defaultNominatimLimit = 10
  static let maximumNominatimLimit = 40

  /// The maximum number of objects of a look-up.
  private static let maximumLookups = 50

  /// The distance at which the bias to a box of no size is half as strong, metres.
  private static let leastScaleMetres = 1000.0

  /// Returns a switch, which is off with `0` and on with any other text; geopy sends `True`.
  private func isOn(_ parameter: Parameter, default fallback: Bool) -> Bool {
    values[parameter].map { !$0.hasSameBytes(as: "0") } ?? fallback
  }

  /// Returns the elements of a list, without blanks and empty ones.
  private func elements(of parameter: Parameter) -> [String] {
    ParameterValues.list(values[parameter] ?? "").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
  }

  /// Returns the subject of a search.
  mutating func nominatimSearch() -> NominatimSearch {
    var address = PhotonAddress(parts: [:])
    for (parameter, part) in Self.addressParameters { address.parts[part] = addressText(parameter) }
    address.amenity = addressText(Self.amenity)
    let country = addressText(Self.countryName)
    let isAddress = !address.parts.isEmpty || address.amenity != nil || country != nil
    guard let text = values[Self.words] else {
      if isAddress {
        let streets = address.parts.removeValue(forKey: .street).map { Self.streets($0) }
        return .address(address, streets: streets ?? [[:]], country: country)
      }
      if values.areValid { values.note(.missing, "q", "or a part of an address must be given, such as city") }
      return .nothing
    }
    if isAddress { values.note(.invalid, "q", "must not be given together with a part of an address") }
    if let center = Self.position(text) { return .position(center) }
    guard !text.isEmpty, case .words(let text) = words(text, of: Self.words) else { return .nothing }
    return .words(text)
  }

  /// Returns the text of a part of an address; `nil` where it is not given, empty or invalid.
  private mutating func addressText(_ parameter: Parameter) -> String? {
    guard let text = values[parameter], !text.isEmpty else { return nil }
    guard text.unicodeScalars.count <= TextQuery.maximumLength, !NormalizedText(text).isEmpty else {
      values.note(
        .invalid, parameter.name,
        "must have a letter or a digit, and at most \(TextQuery.maximumLength) characters, got \(values.quoted(text))")
      return nil
    }
    return text
  }

  /// Returns the ways to read a street: as it is, and with a house number before or behind it.
  private static func streets(_ text: String) -> [[PhotonAddressPart: String]] {
    var readings = [[PhotonAddressPart.street: text]]
    let number = /[0-9]+(?: ?[A-Za-z](?![A-Za-z]))?(?: ?[-\/] ?[0-9]+[A-Za-z]?)?(?: (?:bis|ter|quater))?/
    if let match = text.prefixMatch(of: number) {
      let rest = text[match.range.upperBound...].drop { $0 == "," || $0 == " " }
      if !rest.isEmpty, rest.startIndex > match.range.upperBound {
        readings.append([.street: String(rest), .houseNumber: String(match.output)])
      }
    }
    if let match = text.matches(of: number).last, match.range.upperBound == text.endIndex {
      let street = text[..<match.range.lowerBound]
      let name = street.reversed().drop { $0 == "," || $0 == " " }
      if !name.isEmpty, name.count < street.count {
        readings.append([.street: String(name.reversed()), .houseNumber: String(match.output)])
      }
    }
    return readings
  }

  /// Returns the position that a text is: degrees of latitude and longitude with decimals, or with the letters of the
  /// hemispheres, before or behind, and also in degrees, minutes and seconds; `nil` for another text.
  static func position(_ text: String) -> Coordinate? {
    func coordinate(_ latitude: Double?, _ longitude: Double?) -> Coordinate? {
      guard let latitude, let longitude else { return nil }
      return try? Coordinate(latitude: latitude, longitude: longitude)
    }
    if let match = text.wholeMatch(of: /\s*\[?\s*([+\-]?[0-9]+\.[0-9]+)[\s,]+([+\-]?[0-9]+\.[0-9]+)\s*\]?\s*/) {
      return coordinate(Double(match.1), Double(match.2))
    }
    let angle = /([0-9.]+)\s*°?\s*(?:([0-9.]+)\s*[′']\s*)?(?:([0-9.]+)\s*(?:["″]|'')\s*)?/
    func degrees(_ degrees: Substring, _ minutes: Substring?, _ seconds: Substring?, _ letter: Substring) -> Double? {
      guard let whole = Double(degrees), let minutes = Double(minutes ?? "0"), let seconds = Double(seconds ?? "0")
      else { return nil }
      let sum = whole + minutes / 60 + seconds / 3600
      return letter == "S" || letter == "W" ? -sum : sum
    }
    func angles(_ texts: [(letter: Substring, angle: Substring)]) -> Coordinate? {
      let numbers = texts.map { text in
        text.angle.wholeMatch(of: angle).flatMap { degrees($0.1, $0.2, $0.3, text.letter) }
      }
      return coordinate(numbers[0], numbers[1])
    }
    if let match = text.wholeMatch(of: /\s*([NS])\s*([^A-Za-z]+?)[\s,]+([EW])\s*([^A-Za-z]+?)\s*/) {
      return angles([(match.1, match.2), (match.3, match.4)])
    }
    if let match = text.wholeMatch(of: /\s*([^A-Za-z]+?)\s*([NS])[\s,]+([^A-Za-z]+?)\s*([EW])\s*/) {
      return angles([(match.2, match.1), (match.4, match.3)])
    }
    return nil
  }

  /// Returns the objects of `osm_ids`, each once, such as `N17`.
  mutating func objects() -> [String] {
    guard values.has(Self.osmIDs) else {
      values.note(.missing, Self.osmIDs.name, "must be given, such as N17,R8")
      return []
    }
    let ids = elements(of: Self.osmIDs).compactMap { Self.object($0) }
    guard ids.count <= Self.maximumLookups else {
      values.note(.invalid, Self.osmIDs.name, "must have at most \(Self.maximumLookups) ids, got \(ids.count)")
      return []
    }
    var known: Set<ExactText> = []
    return ids.filter { known.insert(ExactText($0)).inserted }
  }

  /// Returns an object of OpenStreetMap with its type in upper case; `nil` for another text.
  private static func object(_ text: String) -> String? {
    text.wholeMatch(of: /([NWRnwr])([0-9]{1,18})/).map { $0.1.uppercased() + $0.2 }
  }

  /// Returns the box of `viewbox`, the bias to its centre, and a Boolean value that indicates whether no place outside is
  /// wanted. Coordinates outside of the earth count as those at its edge.
  mutating func viewbox() -> (box: BoundingBox?, bias: LocationBias?, isBound: Bool) {
    guard let text = values[Self.view], !text.isEmpty else { return (nil, nil, false) }
    func clamp(_ number: Double, _ maximum: Double) -> Double { min(max(number, -maximum), maximum) }
    guard let (x1, y1, x2, y2) = Self.corners(text),
      let box = try? BoundingBox(
        west: clamp(min(x1, x2), 180), south: clamp(min(y1, y2), 90), east: clamp(max(x1, x2), 180),
        north: clamp(max(y1, y2), 90)),
      let center = box.center,
      let corner = try? Coordinate(latitude: box.south, longitude: box.west)
    else {
      values.note(.invalid, "viewbox", "must be two corners, lon,lat,lon,lat in degrees, got '\(text.prefix(50))'")
      return (nil, nil, false)
    }
    let scale = max(Geodesic.distanceMetres(from: center, to: corner), Self.leastScaleMetres)
    return (box, LocationBias(center: center, scaleMetres: scale), isOn(Self.isBounded, default: false))
  }

  /// Returns the conditions on countries, kinds, themes and ids.
  mutating func nominatimFilter() -> PhotonFilter {
    var filter = PhotonFilter()
    filter.countries = countries(elements(of: Self.countries), of: Self.countries)
    if values[Self.featureType]?.isEmpty == false {
      filter.layers = values.choice(Self.featureType, default: NominatimFeatureType.settlement).layers
    }
    for name in elements(of: Self.theme) {
      if let theme = NominatimTheme(rawValue: name) {
        filter.themes.append(theme)
      } else {
        let names = NominatimTheme.allCases.map(\.rawValue).joined(separator: ", ")
        values.note(.invalid, Self.theme.name, "must be out of \(names), got \(values.quoted(name))")
      }
    }
    for id in elements(of: Self.excluded) {
      if let object = Self.object(id) {
        filter.excludedObjects.insert(ExactText(object))
      } else if let number = Int(digits: id) {
        filter.excludedNumbers.insert(Int64(number))
      } else {
        values.note(
          .invalid, Self.excluded.name,
          "must be numbers or objects such as N17, separated by commas, got \(values.quoted(id))")
      }
    }
    filter.keepsDuplicates = !isOn(Self.distinct, default: true)
    return filter
  }

  /// Returns the form of the response.
  ///
  /// - Parameter hasAddress: a Boolean value that indicates whether places have an address by default.
  mutating func nominatimForm(_ headers: RequestFields, hasAddress: Bool) -> NominatimForm {
    var languages = LanguageNegotiation(parameter: nil, headers: headers)
    if let text = values[Self.languageField], !text.isEmpty {
      languages = LanguageNegotiation(
        parameter: LanguagePriorityList(acceptLanguage: ["accept-language": text]))
    }
    return NominatimForm(
      format: values.choice(Self.format, default: NominatimFormat.jsonv2), languages: languages,
      hasAddress: isOn(Self.addressDetails, default: hasAddress), hasTags: isOn(Self.tagDetails, default: false),
      hasNames: isOn(Self.nameDetails, default: false), hasPolygons: isOn(Self.polygons, default: false))
  }
}

extension Schema {
  fileprivate static let nominatimFormat = enumeration(NominatimFormat.allCases.map(\.rawValue))
    .named("NominatimFormat", order: 830)
}
