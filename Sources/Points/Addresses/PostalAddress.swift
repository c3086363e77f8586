import Basics

/// A postal address, as the tags `addr:*` of a place tell it.
///
/// Texts are those of the tags, unchanged. A tag that is absent or empty leaves its part `nil`.
public struct PostalAddress: Sendable {
  /// A part of an address. The raw value is its name in the templates of ``AddressFormat``.
  enum Part: String, CaseIterable {
    case unit, building, number, block, street, neighbourhood, district, city, postcode, county, state
  }

  /// The country as an ISO 3166-1 alpha-2 code in upper case; `nil` where the tag is absent or is no such code.
  public let countryCode: String?

  private let tags: [(key: String, value: String)]

  /// Creates the address of a place. Linear in the length of its tags.
  public init(_ tags: Tags) {
    self.init(tags.pairs)
  }

  /// Creates the address of the tags of a place.
  init(_ tags: [(key: String, value: String)]) {
    let hasCity = tags.contains { $0.key == "addr:city" }
    self.tags = tags.compactMap { tag in
      let isBare = tag.key == "city" || tag.key == "country"
      // Without the prefix these are an address only in tables that know no other form: `country` of an embassy in
      // OpenStreetMap is the one that it represents.
      guard tag.key.utf8.starts(with: "addr:".utf8) || (isBare && !hasCity) else { return nil }
      let value = tag.value.trimmingWhiteSpace()
      return value.isEmpty ? nil : (tag.key, value)
    }
    let isBareAddress = self.tags.contains { $0.key == "city" }
    let country = Self.value(of: ["addr:country"] + (isBareAddress ? ["country"] : []), in: self.tags)
    countryCode = country.flatMap { Self.code($0) }
  }

  private static func code(_ text: String) -> String? {
    guard text.utf8.count == 2, text.utf8.allSatisfy({ $0.isASCIIAlphanumeric && !(48...57).contains($0) }) else {
      return nil
    }
    let code = text.uppercased()
    // The code that the European Commission uses, and the one that is reserved for the United Kingdom.
    return code == "UK" ? "GB" : code == "EL" ? "GR" : code
  }

  private static func value(of keys: [String], in tags: [(key: String, value: String)]) -> String? {
    for key in keys {
      if let tag = tags.first(where: { $0.key.hasSameBytes(as: key) }) { return tag.value }
    }
    return nil
  }

  private func value(_ keys: String...) -> String? { Self.value(of: keys, in: tags) }

  /// The number of the house.
  public var houseNumber: String? { value("addr:housenumber") }

  /// The street; in a village without streets the hamlet, which the numbers of houses belong to.
  public var street: String? { value("addr:street", "addr:place") }

  /// The part of the city.
  public var district: String? { value("addr:suburb", "addr:city_district", "addr:district", "addr:quarter") }

  /// The neighbourhood, a part of the district.
  public var neighbourhood: String? { value("addr:neighbourhood") }

  /// The city, town or village.
  public var city: String? {
    value("addr:city", "addr:town", "addr:village", "addr:municipality", "addr:hamlet", "city")
  }

  /// The postal code.
  public var postcode: String? { value("addr:postcode") }

  /// The county.
  public var county: String? { value("addr:county") }

  /// The state, province or region.
  public var state: String? { value("addr:state", "addr:province", "addr:region") }

  /// The country in the words of the tag, where that is no code.
  public var countryName: String? { countryCode == nil ? value("addr:country") : nil }

  /// The address in one text, or its line of the street.
  var full: String? { value("addr:full") }

  /// Returns a part of the address; `nil` where the tags do not have it.
  func text(of part: Part) -> String? {
    switch part {
    case .unit: value("addr:unit", "addr:door")
    case .building: value("addr:housename")
    case .number: houseNumber
    case .block: value("addr:block_number", "addr:block")
    case .street: street
    case .neighbourhood: neighbourhood
    case .district: district
    case .city: city
    case .postcode: postcode
    case .county: county
    case .state: state
    }
  }

  /// The address in one line, in the order that is usual in its country; `nil` where the tags have no part of it.
  public var line: String? {
    let format = AddressFormat.format(ofCountry: countryCode)
    guard street == nil, houseNumber == nil, let full else { return format.line { text(of: $0) } }
    // Some sources have the line of the street there, others the whole address.
    let rest = format.line { part in
      part == .number || part == .street ? nil : text(of: part).flatMap { full.contains($0) ? nil : $0 }
    }
    guard let rest else { return full }
    return format.beginsWithCity ? rest + ", " + full : full + ", " + rest
  }
}

extension PointDraft {
  /// The name and the address in one line.
  public var label: String {
    guard let line = PostalAddress(tags).line else { return name }
    return "\(name), \(line)"
  }
}
