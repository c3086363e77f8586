/// A block of objects: the message `PrimitiveBlock` of the PBF format, read in place.
struct PrimitiveBlock: Sendable {
  /// The maximum number of strings. Blocks have at most 8,000 objects by convention.
  private static let maximumStrings = 1 << 21

  private let raw: RawBlock
  private let strings: [(start: UInt32, count: UInt32)]
  private let idsWrapAround: Bool
  private let granularity: Int64
  private let latitudeOffset: Int64
  private let longitudeOffset: Int64
  private let latitudes: ClosedRange<Int64>
  private let longitudes: ClosedRange<Int64>

  /// Creates a block from its bytes. The sums of ids may wrap around in blocks that `BlockWriter` has written.
  ///
  /// - Throws: ``OSMError/malformed(offset:_:)``.
  init(_ raw: RawBlock, idsWrapAround: Bool = false) throws(OSMError) {
    self.raw = raw
    self.idsWrapAround = idsWrapAround
    var reader = WireReader(raw.bytes, offset: raw.offset)
    var (granularity, latitudeOffset, longitudeOffset): (Int64, Int64, Int64) = (100, 0, 0)
    var strings: [(UInt32, UInt32)] = []
    while let tag = try reader.tag() {
      switch tag {
      case 0x0A:
        var table = try reader.message()
        while let tag = try table.tag() {
          guard tag == 0x0A else {
            try table.skip(tag)
            continue
          }
          let string = try table.message()
          guard strings.count < PrimitiveBlock.maximumStrings else {
            throw reader.malformed("a block has too many strings")
          }
          // A block has at most 32 MiB.
          let start = raw.bytes.baseAddress.map { string.next - $0 } ?? 0
          strings.append((UInt32(start), UInt32(string.bytes.count)))
        }
      case 17 << 3: granularity = Int64(bitPattern: try reader.varint())
      case 19 << 3: latitudeOffset = Int64(bitPattern: try reader.varint())
      case 20 << 3: longitudeOffset = Int64(bitPattern: try reader.varint())
      default: try reader.skip(tag)
      }
    }
    // Offsets of up to a full turn, in nanodegrees.
    let offsets = -360_000_000_000...360_000_000_000 as ClosedRange<Int64>
    guard (1...1_000_000_000).contains(granularity), offsets ~= latitudeOffset, offsets ~= longitudeOffset else {
      throw reader.malformed("a block has an invalid granularity or offset")
    }
    self.strings = strings
    self.granularity = granularity
    self.latitudeOffset = latitudeOffset
    self.longitudeOffset = longitudeOffset
    latitudes = PrimitiveBlock.range(90_000_000_000, latitudeOffset, granularity)
    longitudes = PrimitiveBlock.range(180_000_000_000, longitudeOffset, granularity)
  }

  /// Returns the numbers that stand for -limit…limit nanodegrees.
  private static func range(_ limit: Int64, _ offset: Int64, _ granularity: Int64) -> ClosedRange<Int64> {
    let low = -((limit + offset) / granularity)
    return low...max(low, (limit - offset) / granularity)
  }

  var stringCount: Int { strings.count }

  /// Returns the bytes of a string.
  @inline(__always)
  func bytes(_ index: UInt32) throws(OSMError) -> UnsafeBufferPointer<UInt8> {
    guard Int(index) < strings.count else { throw malformed("a tag or role refers to a string that does not exist") }
    let string = strings[Int(index)]
    return UnsafeBufferPointer(rebasing: raw.bytes[Int(string.start)..<Int(string.start + string.count)])
  }

  /// Returns a string. Invalid UTF-8 is replaced with U+FFFD.
  func text(_ index: UInt32) throws(OSMError) -> String { String(decoding: try bytes(index), as: UTF8.self) }

  /// Returns tags as text.
  func tags(_ pairs: some Collection<TagPair>) throws(OSMError) -> [OSMTag] {
    var tags: [OSMTag] = []
    tags.reserveCapacity(pairs.count)
    for pair in pairs { tags.append(OSMTag(try text(pair.key), try text(pair.value))) }
    return tags
  }

  func malformed(_ detail: String) -> OSMError { .malformed(offset: raw.offset, detail) }

  // MARK: - Objects

  /// Returns the kinds of objects in the block.
  func kinds() throws(OSMError) -> ObjectKinds {
    var kinds: ObjectKinds = []
    try forEachMember { tag, _ throws(OSMError) in
      switch tag {
      case 0x0A, 0x12: kinds.insert(.nodes)
      case 0x1A: kinds.insert(.ways)
      case 0x22: kinds.insert(.relations)
      default: break
      }
    }
    return kinds
  }

