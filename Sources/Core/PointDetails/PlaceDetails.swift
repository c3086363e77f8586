import Basics
import JSONText
package import Points

/// The typed values of the tags of a place, in one form whatever the data set: those of OpenStreetMap, of Overture and of tables.
///
/// Values that do not validate are left out, and remain in the tags.
package struct PlaceDetails: Sendable {
  /// The address.
  package let address: PostalAddress

  /// The numbers of telephones in the form of E.164, such as `+4315123456`; those of an unknown country are left out.
  package let phones: [String]

  /// The addresses of websites: `http` or `https`.
  package let websites: [String]

  /// The addresses of e-mail.
  package let emails: [String]

  /// The addresses of pages of social networks, by the names of the networks.
  package let social: [(network: String, url: String)]

  /// The name of the brand, and its identifier in Wikidata.
  package let brand: (name: String?, wikidata: String?)

  /// The name of the operator.
  package let `operator`: String?

  /// The access with a wheelchair.
  package let wheelchair: Wheelchair?

  /// The accepted means of payment, such as `cash` and `visa`.
  package let payment: [String]

  /// The diets that there is food for, such as `vegan`.
  package let diet: [String]

  /// The kind of the entrance, such as `main`.
  package let entrance: String?

  /// The state of the business.
  package let status: OperatingStatus

  package enum Wheelchair: String, CaseIterable, Sendable {
    case yes, limited, no, designated
  }

  /// Creates the details of a place.
  package init(_ draft: PointDraft) {
    let tags = PlaceTags(draft.tags.pairs)
    let contact = ContactDetails(draft.tags)
    (address, phones, websites) = (contact.address, contact.phones, contact.websites)
    emails = tags.list("email", "contact:email") { Self.isEmail($0) ? $0 : nil }
    social = SocialNetwork.pages(tags)
    brand = (tags["brand"], tags["brand:wikidata"].flatMap { $0.wholeMatch(of: /Q[1-9][0-9]{0,11}/) == nil ? nil : $0 })
    `operator` = tags["operator"]
    wheelchair = tags["wheelchair"].flatMap { Wheelchair(rawValue: $0) }
    payment = tags.accepted("payment:")
    diet = tags.accepted("diet:")
    entrance = tags["entrance"].flatMap { $0.wholeMatch(of: /[a-z_]{1,40}/) == nil || $0 == "no" ? nil : $0 }
    status = OperatingStatus(of: draft)
  }

  /// Returns a Boolean value that indicates whether a text has the form of an address of e-mail.
  private static func isEmail(_ text: String) -> Bool {
    text.utf8.count <= 254
      && text.wholeMatch(of: /[^\s@<>,;:"()\[\]\\]{1,64}@[A-Za-z0-9\-]{1,63}(\.[A-Za-z0-9\-]{1,63})+/) != nil
  }
}

/// The ways to reach a place, without its other details.
package struct ContactDetails: Sendable {
  package let address: PostalAddress

  /// The numbers of telephones, as in ``PlaceDetails/phones``.
  package let phones: [String]

  /// The addresses of websites, as in ``PlaceDetails/websites``.
  package let websites: [String]

  package init(_ tags: Tags) {
    let pairs = tags.pairs
    let (found, address) = (PlaceTags(pairs), PostalAddress(pairs))
    let country = address.countryCode
    self.address = address
    phones = found.list(
      "phone", "contact:phone", "mobile", "contact:mobile", "telephone", "phone:mobile"
    ) { PhoneNumber.text(of: $0, inCountry: country) }
    websites = found.list("website", "contact:website", "url") { DataSource.isAddress($0) ? $0 : nil }
  }
}

/// The state of the business that a place is.
package enum OperatingStatus: String, Hashable, Sendable, CaseIterable {
  case operating
  case temporarilyClosed = "temporarily_closed"
  case closed

  /// Creates the status of a place.
  package init(of draft: PointDraft) {
    var json = draft.tags.json
    self = json.withUTF8 { OperatingStatus(tags: $0, category: draft.category) }
  }

  /// Creates the status of a place: that of `operating_status` (Overture) or `business_status`, or else closed by a tag
  /// such as `disused=yes`, or one of a feature that is no more, such as `disused:amenity=pub`.
  ///
  /// Beside another category than that of the former feature, such a tag tells what was here before.
  ///
  /// - Parameters:
  ///   - tags: the place's tags, as ``Tags/json``.
  ///   - category: the place's category.
  package init(tags: UnsafeBufferPointer<UInt8>, category: @autoclosure () -> String?) {
    var (declared, isClosed) = (OperatingStatus?.none, false)
    JSONString.forEachMember(ofStrings: tags) { name, value in
      let key = UnsafeBufferPointer(rebasing: tags[name])
      // The keys are few; most tags begin otherwise.
      guard let kind = TagKind(key) else { return true }
      guard let text = HoursTags.text(of: UnsafeBufferPointer(rebasing: tags[value])) else { return true }
      switch kind {
      case .status: declared = Self.declared[ExactText(text.lowercased())] ?? declared
      case .flag(let status): if text.hasSameBytes(as: "yes") { declared = declared ?? status }
      case .former:
        let category = category()
        if category.map({ Self.is($0, text) }) ?? true { isClosed = true }
      }
      return true
    }
    self = declared ?? (isClosed ? .closed : .operating)
  }

  private static func `is`(_ category: String, _ value: String) -> Bool {
    category.hasSameBytes(as: value) || category.utf8.reversed().starts(with: (":" + value).utf8.reversed())
  }

  private static let declared: [ExactText: OperatingStatus] = [
    "open": .operating, "operational": .operating, "operating": .operating, "temporarily_closed": .temporarilyClosed,
    "closed_temporarily": .temporarilyClosed, "closed": .closed, "permanently_closed": .closed,
    "closed_permanently": .closed,
  ]

  /// The kinds of tags that tell the status.
  private enum TagKind {
    case status
    case flag(OperatingStatus)
    case former

    private static let exact: [([UInt8], TagKind)] = [
      (Array("\"operating_status\"".utf8), .status), (Array("\"business_status\"".utf8), .status),
      (Array("\"disused\"".utf8), .flag(.closed)), (Array("\"abandoned\"".utf8), .flag(.closed)),
      (Array("\"demolished\"".utf8), .flag(.closed)), (Array("\"permanently_closed\"".utf8), .flag(.closed)),
      (Array("\"temporarily_closed\"".utf8), .flag(.temporarilyClosed)),
    ]

    private static let prefixes = ["abandoned", "closed", "demolished", "disused", "razed", "removed", "was"]
      .map { Array("\"\($0):".utf8) }

    private static let features = [
      "amenity", "club", "craft", "healthcare", "leisure", "office", "shop", "tourism",
    ].map { Array("\($0)\"".utf8) }

    init?(_ key: UnsafeBufferPointer<UInt8>) {
      guard key.count > 5, "abcdoprtw".utf8.contains(key[1]) else { return nil }
      if let (_, kind) = Self.exact.first(where: { $0.0.count == key.count && key.elementsEqual($0.0) }) {
        self = kind
        return
      }
      guard let prefix = Self.prefixes.first(where: { key.starts(with: $0) }),
        Self.features.contains(where: { key.dropFirst(prefix.count).elementsEqual($0) })
      else { return nil }
      self = .former
    }
  }
}

/// The tags of a place by their keys.
struct PlaceTags {
  private let pairs: [(key: String, value: String)]

  init(_ pairs: [(key: String, value: String)]) {
    self.pairs = pairs
  }

  /// The value of a key, without white space at its ends; `nil` if it is empty.
  subscript(key: String) -> String? {
    guard let value = pairs.first(where: { $0.key.hasSameBytes(as: key) })?.value.trimmingWhiteSpace() else {
      return nil
    }
    return value.isEmpty ? nil : value
  }

  /// The maximum number of values of a list.
  private static let maximumCount = 20

  /// Returns the valid values of some keys, each once, in order. A value is a text, several with semicolons between, or
  /// a JSON array.
  func list(_ keys: String..., valid: (String) -> String?) -> [String] {
    var found: [String] = []
    for key in keys {
      guard let value = self[key] else { continue }
      let parts = Self.parts(of: value)
      var texts = parts.compactMap(valid)
      // An address may have a semicolon within.
      if texts.count < parts.count, let text = valid(value) { texts = [text] }
      for part in texts where !found.contains(where: { $0.hasSameBytes(as: part) }) { found.append(part) }
    }
    return Array(found.prefix(Self.maximumCount))
  }

  private static func parts(of value: String) -> [String] {
    if value.hasPrefix("["), case .array(let elements)? = try? JSONReader.value(of: value.utf8) {
      return elements.compactMap { element in
        if case .string(let text) = element { text.trimmingWhiteSpace() } else { nil }
      }
    }
    return value.split(separator: ";").map { String($0).trimmingWhiteSpace() }
  }

  /// Returns the rest of the keys with a prefix whose value is `yes` or `only`.
  func accepted(_ prefix: String) -> [String] {
    let accepted = pairs.lazy.filter { pair in
      pair.key.utf8.starts(with: prefix.utf8)
        && ["yes", "only"].contains { $0.hasSameBytes(as: pair.value.trimmingWhiteSpace()) }
    }
    return Array(
      accepted.map { String($0.key.utf8.dropFirst(prefix.utf8.count)) ?? "" }
        .filter { $0.wholeMatch(of: /[a-z0-9_]{1,50}/) != nil }.prefix(Self.maximumCount))
  }

  /// Calls the closure with the value of each of some keys.
  func forEach(_ keys: [String], _ body: (String) -> Void) {
    for key in keys { if let value = self[key] { body(value) } }
  }
}

/// A social network, by the hosts of its pages.
private enum SocialNetwork: String, CaseIterable {
  case bluesky, facebook, instagram, linkedin, mastodon, pinterest, telegram, threads, tiktok, twitter, youtube

  private var hosts: [String] {
    switch self {
    case .bluesky: ["bsky.app"]
    case .facebook: ["facebook.com", "fb.com", "fb.me"]
    case .instagram: ["instagram.com"]
    case .linkedin: ["linkedin.com"]
    case .mastodon: []
    case .pinterest: ["pinterest.com"]
    case .telegram: ["t.me", "telegram.me"]
    case .threads: ["threads.net", "threads.com"]
    case .tiktok: ["tiktok.com"]
    case .twitter: ["twitter.com", "x.com"]
    case .youtube: ["youtube.com", "youtu.be"]
    }
  }

  /// The address of a page without the name of the account; `nil` if a name is not enough.
  private var base: String? {
    switch self {
    case .bluesky: "https://bsky.app/profile/"
    case .facebook: "https://www.facebook.com/"
    case .instagram: "https://www.instagram.com/"
    case .telegram: "https://t.me/"
    case .threads: "https://www.threads.net/@"
    case .tiktok: "https://www.tiktok.com/@"
    case .twitter: "https://x.com/"
    case .youtube: "https://www.youtube.com/@"
    case .linkedin, .mastodon, .pinterest: nil
    }
  }

  /// Returns the pages that tags have, one of each network.
  static func pages(_ tags: PlaceTags) -> [(network: String, url: String)] {
    var pages: [(network: String, url: String)] = []
    func add(_ network: SocialNetwork, _ url: String) {
      if !pages.contains(where: { $0.network.hasSameBytes(as: network.rawValue) }) {
        pages.append((network.rawValue, url))
      }
    }
    for network in allCases {
      tags.forEach(["contact:\(network.rawValue)", network.rawValue]) { value in
        if let url = network.page(of: value) { add(network, url) }
      }
    }
    for url in tags.list("social", "socials", valid: { DataSource.isAddress($0) ? $0 : nil }) {
      if let network = allCases.first(where: { $0.hasPage(url) }) { add(network, url) }
    }
    return pages
  }

  private func page(of value: String) -> String? {
    if DataSource.isAddress(value) { return hosts.isEmpty || hasPage(value) ? value : nil }
    let name = value.first == "@" ? value.dropFirst() : value[...]
    guard let base, name.wholeMatch(of: /[A-Za-z0-9._\-]{1,100}/) != nil else { return nil }
    return base + name
  }

  private func hasPage(_ url: String) -> Bool {
    let host = /https?:\/\/(?:[a-z0-9\-]+\.)*?([a-z0-9\-]+\.[a-z]+)(?:[\/?#:].*)?/.ignoresCase()
    guard let match = url.wholeMatch(of: host) else { return false }
    return hosts.contains(match.1.lowercased())
  }
}
