import Basics

/// An object as it is in XML.
struct ObjectDraft {
  struct Member {
    let kind: OSMKind
    let id: Int64
    let role: String
  }

  var kind: OSMKind
  var id: Int64
  var version: Int32?
  var position: FixedPosition?
  var tags: [OSMTag] = []
  var refs: [Int64] = []
  var members: [Member] = []
}

/// A writer of the message `PrimitiveBlock` of the PBF format. The differences of ids wrap around.
struct BlockWriter {
  /// The number of objects and bytes at which a block should end. A single object may be larger.
  private static let maximumObjects = 8000
  private static let maximumBytes = 1 << 20

  private var strings = WireWriter()
  private var indexes: [ExactText: UInt64] = [:]
  /// The ways or relations, as complete fields of a group.
  private var objects = WireWriter()
  private var ids = WireWriter()
  private var latitudes = WireWriter()
  private var longitudes = WireWriter()
  private var versions = WireWriter()
  private var denseTags = WireWriter()
  private var last: (id: Int64, latitude: Int64, longitude: Int64) = (0, 0, 0)
  private(set) var count = 0

  init() { _ = index("") }

  var isFull: Bool {
    count >= BlockWriter.maximumObjects
      || strings.bytes.count + objects.bytes.count + denseTags.bytes.count >= BlockWriter.maximumBytes
  }

  private mutating func index(_ string: String) -> UInt64 {
    let text = ExactText(string)
    if let index = indexes[text] { return index }
    let index = UInt64(indexes.count)
    indexes[text] = index
    strings.field(1, bytes: string.utf8)
    return index
  }

  mutating func append(_ object: ObjectDraft) {
    count += 1
    switch object.kind {
    case .node: appendNode(object)
    case .way:
      var message = head(object)
      var refs = WireWriter()
      var last: Int64 = 0
      for ref in object.refs {
        refs.signed(ref &- last)
        last = ref
      }
      message.field(8, refs)
      objects.field(3, message)
    case .relation:
      var message = head(object)
      var (roles, ids, kinds) = (WireWriter(), WireWriter(), WireWriter())
      var last: Int64 = 0
      for member in object.members {
        roles.varint(index(member.role))
        ids.signed(member.id &- last)
        last = member.id
        kinds.varint(member.kind == .node ? 0 : member.kind == .way ? 1 : 2)
      }
      message.field(8, roles)
      message.field(9, ids)
      message.field(10, kinds)
      objects.field(4, message)
    }
  }

  private mutating func head(_ object: ObjectDraft) -> WireWriter {
    var message = WireWriter()
    message.field(1, UInt64(bitPattern: object.id))
    var (keys, values) = (WireWriter(), WireWriter())
    for tag in object.tags {
      keys.varint(index(tag.key))
      values.varint(index(tag.value))
    }
    message.field(2, keys)
    message.field(3, values)
    if let version = object.version {
      var info = WireWriter()
      info.field(1, UInt64(bitPattern: Int64(version)))
      message.field(4, info)
    }
    return message
  }

  private mutating func appendNode(_ node: ObjectDraft) {
    let latitude = Int64(node.position?.latitude ?? 0)
    let longitude = Int64(node.position?.longitude ?? 0)
    ids.signed(node.id &- last.id)
    latitudes.signed(latitude - last.latitude)
    longitudes.signed(longitude - last.longitude)
    last = (node.id, latitude, longitude)
    versions.varint(UInt64(bitPattern: Int64(node.version ?? -1)))
    for tag in node.tags {
      denseTags.varint(index(tag.key))
      denseTags.varint(index(tag.value))
    }
    denseTags.varint(0)
  }

  /// Returns the bytes of the block, and begins the next one.
  mutating func finish() -> [UInt8] {
    var group = objects
    if !ids.bytes.isEmpty {
      var (dense, info) = (WireWriter(), WireWriter())
      dense.field(1, ids)
      info.field(1, versions)
      dense.field(5, info)
      dense.field(8, latitudes)
      dense.field(9, longitudes)
      dense.field(10, denseTags)
      group.field(2, dense)
    }
    var block = WireWriter()
    block.field(1, strings)
    block.field(2, group)
    self = BlockWriter()
    return block.bytes
  }
}

/// A writer of the wire format of protocol buffers.
struct WireWriter {
  private(set) var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(value))
  }

  /// Appends a number in zigzag encoding (`sint64`).
  mutating func signed(_ value: Int64) { varint(UInt64(bitPattern: value << 1 ^ value >> 63)) }

  /// Appends a number field.
  mutating func field(_ number: UInt64, _ value: UInt64) {
    varint(number << 3)
    varint(value)
  }

  /// Appends a field of bytes.
  mutating func field(_ number: UInt64, bytes value: some Collection<UInt8>) {
    varint(number << 3 | 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// Appends a field that is a message or a packed array.
  mutating func field(_ number: UInt64, _ message: WireWriter) { field(number, bytes: message.bytes) }
}