  /// Calls the closure with the fields of all groups: 0x0A a node, 0x12 dense nodes, 0x1A a way, 0x22 a relation.
  @inline(__always)
  private func forEachMember(_ body: (UInt64, WireReader) throws(OSMError) -> Void) throws(OSMError) {
    var reader = WireReader(raw.bytes, offset: raw.offset)
    while let tag = try reader.tag() {
      guard tag == 0x12 else {
        try reader.skip(tag)
        continue
      }
      var group = try reader.message()
      while let tag = try group.tag() {
        guard tag & 7 == 2 else {
          try group.skip(tag)
          continue
        }
        try body(tag, try group.message())
      }
    }
  }

  /// Calls the closure with each node and its tags, and returns the kinds of objects in the block.
  @inline(__always)
  func forEachNode(_ body: (NodeRecord, [TagPair]) throws(OSMError) -> Void) throws(OSMError) -> ObjectKinds {
    var kinds: ObjectKinds = []
    var pairs: [TagPair] = []
    try forEachMember { tag, message throws(OSMError) in
      switch tag {
      case 0x0A:
        kinds.insert(.nodes)
        try body(try node(message, &pairs), pairs)
      case 0x12:
        kinds.insert(.nodes)
        try forEachDenseNode(message, &pairs, body)
      case 0x1A: kinds.insert(.ways)
      case 0x22: kinds.insert(.relations)
      default: break
      }
    }
    return kinds
  }

  private func node(_ message: WireReader, _ pairs: inout [TagPair]) throws(OSMError) -> NodeRecord {
    var reader = message
    var (keys, values) = (reader.empty, reader.empty)
    var id: Int64?
    var (latitude, longitude): (Int64, Int64) = (.max, .max)
    var version: Int32?
    while let tag = try reader.tag() {
      switch tag {
      case 0x08: id = try reader.signed()
      case 0x12: keys = try reader.message()
      case 0x1A: values = try reader.message()
      case 0x22: version = try self.version(try reader.message())
      case 0x40: latitude = try reader.signed()
      case 0x48: longitude = try reader.signed()
      default: try reader.skip(tag)
      }
    }
    guard let id else { throw malformed("a node has no id") }
    try read(keys, values, into: &pairs)
    return NodeRecord(id: id, version: version, position: try position(latitude, longitude, .node, id))
  }

  @inline(__always)
  private func forEachDenseNode(
    _ message: WireReader, _ pairs: inout [TagPair], _ body: (NodeRecord, [TagPair]) throws(OSMError) -> Void
  ) throws(OSMError) {
    var reader = message
    var (ids, latitudes, longitudes) = (reader.empty, reader.empty, reader.empty)
    var (tags, versions) = (reader.empty, reader.empty)
    while let tag = try reader.tag() {
      switch tag {
      case 0x0A: ids = try reader.message()
      case 0x2A:
        var info = try reader.message()
        while let tag = try info.tag() {
          if tag == 0x0A { versions = try info.message() } else { try info.skip(tag) }
        }
      case 0x42: latitudes = try reader.message()
      case 0x4A: longitudes = try reader.message()
      case 0x52: tags = try reader.message()
      default: try reader.skip(tag)
      }
    }
    let (hasTags, hasVersions) = (!tags.isAtEnd, !versions.isAtEnd)
    var (id, latitude, longitude): (Int64, Int64, Int64) = (0, 0, 0)
    while !ids.isAtEnd {
      id = try sum(id, try ids.signed(), .node)
      latitude &+= try latitudes.signed()
      longitude &+= try longitudes.signed()
      let version = hasVersions ? Int32(truncatingIfNeeded: try versions.varint()) : -1
      if !pairs.isEmpty { pairs.removeAll(keepingCapacity: true) }
      if hasTags {
        while true {
          let key = try tags.varint()
          if key == 0 { break }
          pairs.append(try pair(key, try tags.varint()))
        }
      }
      let node = NodeRecord(
        id: id, version: version < 0 ? nil : version, position: try position(latitude, longitude, .node, id))
      try body(node, pairs)
    }
    guard latitudes.isAtEnd, longitudes.isAtEnd, tags.isAtEnd, versions.isAtEnd else {
      throw malformed("dense nodes have different numbers of ids, coordinates, tags or versions")
    }
  }

