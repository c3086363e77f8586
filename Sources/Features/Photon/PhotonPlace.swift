import Basics
import Foundation
import Geo
import JSONText
import LocationsAPI
import NIOCore
import PointDetails
import PointFormats
import Points
import SearchWords
import Synchronization

/// A place as Photon describes it.
struct PhotonPlace {
  /// The tag of OpenStreetMap that tells what a place is.
  struct MainTag: Hashable {
    let key: ExactText
    let value: ExactText
  }

  let point: PointOfInterest
  let mainTag: MainTag
  let layer: PhotonLayer

  let address: PostalAddress

  /// Creates a place.
  ///
  /// - Parameter areas: the areas that complete its address.
  init(_ point: PointOfInterest, in areas: [Area] = []) {
    self.point = point
    let tags = point.draft.tags
    address = PostalAddress(tags, in: areas)
    mainTag = Self.mainTag(tags.pairs, category: point.draft.category)
    layer = Self.layer(mainTag)
  }

  /// Returns the main tag of the places of areas in a layer.
  static func mainTag(ofAreasIn layer: PhotonLayer) -> MainTag {
    MainTag(key: "place", value: ExactText(layer.rawValue))
  }

  /// Creates the place of an area, at the centre of its box; `nil` if its kind has no layer. Its main tag is
  /// ``mainTag(ofAreasIn:)``.
  init?(_ area: Area) {
    guard let layer = PhotonLayer(area.draft.kind), let center = area.draft.outline.center else { return nil }
    let names = area.draft.names.pairs.map { ("name:" + $0.key, $0.value) }
    let tags = area.draft.tags.pairs.filter { !Self.mainKeys.contains(ExactText($0.key)) }
    guard
      let draft = try? PointDraft(
        name: area.draft.name, category: "place:" + layer.rawValue, coordinate: center,
        tags: Tags(tags.map { ($0.key, $0.value) } + names), source: area.draft.origin?.source,
        sourceID: area.draft.origin?.sourceID)
    else { return nil }
    self.init(
      PointOfInterest(
        id: area.id, draft: draft, version: area.version, createdAt: area.createdAt, updatedAt: area.updatedAt))
  }

  /// The code of the country, if it is known.
  var countryCode: String? { address.countryCode }

  /// Returns the name of the country in a language, or in English.
  func countryName(in language: String?) -> String? {
    address.countryCode.flatMap { CountryNames.shared.name(ofCountry: $0, language: language) } ?? address.countryName
  }

  /// A number of at most 53 bits, which JavaScript reads exactly, made from the id.
  var number: Int64 { Int64(point.id.low & (1 << 53 - 1)) }

  /// The object of OpenStreetMap that the place was imported from, such as `N17`; `nil` for others.
  var object: String? { Self.object(of: point.draft.origin).map { "\($0.type)\($0.id)" } }

  /// The themes by which Nominatim filters.
  var themes: Set<NominatimTheme> {
    switch mainTag.key.text {
    case "natural", "water", "waterway": return [.natural]
    case "railway": return [.railway, .poi]
    case "place", "building": return layer == .other ? [.manmade] : [.address]
    default: break
    }
    switch layer {
    case .house: return address.houseNumber == nil ? [.poi] : [.poi, .address]
    case .other: return [.manmade]
    case .street, .locality, .district, .city, .county, .state, .country: return [.address]
    }
  }

  /// Returns a Boolean value that indicates whether the address has a part, or is what the part names.
  func has(_ part: PhotonAddressPart, _ normalized: String) -> Bool {
    if part == .houseNumber {
      return address.houseNumber.map { Self.compact(NormalizedText($0).text) == Self.compact(normalized) } == true
    }
    let own: String?
    switch part {
    case .houseNumber: own = nil
    case .street: own = address.street ?? (layer == .street ? point.draft.name : nil)
    case .district: own = address.district ?? address.neighbourhood ?? (layer == .district ? point.draft.name : nil)
    case .postcode: own = address.postcode
    case .city: own = address.city ?? (layer == .city ? point.draft.name : nil)
    case .county: own = address.county ?? (layer == .county ? point.draft.name : nil)
    case .state: own = address.state ?? (layer == .state ? point.draft.name : nil)
    }
    return own.map { NormalizedText($0).text.hasSameBytes(as: normalized) } == true
      || names(of: part).contains { NormalizedText($0).text.hasSameBytes(as: normalized) }
  }

