public import Foundation

/// The typed values of the tags of a place, in one form whatever the data set. Values that the service could not validate
/// are left out, and remain in ``PointOfInterest/tags``.
///
/// ```swift
/// let details = try await waymark.details(of: id)
/// print(details.address?.lines ?? [], details.phones)
/// ```
public struct PlaceDetails: Hashable, Sendable, Decodable {
  /// The states of a business.
  ///
  /// ```swift
  /// let isGone = details.status == PlaceDetails.Status.closed
  /// ```
  public enum Status: String, Hashable, Sendable, Decodable, CaseIterable {
    case operating
    case temporarilyClosed = "temporarily_closed"
    case closed
  }

  /// The parts of an address, as the tags have them.
  ///
  /// ```swift
  /// let address: PlaceDetails.Address? = details.address
  /// print(address?.city ?? "")
  /// ```
  public struct Address: Hashable, Sendable, Decodable {
    /// The lines in the order that is usual in the country, without the country.
    public var lines: [String]

    /// The number of the house.
    public var houseNumber: String?

    /// The street.
    public var street: String?

    /// The neighbourhood, a part of the district.
    public var neighbourhood: String?

    /// The part of the city.
    public var district: String?

    /// The city, town or village.
    public var city: String?

    /// The postal code.
    public var postcode: String?

    /// The county.
    public var county: String?

    /// The state, province or region.
    public var state: String?

    /// The code of ISO 3166-1.
    public var country: String?
  }

  /// The page of a place in a social network.
  ///
  /// ```swift
  /// let pages: [PlaceDetails.SocialPage] = details.social
  /// print(pages.first?.url ?? baseURL)
  /// ```
  public struct SocialPage: Hashable, Sendable, Decodable {
    /// The name of the network in lower case, for example `instagram`.
    public var network: String

    /// The address of the page.
    public var url: URL
  }

  /// The brand of a place.
  ///
  /// ```swift
  /// let brand: PlaceDetails.Brand? = details.brand
  /// print(brand?.name ?? "")
  /// ```
  public struct Brand: Hashable, Sendable, Decodable {
    /// The name.
    public var name: String?

    /// The identifier in Wikidata.
    public var wikidata: String?
  }

  /// The state of the business.
  public var status: Status

  /// The address.
  public var address: Address?

  /// The numbers of telephones in the form of E.164.
  public var phones: [String]

  /// The addresses of websites.
  public var websites: [URL]

  /// The addresses of e-mail.
  public var emails: [String]

  /// The pages in social networks, one of each.
  public var social: [SocialPage]

  /// The brand.
  public var brand: Brand?

  /// The name of the operator.
  public var `operator`: String?

  /// The access with a wheelchair: `yes`, `limited`, `no` or `designated`.
  public var wheelchair: String?

  /// The accepted means of payment, for example `cash`.
  public var payment: [String]

  /// The diets that there is food for, for example `vegan`.
  public var diet: [String]

  /// The kind of the entrance, for example `main`.
  public var entrance: String?

  /// The licence of the data set.
  public var licence: String?

  /// The attribution of the data set.
  public var attribution: String?

  private enum CodingKeys: String, CodingKey {
    case status, address, phones, websites, emails, social, brand, `operator`, wheelchair, payment, diet, entrance
    case licence, attribution
  }

  /// Decodes the service's JSON; absent lists are empty.
  ///
  /// - Throws: `DecodingError` where a member has an unexpected type.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] {
      try members.decodeIfPresent([Element].self, forKey: key) ?? []
    }
    status = try members.decode(Status.self, forKey: .status)
    address = try members.decodeIfPresent(Address.self, forKey: .address)
    phones = try list(.phones)
    websites = try list(.websites)
    emails = try list(.emails)
    social = try list(.social)
    brand = try members.decodeIfPresent(Brand.self, forKey: .brand)
    `operator` = try members.decodeIfPresent(String.self, forKey: .operator)
    wheelchair = try members.decodeIfPresent(String.self, forKey: .wheelchair)
    payment = try list(.payment)
    diet = try list(.diet)
    entrance = try members.decodeIfPresent(String.self, forKey: .entrance)
    licence = try members.decodeIfPresent(String.self, forKey: .licence)
    attribution = try members.decodeIfPresent(String.self, forKey: .attribution)
  }
}