  /// Calls the closure with each way and its tags, and returns the kinds of objects in the block.
  func forEachWay(_ body: (WayRecord, [TagPair]) throws(OSMError) -> Void) throws(OSMError) -> ObjectKinds {
    var kinds: ObjectKinds = []
    var pairs: [TagPair] = []
    try forEachMember { tag, message throws(OSMError) in
      switch tag {
      case 0x0A, 0x12: kinds.insert(.nodes)
      case 0x22: kinds.insert(.relations)
      case 0x1A:
        kinds.insert(.ways)
        var reader = message
        var (keys, values) = (reader.empty, reader.empty)
        var way = WayRecord(refs: reader.empty, latitudes: reader.empty, longitudes: reader.empty)
        while let tag = try reader.tag() {
          switch tag {
          case 0x08: way.id = Int64(bitPattern: try reader.varint())
          case 0x12: keys = try reader.message()
          case 0x1A: values = try reader.message()
          case 0x22: way.version = try version(try reader.message())
          case 0x42: way.refs = try reader.message()
          case 0x4A: way.latitudes = try reader.message()
          case 0x52: way.longitudes = try reader.message()
          default: try reader.skip(tag)
          }
        }
        try read(keys, values, into: &pairs)
        try body(way, pairs)
      default: break
      }
    }
    return kinds
  }

  /// Calls the closure with each relation and its tags, and returns the kinds of objects in the block.
  func forEachRelation(_ body: (RelationRecord, [TagPair]) throws(OSMError) -> Void) throws(OSMError) -> ObjectKinds {
    var kinds: ObjectKinds = []
    var pairs: [TagPair] = []
    try forEachMember { tag, message throws(OSMError) in
      switch tag {
      case 0x0A, 0x12: kinds.insert(.nodes)
      case 0x1A: kinds.insert(.ways)
      case 0x22:
        kinds.insert(.relations)
        var reader = message
        var (keys, values) = (reader.empty, reader.empty)
        var relation = RelationRecord(roles: reader.empty, ids: reader.empty, kinds: reader.empty)
        while let tag = try reader.tag() {
          switch tag {
          case 0x08: relation.id = Int64(bitPattern: try reader.varint())
          case 0x12: keys = try reader.message()
          case 0x1A: values = try reader.message()
          case 0x22: relation.version = try version(try reader.message())
          case 0x42: relation.roles = try reader.message()
          case 0x4A: relation.ids = try reader.message()
          case 0x52: relation.kinds = try reader.message()
          default: try reader.skip(tag)
          }
        }
        try read(keys, values, into: &pairs)
        try body(relation, pairs)
      default: break
      }
    }
    return kinds
  }

  /// Calls the closure with the ids of a way's nodes.
  @inline(__always)
  func forEachRef(of way: WayRecord, _ body: (Int64) throws(OSMError) -> Void) throws(OSMError) {
    var refs = way.refs
    var id: Int64 = 0
    while !refs.isAtEnd {
      id = try sum(id, try refs.signed(), .node)
      try body(id)
    }
  }

  /// Calls the closure with the positions that the way itself has.
  func forEachOwnPosition(of way: WayRecord, _ body: (FixedPosition) -> Void) throws(OSMError) {
    var (latitudes, longitudes) = (way.latitudes, way.longitudes)
    var (latitude, longitude): (Int64, Int64) = (0, 0)
    while !latitudes.isAtEnd {
      latitude &+= try latitudes.signed()
      longitude &+= try longitudes.signed()
      // Nodes that the writer did not know have the position 0, 0 with a marker outside all ranges.
      guard self.latitudes ~= latitude, self.longitudes ~= longitude else { continue }
      body(try position(latitude, longitude, .way, way.id))
    }
  }

  /// Calls the closure with the members of a relation: kind, id and role. Members of unknown kinds are malformed.
  func forEachMember(
    of relation: RelationRecord, _ body: (OSMKind, Int64, UInt32) throws(OSMError) -> Void
  ) throws(OSMError) {
    var (roles, ids, kinds) = (relation.roles, relation.ids, relation.kinds)
    var id: Int64 = 0
    while !ids.isAtEnd {
      id = try sum(id, try ids.signed(), .relation)
      let role = UInt32(truncatingIfNeeded: try roles.varint())
      switch try kinds.varint() {
      case 0: try body(.node, id, role)
      case 1: try body(.way, id, role)
      case 2: try body(.relation, id, role)
      default: throw malformed("a member of relation \(relation.id) has an unknown type")
      }
    }
    guard roles.isAtEnd, kinds.isAtEnd else {
      throw malformed("relation \(relation.id) has different numbers of members, roles and types")
    }
  }

  // MARK: - Values

  @inline(__always)
  private func sum(_ value: Int64, _ delta: Int64, _ kind: OSMKind) throws(OSMError) -> Int64 {
    let (sum, hasOverflow) = value.addingReportingOverflow(delta)
    guard !hasOverflow || idsWrapAround else { throw .idOutOfRange(kind, "\(value) + \(delta)") }
    return sum
  }

