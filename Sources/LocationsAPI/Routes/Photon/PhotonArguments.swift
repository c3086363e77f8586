import Geo
import HTTPServer
import Basics
import NIOHTTP1
import Points

/// The arguments of Photon's calls `/api`, `/structured` and `/reverse`, as its documentation describes them
/// (https://github.com/komoot/photon/blob/master/docs/api-v1.md), and of those of Nominatim, which has some of them.
struct PhotonArguments {
  /// The parameters of all calls.
  static let sharedParameters = [
    "lat", "lon", "limit", "lang", "osm_tag", "layer", "include", "exclude", "dedupe", "debug",
  ]

  /// The parameters of `/api`.
  static let searchParameters = ["q"] + filterParameters

  /// The parameters of `/structured`.
  static let structuredParameters = PhotonAddressPart.allCases.map(\.rawValue) + filterParameters

  private static let filterParameters = ["zoom", "location_bias_scale", "bbox", "countrycode"] + sharedParameters

  static let reverseParameters = ["radius", "distance_sort"] + sharedParameters

  /// The parameters that may be repeated.
  private static let lists: Set<ExactText> = ["osm_tag", "layer", "include", "exclude", "countrycode"]

  /// The maximum number of places of a response; a greater `limit` counts as this one.
  static let maximumLimit = 100

  /// The default `limit` of `/api`.
  static let defaultSearchLimit = 15

  static let defaultReverseLimit = 1

  private var values: [(name: String, value: String)] = []
  private var errors: [ProblemError] = []
  private var code: ParameterProblem?

  /// Creates the arguments of a request.
  ///
  /// - Throws: `Problem` 400 when the query is not percent-encoded UTF-8.
  init(_ request: HTTPRequest, allowing names: [String]) throws(Problem) {
    try QueryParameter.forEach(in: request.query) { pair throws(Problem) in
      if !names.contains(where: { $0.hasSameBytes(as: pair.name) }) {
        note(
          .unknown, String(pair.name.prefix(100)),
          "is not a parameter of this call; its parameters are \(names.joined(separator: ", "))")
      } else if !Self.lists.contains(ExactText(pair.name)), value(pair.name) != nil {
        note(.invalid, pair.name, "must not be repeated")
      } else {
        values.append((pair.name, pair.value))
      }
    }
  }

  mutating func note(_ kind: ParameterProblem, _ name: String, _ detail: String) {
    if code == nil { code = kind }
    errors.append(ProblemError(.parameter(name), detail))
  }

  /// Throws a problem where there are violations.
  func check() throws(Problem) {
    guard let code else { return }
    throw .badRequest(errors, code: code)
  }

  func value(_ name: String) -> String? { values.first { $0.name.hasSameBytes(as: name) }?.value }

  private func all(_ name: String) -> [String] {
    values.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
  }

