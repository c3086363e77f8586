import Points

/// A row of an import that is only rehearsed: what it would do, and what it is told apart from other rows by.
///
/// Ids and origins are hashes of 62 bits, which each process makes in another way: that two of n million rows are taken for
/// one has a chance of n² in ten million, and costs a rehearsal a wrong count.
struct StagedIdentity: StagedEntry {
  /// What the row would do if it were alone.
  enum Outcome: UInt64 {
    case created
    case updated
    case ambiguous
  }

  private static let outcomeMask: UInt64 = 0b11

  // A hash of zeros stands for none; the two bits behind the first one hold the outcome.
  private let idBits: UInt64
  private let originBits: UInt64

  init(_ row: ImportRow, against base: Snapshot) {
    let owner = row.place.origin.flatMap { base.location(of: $0) }.map { base.id(at: $0) }
    let outcome: Outcome =
      if let id = row.id, let owner, owner != id {
        .ambiguous
      } else if owner != nil || row.id.flatMap({ base.location(of: $0) }) != nil {
        .updated
      } else {
        .created
      }
    self.init(id: row.id ?? owner, origin: row.place.origin, outcome)
  }

  init(_ point: PointOfInterest, hasID: Bool) {
    self.init(id: point.id, origin: point.place.origin, .updated)
  }

  private init(id: PointID?, origin: Place.Origin?, _ outcome: Outcome) {
    idBits = Self.bits(of: id?.hashValue) | outcome.rawValue
    originBits = Self.bits(of: origin?.exactHash)
  }

  private static func bits(of hash: Int?) -> UInt64 {
    hash.map { max(UInt64(bitPattern: Int64($0)) & ~outcomeMask, outcomeMask + 1) } ?? 0
  }

  /// A row's changes to other things than its id and origin don't make it another.
  static func isKnown(_ place: Place, from former: Place) -> Bool { place.origin.isIdentical(to: former.origin) }

  /// What the row would do if it were alone.
  var outcome: Outcome { Outcome(rawValue: idBits & Self.outcomeMask) ?? .created }

  var idHash: Int? { Self.hash(of: idBits) }

  var originHash: Int? { Self.hash(of: originBits) }

  func hasSameID(as other: StagedIdentity) -> Bool { idHash == other.idHash }

  func hasSameOrigin(as other: StagedIdentity) -> Bool { originHash == other.originHash }

  private static func hash(of bits: UInt64) -> Int? {
    let hash = bits >> outcomeMask.nonzeroBitCount
    return hash == 0 ? nil : Int(hash)
  }
}