  @inline(__always)
  private func pair(_ key: UInt64, _ value: UInt64) throws(OSMError) -> TagPair {
    guard key < UInt64(strings.count), value < UInt64(strings.count) else {
      throw malformed("a tag refers to a string that does not exist")
    }
    return TagPair(key: UInt32(key), value: UInt32(value))
  }

  private func read(_ keys: WireReader, _ values: WireReader, into pairs: inout [TagPair]) throws(OSMError) {
    var (keys, values) = (keys, values)
    pairs.removeAll(keepingCapacity: true)
    while !keys.isAtEnd { pairs.append(try pair(try keys.varint(), try values.varint())) }
    guard values.isAtEnd else { throw malformed("an object has different numbers of keys and values") }
  }

  private func version(_ info: WireReader) throws(OSMError) -> Int32? {
    var info = info
    while let tag = try info.tag() {
      guard tag == 0x08 else {
        try info.skip(tag)
        continue
      }
      let version = Int32(truncatingIfNeeded: try info.varint())
      return version < 0 ? nil : version
    }
    return nil
  }

  @inline(__always)
  private func position(
    _ latitude: Int64, _ longitude: Int64, _ kind: OSMKind, _ id: Int64
  ) throws(OSMError) -> FixedPosition {
    guard latitudes ~= latitude, longitudes ~= longitude else {
      throw .invalidCoordinate(kind, id, "its latitude is not from -90 to 90, or its longitude not from -180 to 180")
    }
    guard granularity != 100 || latitudeOffset | longitudeOffset != 0 else {
      return FixedPosition(latitude: Int32(latitude), longitude: Int32(longitude))
    }
    return FixedPosition(
      latitude: fixed(latitudeOffset + granularity * latitude),
      longitude: fixed(longitudeOffset + granularity * longitude))
  }

  private func fixed(_ nanodegrees: Int64) -> Int32 {
    Int32((nanodegrees + (nanodegrees < 0 ? -50 : 50)) / 100)
  }
}

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

/// A reader of the wire format of protocol buffers, which copies nothing.
///
/// The caller keeps the bytes alive. A field is known by its tag, the number and the wire type together, so that a
/// known number with another wire type is skipped like an unknown field.
struct WireReader {
  private(set) var next: UnsafePointer<UInt8>
  let end: UnsafePointer<UInt8>

  /// The position of the blob in the file, for errors.
  let offset: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, offset: Int) {
    // An empty buffer may have no address.
    next = bytes.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
    end = next + bytes.count
    self.offset = offset
  }

  private init(from start: UnsafePointer<UInt8>, to end: UnsafePointer<UInt8>, offset: Int) {
    next = start
    self.end = end
    self.offset = offset
  }

  /// A reader of no bytes.
  var empty: WireReader { WireReader(from: end, to: end, offset: offset) }

  var isAtEnd: Bool { next == end }

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: next, count: end - next) }

  /// Returns the tag of the next field, or nil at the end.
  @inline(__always)
  mutating func tag() throws(OSMError) -> UInt64? { isAtEnd ? nil : try varint() }

  @inline(__always)
  mutating func varint() throws(OSMError) -> UInt64 {
    guard next < end else { throw malformed("a number is missing") }
    let byte = next.pointee
    guard byte >= 0x80 else {
      next += 1
      return UInt64(byte)
    }
    return try longVarint()
  }

  private mutating func longVarint() throws(OSMError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while next < end {
      let byte = next.pointee
      next += 1
      // The tenth byte has room for one bit.
      guard shift < 63 || byte <= 1 else { throw malformed("a number has more than 64 bits") }
      value |= UInt64(byte & 0x7F) &<< shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw malformed("a number is incomplete")
  }

  /// Returns a number in zigzag encoding (`sint64`).
  @inline(__always)
  mutating func signed() throws(OSMError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// Returns a reader of a field with a length, and moves past it.
  @inline(__always)
  mutating func message() throws(OSMError) -> WireReader {
    let count = try varint()
    guard count <= UInt64(end - next) else { throw malformed("a field is longer than what contains it") }
    let start = next
    next += Int(count)
    return WireReader(from: start, to: next, offset: offset)
  }

  /// Moves past the value of a field.
  mutating func skip(_ tag: UInt64) throws(OSMError) {
    guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw malformed("a field has an invalid number") }
    switch tag & 7 {
    case 0: _ = try varint()
    case 1: try advance(8)
    case 2: _ = try message()
    case 5: try advance(4)
    default: throw malformed("a field has an invalid wire type")
    }
  }

  private mutating func advance(_ count: Int) throws(OSMError) {
    guard count <= end - next else { throw malformed("a field is incomplete") }
    next += count
  }

  func malformed(_ detail: String) -> OSMError { .malformed(offset: offset, detail) }
}
