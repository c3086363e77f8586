/// A row of an import that is on its way, in eight bytes.
struct StagedRow: Sendable {
  /// The row's number, or the greatest there can be.
  let number: UInt32

  /// Where what it says is to be found.
  var source: Source

  /// Among the entries of a stage, or in the base that its rows are held against.
  struct Source: Sendable {
    private static let isKnown: UInt32 = 1 << 31
    private static let hasID: UInt32 = 1 << 30
    private static let isChanged: UInt32 = 1 << 29
    private static let greatestPosition = isChanged - 1

    private let bits: UInt32

    /// Among the entries.
    init(entry: Int) {
      precondition(entry < Self.isKnown)
      bits = UInt32(entry)
    }

    /// In the base; `nil` where that is so large that its places can't be told by a number of this size.
    ///
    /// - Parameters:
    ///   - hasID: whether the row has the id of the place there.
    ///   - isChanged: whether it says something else than the place there.
    init?(position: Int, hasID: Bool, isChanged: Bool) {
      guard position <= Self.greatestPosition else { return nil }
      bits = UInt32(position) | Self.isKnown | (hasID ? Self.hasID : 0) | (isChanged ? Self.isChanged : 0)
    }

    /// Which entry it is; `nil` where it is in the base.
    var entry: Int? { bits & Self.isKnown == 0 ? Int(bits) : nil }

    /// Where in the base.
    var position: Int { Int(bits & Self.greatestPosition) }

    /// Whether the row has the id of the place in the base.
    var hasID: Bool { bits & Self.hasID != 0 }

    /// Whether the row says something else than the place in the base.
    var isChanged: Bool { bits & Self.isChanged != 0 }
  }
}
