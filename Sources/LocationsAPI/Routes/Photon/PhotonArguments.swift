import Geo
import HTTPServer
import Basics
import NIOHTTP1
import Points

/// The arguments of Photon's calls `/api` and `/reverse`, as its documentation describes them
/// (https://github.com/komoot/photon/blob/master/docs/api-v1.md).
struct PhotonArguments {
  /// The parameters of both calls.
  static let sharedParameters = ["lat", "lon", "limit", "lang", "osm_tag", "layer", "dedupe", "debug"]

  /// The parameters of `/api`.
  static let searchParameters = ["q", "zoom", "location_bias_scale", "bbox"] + sharedParameters

  static let reverseParameters = ["radius", "distance_sort"] + sharedParameters

  /// The parameters that may be repeated.
  private static let lists: Set<ExactText> = ["osm_tag", "layer"]

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

  private mutating func note(_ kind: ParameterProblem, _ name: String, _ detail: String) {
    if code == nil { code = kind }
    errors.append(ProblemError(.parameter(name), detail))
  }

  /// Throws a problem where there are violations.
  func check() throws(Problem) {
    guard let code else { return }
    throw .badRequest(errors, code: code)
  }

  private func value(_ name: String) -> String? { values.first { $0.name.hasSameBytes(as: name) }?.value }

  private func all(_ name: String) -> [String] {
    values.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
  }

  private mutating func number(_ name: String, in range: ClosedRange<Double>) -> Double? {
    guard let text = value(name) else { return nil }
    if let number = ParameterValues.number(text), range.contains(number) { return number }
    note(
      .invalid, name,
      "must be a number from \(Int(range.lowerBound)) to \(Int(range.upperBound)), got '\(text.prefix(50))'")
    return nil
  }

  // MARK: Values

  /// Returns the text of `q`; `nil` where it has no words, which nothing matches.
  mutating func text() -> String? {
    guard let text = value("q"), !text.isEmpty else {
      note(.missing, "q", "must be given for a search")
      return nil
    }
    let length = text.unicodeScalars.count
    guard length <= TextQuery.maximumLength else {
      note(.invalid, "q", "must have 1 to \(TextQuery.maximumLength) characters, got \(length)")
      return nil
    }
    return NormalizedText(text).isEmpty ? nil : text
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
    for name in ["dedupe", "debug", "distance_sort"] {
      if let text = value(name), !["0", "1", "true", "false"].contains(text) {
        note(.invalid, name, "must be 0, 1, true or false, got '\(text.prefix(50))'")
      }
    }
    return filter
  }
}

/// The conditions of `osm_tag` and `layer`.
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

  /// A Boolean value that indicates whether every place matches.
  var isEmpty: Bool { tags.isEmpty && layers.isEmpty }

  func matches(_ place: PhotonPlace) -> Bool {
    if !layers.isEmpty, !layers.contains(place.layer) { return false }
    let inclusions = tags.filter { !$0.isExclusion }
    return (inclusions.isEmpty || inclusions.contains { $0.matches(place.mainTag) })
      && !tags.contains { $0.isExclusion && $0.matches(place.mainTag) }
  }
}

/// The kinds of places by their level in an address, which Photon calls layers.
enum PhotonLayer: String, CaseIterable {
  case house, street, locality, district, city, county, state, country, other
}