  mutating func number(_ name: String, in range: ClosedRange<Double>) -> Double? {
    guard let text = value(name) else { return nil }
    if let number = ParameterValues.number(text), range.contains(number) { return number }
    note(
      .invalid, name,
      "must be a number from \(Int(range.lowerBound)) to \(Int(range.upperBound)), got '\(text.prefix(50))'")
    return nil
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
  ///
  /// - Parameter isRequired: a Boolean value that indicates whether no filter by categories stands for it.
  mutating func text(isRequired: Bool = false) -> Text {
    guard let text = value("q"), !text.isEmpty else {
      if isRequired {
        note(.missing, "q", "must be given")
        return .none
      }
      if !all("include").isEmpty || !all("exclude").isEmpty { return .any }
      note(.missing, "q", "must be given for a search without include or exclude")
      return .none
    }
    let length = text.unicodeScalars.count
    guard length <= TextQuery.maximumLength else {
      note(.invalid, "q", "must have 1 to \(TextQuery.maximumLength) characters, got \(length)")
      return .none
    }
    return NormalizedText(text).isEmpty ? .none : .words(text)
  }

  /// Returns the parts of the address of a structured search.
  mutating func address() -> [PhotonAddressPart: String] {
    var parts: [PhotonAddressPart: String] = [:]
    for part in PhotonAddressPart.allCases {
      guard let text = value(part.rawValue), !text.isEmpty else { continue }
      if text.unicodeScalars.count > TextQuery.maximumLength || NormalizedText(text).isEmpty {
        note(
          .invalid, part.rawValue,
          "must have a letter or a digit, and at most \(TextQuery.maximumLength) characters, got '\(text.prefix(50))'")
      } else {
        parts[part] = text
      }
    }
    if parts.isEmpty, all("countrycode").isEmpty, errors.isEmpty {
      let names = PhotonAddressPart.allCases.map(\.rawValue).joined(separator: ", ")
      note(.missing, "city", "or another part of an address must be given: countrycode, \(names)")
    }
    return parts
  }

  /// Returns the coordinate of `lat` and `lon`; `nil` where neither is given or one is invalid.
  mutating func center(isRequired: Bool = false) -> Coordinate? {
    for (name, other) in [("lat", "lon"), ("lon", "lat")] where value(name) == nil {
      if isRequired || value(other) != nil { note(.missing, name, "must be given with \(other)") }
    }
    let latitude = number("lat", in: Coordinate.latitudes)
    let longitude = number("lon", in: Coordinate.longitudes)
    guard let latitude, let longitude else { return nil }
    return try? Coordinate(latitude: latitude, longitude: longitude)
  }

  /// Returns the bias of a search towards its centre.
  ///
  /// `zoom` is that of a map: each step halves the distance at which the bias is half as strong, 16 km at the default
  /// of 12. `location_bias_scale` is the part that other properties of places keep beside their nearness.
  mutating func bias() -> LocationBias? {
    let zoom = number("zoom", in: 0...24) ?? 12
    let scale = number("location_bias_scale", in: 0...1) ?? 0.4
    guard let center = center() else { return nil }
    var metres = 250.0
    for _ in 0..<max(0, Int(18 - zoom)) { metres *= 2 }
    return LocationBias(center: center, scaleMetres: metres, weight: 1 - scale / 2)
  }

  /// Returns the box of `bbox`; `nil` where it is not given or invalid.
  mutating func box() -> BoundingBox? {
    guard let text = value("bbox") else { return nil }
    let edges = text.split(separator: ",", omittingEmptySubsequences: false).map { ParameterValues.number($0) }
    if edges.count == 4, let west = edges[0], let south = edges[1], let east = edges[2], let north = edges[3],
      let box = try? BoundingBox(west: west, south: south, east: east, north: north)
    {
      return box
    }
    note(.invalid, "bbox", "must be minLon,minLat,maxLon,maxLat in degrees, got '\(text.prefix(50))'")
    return nil
  }

  mutating func radiusMetres() -> Double { (number("radius", in: 0...5000) ?? 1) * 1000 }

  /// Returns the maximum number of places.
  mutating func limit(default fallback: Int) -> Int {
    guard let text = value("limit") else { return fallback }
    if let limit = Int(digits: text), limit > 0 { return min(limit, Self.maximumLimit) }
    note(.invalid, "limit", "must be an integer of at least 1, got '\(text.prefix(50))'")
    return fallback
  }

  /// Returns the languages of `lang`, or else of `Accept-Language`. `default` stands for the places' own names.
  mutating func languages(_ headers: HTTPHeaders) -> LanguageNegotiation {
    guard let text = value("lang") else { return LanguageNegotiation(parameter: nil, headers: headers) }
    if text == "default" { return .none }
    if let languages = LanguagePriorityList(text.split(separator: ",", omittingEmptySubsequences: false)) {
      return LanguageNegotiation(parameter: languages)
    }
    note(.invalid, "lang", "must be a language tag such as de, got '\(text.prefix(50))'")
    return .none
  }

  /// Returns the conditions on tags and layers.
  mutating func filter() -> PhotonFilter {
    var filter = PhotonFilter()
    for text in all("osm_tag") {
      if let condition = PhotonFilter.TagCondition(text) {
        filter.tags.append(condition)
      } else {
        note(
          .invalid, "osm_tag",
          "must be key:value, key or :value, with ! for an exclusion, got '\(text.prefix(50))'")
      }
    }
    for text in all("layer") {
      if let layer = PhotonLayer(rawValue: text) {
        filter.layers.append(layer)
      } else {
        let names = PhotonLayer.allCases.map(\.rawValue).joined(separator: ", ")
        note(.invalid, "layer", "must be one of \(names), got '\(text.prefix(50))'")
      }
    }
    filter.countries = countries(all("countrycode"), of: "countrycode")
    filter.inclusions = categories("include")
    filter.exclusions = categories("exclude")
    for name in ["dedupe", "debug", "distance_sort"] {
      if let text = value(name), !["0", "1", "true", "false"].contains(text) {
        note(.invalid, name, "must be 0, 1, true or false, got '\(text.prefix(50))'")
      }
    }
    filter.keepsDuplicates = ["0", "false"].contains(value("dedupe"))
    return filter
  }

  /// Returns the codes of countries in a parameter, in upper case.
  mutating func countries(_ codes: [String], of name: String) -> Set<ExactText> {
    var countries: Set<ExactText> = []
    for code in codes {
      if code.utf8.count == 2, code.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }) {
        countries.insert(ExactText(code.uppercased()))
      } else {
        note(.invalid, name, "must be a code of two letters (ISO 3166-1), got '\(code.prefix(50))'")
      }
    }
    return countries
  }

  /// Returns the lists of categories of a parameter.
  private mutating func categories(_ name: String) -> [[PhotonCategory]] {
    var lists: [[PhotonCategory]] = []
    for text in all(name) {
      let list = text.split(separator: ",", omittingEmptySubsequences: false).map { PhotonCategory(String($0)) }
      if list.contains(nil) {
        note(
          .invalid, name,
          "must be categories of 2 to 4 labels of letters, digits, '_' and '-', such as osm.tourism.museum, got"
            + " '\(text.prefix(50))'")
      }
      lists.append(list.compactMap(\.self))
    }
    return lists
  }
}

/// The parts of an address in a structured search, except the country, from the smallest.
enum PhotonAddressPart: String, CaseIterable {
  case houseNumber = "housenumber"
  case street, district, postcode, city, county, state
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

  /// A Boolean value that indicates whether streets of one name and postal code all count.
  var keepsDuplicates = false

  /// A Boolean value that indicates whether every place matches.
  var isEmpty: Bool {
    tags.isEmpty && layers.isEmpty && inclusions.isEmpty && exclusions.isEmpty && !needsAddress
  }

  /// A Boolean value that indicates whether the areas that complete an address decide.
  var needsAddress: Bool { !countries.isEmpty || !address.isEmpty }

  /// The kinds of areas whose places satisfy the conditions that their addresses do not decide.
  var areaKinds: [AreaKind] {
    AreaKind.allCases.filter { kind in
      PhotonLayer(kind).map { matches(PhotonPlace.mainTag(ofAreasIn: $0), in: $0) } == true
    }
  }

  /// Returns a Boolean value that indicates whether a place of a main tag and a layer satisfies the conditions that its
  /// address does not decide.
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
