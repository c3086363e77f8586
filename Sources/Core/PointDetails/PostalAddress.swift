import Basics
package import Points

/// A postal address, from the tags `addr:*` of a place.
///
/// Texts are those of the tags, unchanged. A tag that is absent or empty leaves its part `nil`.
package struct PostalAddress: Sendable {
  /// A part of an address. The raw value is its name in the templates of ``AddressFormat``.
  enum Part: String, CaseIterable {
    case unit, building, number, block, street, neighbourhood, district, city, postcode, county, state
  }

  /// The country as an ISO 3166-1 alpha-2 code in upper case; `nil` if the tag is absent or is not such a code.
  package private(set) var countryCode: String?

  private var tags: [(key: String, value: String)]

  /// Creates the address of a place. Linear in the length of its tags.
  ///
  /// - Parameter areas: the areas that the place is in, the smallest first. They give the parts that the tags lack.
  package init(_ tags: Tags, in areas: [Area] = []) {
    self.init(tags.pairs)
    if !areas.isEmpty { complete(by: areas) }
  }

  private mutating func complete(by areas: [Area]) {
    func add(_ key: String, _ area: Area?) {
      if let area { tags.append((key, area.draft.name)) }
    }
    if district == nil { add("addr:district", areas.first { $0.draft.kind == .district }) }
    if city == nil { add("addr:city", areas.first { $0.draft.kind == .city }) }
    if postcode == nil { add("addr:postcode", areas.first { $0.draft.kind == .postcode }) }
    // The largest region: a smaller one is a county.
    if state == nil { add("addr:state", areas.last { $0.draft.kind == .region }) }
    guard countryCode == nil, countryName == nil, let country = areas.first(where: { $0.draft.kind == .country }) else {
      return
    }
    let codes = ["ISO3166-1:alpha2", "ISO3166-1", "country"].lazy.compactMap { country.draft.tags[$0] }
    countryCode = codes.compactMap { Self.code($0) }.first
    if countryCode == nil { add("addr:country", country) }
  }

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
  package var houseNumber: String? { value("addr:housenumber") }

  /// The street; in a village without streets the hamlet, which the numbers of houses belong to.
  package var street: String? { value("addr:street", "addr:place") }

  /// The part of the city.
  package var district: String? { value("addr:suburb", "addr:city_district", "addr:district", "addr:quarter") }

  /// The neighbourhood, a part of the district.
  package var neighbourhood: String? { value("addr:neighbourhood") }

  /// The city, town or village.
  package var city: String? {
    value("addr:city", "addr:town", "addr:village", "addr:municipality", "addr:hamlet", "city")
  }

  /// The postal code.
  package var postcode: String? { value("addr:postcode") }

  /// The county.
  package var county: String? { value("addr:county") }

  /// The state, province or region.
  package var state: String? { value("addr:state", "addr:province", "addr:region") }

  /// The country in the words of the tag, where that is no code.
  package var countryName: String? { countryCode == nil ? value("addr:country") : nil }

  /// The address in one text, or its line of the street.
  var full: String? { value("addr:full") }

  /// Returns a part of the address; `nil` if the tags do not have it.
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

  /// The address in one line, in the order that is usual in its country; `nil` if the tags have no part of it.
  package var line: String? {
    let lines = lines
    return lines.isEmpty ? nil : lines.joined(separator: ", ")
  }

  /// The lines of the address, in the order that is usual in its country, without the country.
  package var lines: [String] {
    let format = AddressFormat.format(ofCountry: countryCode)
    guard street == nil, houseNumber == nil, let full else { return format.lines { text(of: $0) } }
    // Some sources have the line of the street there, others the whole address.
    let rest = format.lines { part in
      part == .number || part == .street ? nil : text(of: part).flatMap { full.contains($0) ? nil : $0 }
    }
    return format.beginsWithCity ? rest + [full] : [full] + rest
  }
}

extension PointDraft {
  /// The name and the address in one line.
  package var label: String { label(in: []) }

  /// Returns the name and the address in one line.
  ///
  /// - Parameter areas: the areas that the place is in, the smallest first. They give the parts that the tags lack.
  package func label(in areas: [Area]) -> String {
    guard let line = PostalAddress(tags, in: areas).line else { return name }
    return "\(name), \(line)"
  }
}

/// The order in which a country writes the parts of an address.
///
/// It is created from a template such as `{number} {street}, {city}, {state} {postcode}`: parts by name, in groups, its
/// lines, with a comma and a space between. A part that an address lacks is left out with the text before it, and a group without
/// parts is left out altogether. Spaces and the signs `-/` at the beginning of a group count as separators, which are
/// left out where nothing is before them.
struct AddressFormat: Sendable {
  private struct Element: Sendable {
    let prefix: String
    let part: PostalAddress.Part
  }

  private let groups: [[Element]]