  /// Returns a number of a house without spaces: `10 e` is `10e`.
  static func compact(_ number: String) -> ExactText { ExactText(number.filter { $0 != " " }) }

  /// Returns the names in other languages of a place that is itself what a part of an address names.
  private func names(of part: PhotonAddressPart) -> [String] {
    guard part.rawValue.hasSameBytes(as: layer.rawValue) else { return [] }
    return point.draft.tags.pairs.filter { $0.key.hasPrefix("name:") }.map(\.value)
  }

  /// A text that streets have in common of which one is enough; `nil` for other places.
  var duplicateKey: String? {
    guard mainTag.key == "highway" else { return nil }
    var postcode = address.postcode ?? ""
    if let space = postcode.firstIndex(of: " ") {
      if address.countryCode == "NL" { postcode = String(postcode[..<space]) }
      if address.countryCode == "GB" { postcode = String(postcode.prefix(upTo: space)) + postcode[space...].prefix(2) }
    }
    return [mainTag.value.text, postcode, point.draft.name, address.countryCode ?? ""].joined(separator: "\u{0}")
  }

  // MARK: Main tag

  /// The keys of OpenStreetMap that say what a place is, the first one that a place has counts.
  private static let mainKeys: [ExactText] = [
    "amenity", "shop", "tourism", "leisure", "healthcare", "office", "craft", "emergency", "historic", "railway",
    "aeroway", "public_transport", "club", "sport", "natural", "place", "man_made", "highway", "waterway", "aerialway",
    "military", "power", "boundary", "landuse", "building", "route",
  ]

  /// The keys of the values that are usual categories, for places without tags of OpenStreetMap; of all others it is
  /// `amenity`.
  private static let keysOfCategories: [(key: ExactText, values: Set<ExactText>)] = [
    (
      "tourism",
      [
        "museum", "hotel", "hostel", "motel", "guest_house", "attraction", "gallery", "artwork", "viewpoint", "zoo",
        "aquarium", "theme_park", "information", "camp_site", "caravan_site", "picnic_site", "alpine_hut",
      ]
    ),
    (
      "shop",
      [
        "supermarket", "convenience", "bakery", "butcher", "books", "clothes", "shoes", "florist", "jewelry",
        "optician",
        "hairdresser", "beauty", "electronics", "furniture", "hardware", "car", "bicycle", "mall", "department_store",
      ]
    ),
    (
      "leisure",
      [
        "park", "garden", "playground", "stadium", "sports_centre", "pitch", "swimming_pool", "marina", "golf_course",
        "fitness_centre", "nature_reserve",
      ]
    ),
    ("historic", ["monument", "memorial", "castle", "ruins", "archaeological_site", "fort"]),
    ("natural", ["peak", "volcano", "beach", "spring", "cave_entrance", "bay", "cape"]),
    (
      "place",
      [
        "country", "state", "province", "region", "county", "city", "town", "village", "hamlet", "suburb", "borough",
        "quarter", "neighbourhood", "locality", "island", "square",
      ]
    ),
    ("railway", ["station", "halt", "tram_stop", "subway_entrance"]),
    ("aeroway", ["aerodrome", "airport", "heliport", "helipad", "terminal"]),
    ("building", ["building"]),
  ]

