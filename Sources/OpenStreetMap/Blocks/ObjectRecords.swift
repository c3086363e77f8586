/// The indexes of a tag's key and value in the string table of a block.
struct TagPair: Sendable, BitwiseCopyable {
  let key: UInt32
  let value: UInt32
}

/// A node as it is in a block.
struct NodeRecord {
  let id: Int64
  let version: Int32?
  let position: FixedPosition
}

/// A way as it is in a block.
struct WayRecord {
  var id: Int64 = 0
  var version: Int32?
  var refs: WireReader
  /// The positions of the nodes, if the file has them (`LocationsOnWays`).
  var latitudes: WireReader
  var longitudes: WireReader
}

/// A relation as it is in a block.
struct RelationRecord {
  var id: Int64 = 0
  var version: Int32?
  var roles: WireReader
  var ids: WireReader
  var kinds: WireReader
}