  /// Creates a format.
  ///
  /// - Precondition: the template has known parts alone.
  init(_ template: String) {
    groups = template.split(separator: ", ").map { group in
      var elements: [Element] = []
      var rest = group[...]
      while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
        let name = rest[rest.index(after: open)..<close]
        guard let part = PostalAddress.Part(rawValue: String(name)) else {
          preconditionFailure("an address has no part {\(name)}")
        }
        elements.append(Element(prefix: String(rest[..<open]), part: part))
        rest = rest[rest.index(after: close)...]
      }
      return elements
    }
  }

  /// A Boolean value that indicates whether the larger parts come first.
  var beginsWithCity: Bool {
    let order = groups.joined().map(\.part)
    guard let city = order.firstIndex(of: .city), let street = order.firstIndex(of: .street) else { return false }
    return city < street
  }

  /// Returns the lines of an address.
  ///
  /// - Parameter text: returns a part of the address.
  func lines(_ text: (PostalAddress.Part) -> String?) -> [String] {
    var lines: [String] = []
    for group in groups {
      var written = ""
      for element in group {
        guard let part = text(element.part) else { continue }
        if written.isEmpty {
          written += element.prefix.drop { " -/".contains($0) }
        } else if element.prefix.isEmpty, Self.needSpace(written, part) {
          written += " "
        } else {
          written += element.prefix
        }
        written += part
      }
      if !written.isEmpty { lines.append(written) }
    }
    return lines
  }

  /// Returns a Boolean value that indicates whether two parts that the format writes without a space are not of a
  /// script that does so.
  private static func needSpace(_ first: String, _ second: String) -> Bool {
    first.utf8.last?.isASCIIAlphanumeric == true && second.utf8.first?.isASCIIAlphanumeric == true
  }
}

// MARK: Countries

extension AddressFormat {
  /// Returns the format of a country, by its ISO 3166-1 alpha-2 code; the most common one where the country is not
  /// known.
  static func format(ofCountry code: String?) -> AddressFormat {
    guard let code, let index = indices[ExactText(code)] else { return other }
    return formats[index]
  }

  /// The codes of the countries that have a format of their own.
  static var countries: [String] { table.flatMap { $0.countries.split(separator: " ").map(String.init) } }

  private static let other = AddressFormat("{building}, {street} {number}, {postcode} {city}, {state}")

  private static let formats = table.map { AddressFormat($0.template) }

  private static let indices = Dictionary(
    uniqueKeysWithValues: table.enumerated().flatMap { index, row in
      row.countries.split(separator: " ").map { (ExactText(String($0)), index) }
    })

  /// The formats, by the Universal Postal Union's guides to the addresses of its members, without the line of the
  /// country.
  private static let table: [(countries: String, template: String)] = [
    (
      "AL AT BA BE BG CH CY CZ DE DK EE FI FO GL GR HR IS LI LT LV ME MK NL NO PL PT RO RS SE SI SK",
      "{building}, {street} {number}, {postcode} {city}"
    ),
    ("DZ FR GF GP LU MA MC MQ NC PF RE SN TN", "{building}, {number} {street}, {postcode} {city}"),
    ("IT SM VA", "{building}, {street} {number}, {postcode} {city} {state}"),
    ("AD ES", "{building}, {street}, {number}, {postcode} {city}"),
    ("HU", "{postcode} {city}, {street} {number}"),
    ("GB GG IM JE", "{unit}, {building}, {number} {street}, {district}, {city}, {postcode}"),
    ("IE MT", "{unit}, {building}, {number} {street}, {district}, {city}, {county}, {postcode}"),
    ("AS GU MP PR US VI", "{building}, {number} {street} {unit}, {city}, {state} {postcode}"),
    ("CA", "{building}, {unit}-{number} {street}, {city}, {state} {postcode}"),
    ("AU", "{building}, {unit}/{number} {street}, {city} {state} {postcode}"),
    ("NZ", "{building}, {unit}/{number} {street}, {district}, {city} {postcode}"),
    ("MX", "{building}, {street} {number}, {district}, {postcode} {city}, {state}"),
    ("BR", "{building}, {street}, {number}, {district}, {city} - {state}, {postcode}"),
    ("AR BO CL CR CU DO EC GT HN NI PA PY SV UY VE", "{building}, {street} {number}, {postcode} {city}, {state}"),
    ("CO", "{building}, {street} {number}, {district}, {city}, {state}, {postcode}"),
    ("PE", "{building}, {street} {number}, {district}, {city} {postcode}"),
    ("JP", "〒{postcode} {state}{city}{district}{neighbourhood}{block}-{number}"),
    ("KR", "{state} {city} {district} {street} {number}, {postcode}"),
    ("CN MO TW", "{postcode} {state}{city}{district}{street}{number}"),
    ("HK", "{building}, {number} {street}, {district}, {city}"),
    ("SG", "{building}, {number} {street}, {unit}, {city} {postcode}"),
    ("MY", "{building}, {number}, {street}, {district}, {postcode} {city}, {state}"),
    ("ID", "{building}, {street} {number}, {district}, {city} {postcode}, {state}"),
    ("PH", "{building}, {number} {street}, {district}, {postcode} {city}, {state}"),
    ("TH", "{building}, {number} {street}, {district}, {city}, {state} {postcode}"),
    ("KH LA VN", "{building}, {number} {street}, {district}, {city}, {state} {postcode}"),
    ("BD IN LK NP PK", "{building}, {number} {street}, {neighbourhood}, {district}, {city} {postcode}, {state}"),
    ("BY KG KZ RU TJ TM UZ", "{street}, {number}, {city}, {state}, {postcode}"),
    ("AM AZ GE MD MN UA", "{street}, {number}, {city}, {postcode}"),
    ("IR", "{state}, {city}, {district}, {street}, {number}, {postcode}"),
    ("TR", "{district}, {street} {number}, {postcode} {city}, {state}"),
    ("IL PS", "{street} {number}, {city} {postcode}"),
    ("BH EG IQ JO KW LB OM SA", "{building}, {number} {street}, {district}, {city} {postcode}"),
    ("AE QA", "{building}, {number} {street}, {district}, {city}"),
    ("ZA", "{unit}, {building}, {number} {street}, {district}, {city}, {postcode}"),
    ("ET GH KE NG TZ UG ZM ZW", "{building}, {number} {street}, {district}, {city} {postcode}, {state}"),
  ]
}