  private static func mainTag(_ tags: [(key: String, value: String)], category: String?) -> MainTag {
    for key in mainKeys {
      let tag = tags.first { $0.key.hasSameBytes(as: key.text) }
      if let tag, tag.value != "no", !tag.value.isEmpty {
        return MainTag(key: key, value: ExactText(tag.value))
      }
    }
    // Photon has these for places whose kind it does not know.
    guard let category else { return MainTag(key: "place", value: "yes") }
    let parts = category.split(separator: ":", maxSplits: 1)
    if parts.count == 2, let key = mainKeys.first(where: { $0.text.utf8.elementsEqual(parts[0].utf8) }) {
      return MainTag(key: key, value: ExactText(String(parts[1])))
    }
    let value = ExactText(category)
    let key = keysOfCategories.first { $0.values.contains(value) }?.key
    return MainTag(key: key ?? "amenity", value: value)
  }

  private static func layer(_ tag: MainTag) -> PhotonLayer {
    switch tag.key.text {
    case "place":
      switch tag.value.text {
      case "country": .country
      case "state", "province", "region": .state
      case "county": .county
      case "city", "town", "village", "municipality": .city
      case "suburb", "borough", "quarter", "district", "city_district": .district
      case "neighbourhood", "hamlet", "locality", "isolated_dwelling", "farm", "city_block": .locality
      case "house", "house_name", "houses", "yes": .house
      default: .other
      }
    case "highway":
      switch tag.value.text {
      case "bus_stop", "rest_area", "services": .house
      default: .street
      }
    case "natural", "waterway", "boundary", "landuse", "route": .other
    default: .house
    }
  }

  // MARK: Encoding

  /// Appends the Feature of the place.
  ///
  /// - Parameters:
  ///   - language: the language of the country's name; `nil` for English.
  ///   - outline: the outline of an area; `nil` for a place.
  func append(language: String?, outline: AreaOutline?, to json: inout JSONWriter<ByteBuffer>) {
    json.beginObject()
    json.write(member: "type", "Feature")
    json.write(member: "id", point.id.description)
    json.write(name: "geometry")
    json.beginObject()
    json.write(member: "type", "Point")
    json.write(name: "coordinates")
    json.beginArray()
    json.write(number: point.draft.coordinate.longitude)
    json.write(number: point.draft.coordinate.latitude)
    json.endArray()
    json.endObject()
    json.write(name: "properties")
    json.beginObject()
    writeProperties(language: language, to: &json)
    if let bounds = outline?.bounds {
      json.write(name: "extent")
      json.beginArray()
      for edge in [bounds.west, bounds.north, bounds.east, bounds.south] { json.write(number: edge) }
      json.endArray()
    }
    json.endObject()
    json.endObject()
  }

  private func writeProperties(language: String?, to json: inout JSONWriter<ByteBuffer>) {
    if let (type, id) = Self.object(of: point.draft.origin) {
      json.write(member: "osm_type", type)
      json.write(name: "osm_id")
      json.write(integer: id)
    }
    json.write(member: "osm_key", mainTag.key.text)
    json.write(member: "osm_value", mainTag.value.text)
    json.write(member: "type", layer.rawValue)
    json.write(member: "name", point.draft.name)
    let parts: [(name: StaticString, text: String?)] = [
      ("housenumber", address.houseNumber), ("street", address.street), ("locality", address.neighbourhood),
      ("district", address.district), ("postcode", address.postcode), ("city", address.city),
      ("county", address.county), ("state", address.state), ("country", countryName(in: language)),
      ("countrycode", address.countryCode),
    ]
    for (name, text) in parts {
      if let text { json.write(member: name, text) }
    }
  }

  /// Returns the type and the id of the object of OpenStreetMap that a place was imported from; `nil` where it was
  /// imported from something else.
  static func object(of origin: SourceReference?) -> (type: String, id: Int64)? {
    guard let text = origin?.sourceID else { return nil }
    let name = text.prefix { $0.isASCII && $0.isLetter }
    let isShort = ["n", "w", "r", "N", "W", "R"].contains(name)
    guard isShort || ["node", "way", "relation"].contains(name), let type = name.first else { return nil }
    let rest = text[name.endIndex...]
    let digits = rest.first == "/" ? rest.dropFirst() : rest
    // Int64 would also accept a sign.
    guard 1...18 ~= digits.utf8.count, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let id = Int64(digits)
    else { return nil }
    return (type.uppercased(), id)
  }
}

