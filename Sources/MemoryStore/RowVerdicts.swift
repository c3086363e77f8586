import Points

/// The rows of an import, as far as it takes to tell which of them mean the same place.
protocol RowIdentities {
  /// How many rows there are.
  var count: Int { get }

  /// A hash of the id that a row asks for, or else of that of the place it means; `nil` without either.
  func idHash(at index: Int) -> Int?

  /// A hash of a row's origin; `nil` without.
  func originHash(at index: Int) -> Int?

  /// Whether two rows that have an id have the same.
  func haveSameID(_ left: Int, _ right: Int) -> Bool

  /// Whether two rows that have an origin have the same.
  func haveSameOrigin(_ left: Int, _ right: Int) -> Bool
}

/// Which rows of an import count: from the last to the first, each that shares neither its id nor its origin with one
/// that counts already.
///
/// In the order of n.
struct RowVerdicts {
  private static let counts = UInt32.max

  private var superseders: ContiguousArray<UInt32>
  private var rowsByID: HashIndex
  private var rowsByOrigin: HashIndex

  /// Judges the rows.
  init(on rows: some RowIdentities) {
    superseders = ContiguousArray(repeating: Self.counts, count: rows.count)
    rowsByID = HashIndex(capacity: (0..<rows.count).count { rows.idHash(at: $0) != nil })
    rowsByOrigin = HashIndex(capacity: (0..<rows.count).count { rows.originHash(at: $0) != nil })
    for index in (0..<rows.count).reversed() {
      let (id, origin) = (rows.idHash(at: index), rows.originHash(at: index))
      let later =
        id.flatMap { rowsByID.first(hash: $0) { rows.haveSameID(Int($0), index) } }
        ?? origin.flatMap { rowsByOrigin.first(hash: $0) { rows.haveSameOrigin(Int($0), index) } }
      if let later {
        superseders[index] = later
      } else {
        if let id { rowsByID.insert(UInt32(index), hash: id) }
        if let origin { rowsByOrigin.insert(UInt32(index), hash: origin) }
      }
    }
  }

  /// The row that counts instead of this one; `nil` where this one does.
  func superseder(of index: Int) -> Int? {
    superseders[index] == Self.counts ? nil : Int(superseders[index])
  }

  /// A row that counts and whose id has that hash and is the one looked for.
  func row(idHash: Int, where isMatch: (Int) -> Bool) -> Int? {
    rowsByID.first(hash: idHash) { isMatch(Int($0)) }.map { Int($0) }
  }
}
