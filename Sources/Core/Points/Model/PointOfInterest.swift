import Basics

/// A stored point of interest: the values that clients set, with the id, the version and the times of the service.
public struct PointOfInterest: Hashable, Sendable, Identifiable {
  /// The id, unique in the store.
  public let id: PointID

  /// The values that clients set.
  public let draft: PointDraft

  /// A number that grows with each change and never repeats for an id, across deletion and re-creation too.
  public let version: Int64

  /// The time of its creation.
  public let createdAt: Timestamp

  /// The time of its last change.
  public let updatedAt: Timestamp

  /// The greatest version that stores increment, 2⁵², which as microseconds is the year 2112; JavaScript represents
  /// twice as much exactly. A greater one can only come from outside: the next version of its place is then the store's
  /// next, as if the place had none.
  public static let maximumCountedVersion: Int64 = 1 << 52

  /// A number above every version that a store assigns, 2⁵³.
  public static let versionLimit: Int64 = 1 << 53

  public init(id: PointID, draft: PointDraft, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.id = id
    self.draft = draft
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}

/// A moment in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// Microseconds since 1970-01-01T00:00:00Z.
  public let microsecondsSinceEpoch: Int64

  /// Creates a timestamp from microseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public init(microsecondsSinceEpoch: Int64) {
    self.microsecondsSinceEpoch = microsecondsSinceEpoch
  }

  /// Whole milliseconds since 1970-01-01T00:00:00Z, rounded down.
  @inlinable
  public var millisecondsSinceEpoch: Int64 {
    let (quotient, remainder) = microsecondsSinceEpoch.quotientAndRemainder(dividingBy: 1000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// Whole minutes since 1970-01-01T00:00:00Z, rounded down.
  package var minutesSinceEpoch: Int64 { Int64((Double(microsecondsSinceEpoch) / 60_000_000).rounded(.down)) }

  /// Returns a Boolean value that indicates whether the first time is earlier.
  @inlinable
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
  }
}

extension Timestamp: CustomStringConvertible {
  /// The time in UTC by RFC 3339: whole seconds, or with the digits of the fraction that are not trailing zeros.
  ///
  /// Outside the years 0 to 9999, which RFC 3339 ends at, the year has a sign or more digits.
  public var description: String { RFC3339.text(microsecondsSinceEpoch: microsecondsSinceEpoch) }

  /// The maximum number of bytes that ``write(to:)`` writes.
  public static let maximumTextLength = RFC3339.maximumLength

  /// Writes ``description`` as ASCII and returns its number of bytes; there must be room for ``maximumTextLength``
  /// bytes.
  public func write(to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    RFC3339.write(microsecondsSinceEpoch: microsecondsSinceEpoch, to: bytes)
  }
}

extension Timestamp {
  /// Creates a timestamp from a time of RFC 3339, such as `2026-11-21T10:15:00Z` or `2026-11-21T11:15:00.5+01:00`;
  /// `nil` for any other text.
  ///
  /// Digits of the fraction past the sixth are dropped. A leap second is the second before it plus one.
  public init?(rfc3339 text: some StringProtocol) {
    guard let microseconds = RFC3339.microsecondsSinceEpoch(of: text) else { return nil }
    self.init(microsecondsSinceEpoch: microseconds)
  }
}

extension Timestamp {
  /// The microseconds since the epoch from the start of the year 0 to the end of 9999, the range of RFC 3339.
  package static let storedMicroseconds: Range<Int64> = -62_167_219_200_000_000..<253_402_300_800_000_000

  package func adding(_ duration: Duration) -> Timestamp {
    Timestamp(microsecondsSinceEpoch: microsecondsSinceEpoch + Int64(duration / .microseconds(1)))
  }
}

extension Timestamp: Codable {
  /// - Throws: `DecodingError` also for a time beyond the years 0 to 9999, with which sums could overflow.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let microseconds = try container.decode(Int64.self)
    guard Self.storedMicroseconds.contains(microseconds) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "the time is beyond the years 0 to 9999")
    }
    self.init(microsecondsSinceEpoch: microseconds)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(microsecondsSinceEpoch)
  }
}
