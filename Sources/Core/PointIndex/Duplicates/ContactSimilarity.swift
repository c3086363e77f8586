import Basics
import PointDetails
import Points
import SearchWords

/// The numbers of telephones, websites and address of a place, in the form in which they are compared.
struct ComparedContact {
  private let phones: Set<ExactText>
  private let websites: [(host: String, page: String)]

  /// The street, the number, the postal code and the city; `nil` for a part that the address lacks.
  private let address: [String?]

  /// The weights of the parts of an address.
  private static let addressWeights = [4, 4, 2, 2]

  init(_ tags: Tags) {
    let details = ContactDetails(tags)
    phones = Set(details.phones.map { ExactText($0) })
    websites = details.websites.map(Self.parts)
    let parts = [details.address.street, details.address.houseNumber, details.address.postcode, details.address.city]
    address = parts.map { (part: String?) -> String? in
      guard let part else { return nil }
      let letters = NormalizedText(part).text.utf8.filter { $0 != UInt8(ascii: " ") }
      return letters.isEmpty ? nil : String(decoding: letters, as: UTF8.self)
    }
  }

  /// Returns the host of a website without `www.`, and the host with the path without a slash at the end.
  private static func parts(of website: String) -> (host: String, page: String) {
    // Behind `http://` or `https://`.
    var rest = website.lowercased().drop { $0 != ":" }.dropFirst(3).prefix { $0 != "?" && $0 != "#" }
    if rest.hasPrefix("www.") { rest = rest.dropFirst(4) }
    while rest.last == "/" { rest.removeLast() }
    return (String(rest.prefix { $0 != "/" }), String(rest))
  }

  /// Returns the part of the score for the numbers of telephones, in thousandths.
  func phone(_ other: ComparedContact) -> Int? {
    if phones.isEmpty || other.phones.isEmpty { return nil }
    return phones.isDisjoint(with: other.phones) ? 0 : 1000
  }

  /// Returns the part of the score for the websites, in thousandths: less for two pages of one host.
  func website(_ other: ComparedContact) -> Int? {
    if websites.isEmpty || other.websites.isEmpty { return nil }
    var best = 0
    for left in websites {
      for right in other.websites {
        if left.page.hasSameBytes(as: right.page) { return 1000 }
        if left.host.hasSameBytes(as: right.host) { best = 500 }
      }
    }
    return best
  }

  /// Returns the part of the score for the addresses, in thousandths; `nil` unless both have a street or both have a
  /// postal code.
  func address(_ other: ComparedContact) -> Int? {
    func isKnown(_ part: Int) -> Bool { address[part] != nil && other.address[part] != nil }
    guard isKnown(0) || isKnown(2) else { return nil }
    var (same, known) = (0, 0)
    for (part, weight) in Self.addressWeights.enumerated() {
      guard let left = address[part], let right = other.address[part] else { continue }
      known += weight
      if left.hasSameBytes(as: right) { same += weight }
    }
    return 1000 * same / known
  }
}

/// The kinds of tags that a place has, of those that are compared.
struct ContactKinds: OptionSet, BitwiseCopyable {
  let rawValue: UInt8

  static let phone = ContactKinds(rawValue: 1)
  static let website = ContactKinds(rawValue: 2)
  static let address = ContactKinds(rawValue: 4)

  /// Adds the kind of a tag's key.
  mutating func add(_ key: UnsafeBufferPointer<UInt8>) {
    func ends(with suffix: StaticString) -> Bool {
      let suffix = UnsafeBufferPointer(start: suffix.utf8Start, count: suffix.utf8CodeUnitCount)
      return key.count >= suffix.count && key.suffix(suffix.count).elementsEqual(suffix)
    }
    if ends(with: "phone") || ends(with: "mobile") { insert(.phone) }
    if ends(with: "website") || ends(with: "url") { insert(.website) }
    if ends(with: ":street") || ends(with: ":place") || ends(with: ":postcode") { insert(.address) }
  }
}