extension AreaOutline {
  /// The bounds in degrees; those of an area on both sides of the antimeridian are of all longitudes.
  var bounds: (west: Double, south: Double, east: Double, north: Double)? {
    guard let first = boxes.first else { return nil }
    let box = boxes.dropFirst().reduce(first) { $0.union($1) }
    func degrees(_ units: Int32) -> Double { Double(units) / Self.unitsPerDegree }
    return (degrees(box.west), degrees(box.south), degrees(box.east), degrees(box.north))
  }
}

/// The names of countries, kept once they were looked up, since that is slow.
final class CountryNames: Sendable {
  private struct Key: Hashable {
    let code: ExactText
    let language: ExactText
  }

  static let shared = CountryNames()

  /// The maximum number of names that are kept; clients choose the languages.
  private static let capacity = 5000

  /// The languages that have names of countries. A locale of any other language is never created, since the library
  /// keeps each one for ever.
  private static let languages = Set(Locale.availableIdentifiers.lazy.map { ExactText(key($0)) })

  private let names = Mutex<[Key: ExactText]>([:])

  /// Returns the name of a country in a language, or in English.
  ///
  /// - Parameters:
  ///   - code: the ISO 3166-1 alpha-2 code.
  ///   - language: a language range in ASCII.
  func name(ofCountry code: String, language: String?) -> String? {
    let key = Key(code: ExactText(code), language: Self.available(language))
    if let known = names.withLock({ $0[key] }) { return known.text.isEmpty ? nil : known.text }
    let name = Locale(identifier: key.language.text).localizedString(forRegionCode: code)
    names.withLock { names in
      if names.count >= Self.capacity { names.removeAll(keepingCapacity: true) }
      names[key] = ExactText(name ?? "")
    }
    return name
  }

  /// The codes of countries by their normalized names in English and in the language of most of their people.
  private static let codes: [ExactText: String] = {
    var codes: [ExactText: String] = [:]
    for region in Locale.Region.isoRegions where region.subRegions.isEmpty && region.identifier.utf8.count == 2 {
      let code = region.identifier
      let own = Locale(identifier: "und_" + code).language.maximalIdentifier.prefix { $0 != "-" }
      for language in ["en", String(own)] where languages.contains(ExactText(key(language))) {
        guard let name = Locale(identifier: language).localizedString(forRegionCode: code) else { continue }
        codes[ExactText(NormalizedText(name).text)] = code
      }
    }
    return codes
  }()

  /// Returns the code of a country by its code or by its name in English, in its own language or in another one; `nil` for
  /// another text. The first call takes some tens of milliseconds.
  func code(ofCountry text: String, language: String?) -> String? {
    let upper = text.uppercased()
    if upper.utf8.count == 2, name(ofCountry: upper, language: nil) != nil { return upper }
    let wanted = ExactText(NormalizedText(text).text)
    if let code = Self.codes[wanted] { return code }
    guard let language else { return nil }
    return Set(Self.codes.values).first { code in
      name(ofCountry: code, language: language).map { ExactText(NormalizedText($0).text) == wanted } == true
    }
  }

  /// Returns the language of a range, with its region or script where such names are there; English where there are
  /// none.
  private static func available(_ range: String?) -> ExactText {
    var subtags = (range ?? "").split(separator: "-")
    while !subtags.isEmpty {
      let language = ExactText(key(subtags.joined(separator: "_")))
      if languages.contains(language) { return language }
      subtags.removeLast()
    }
    return ExactText("en")
  }

  private static func key(_ identifier: String) -> String {
    identifier.lowercased()
  }
}
