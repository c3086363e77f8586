/// A set of kinds of objects.
struct ObjectKinds: OptionSet, Hashable, Sendable {
  let rawValue: UInt8

  static let nodes = ObjectKinds(rawValue: 1)
  static let ways = ObjectKinds(rawValue: 2)
  static let relations = ObjectKinds(rawValue: 4)
  static let all: ObjectKinds = [.nodes, .ways, .relations]

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ kind: OSMKind) {
    self =
      switch kind {
      case .node: .nodes
      case .way: .ways
      case .relation: .relations
      }
  }
}

/// A block of objects in a file.
struct BlockEntry: Sendable {
  let offset: Int
  let count: Int

  /// The kinds of objects that the block contains, or may contain.
  var kinds: ObjectKinds

  /// The action of a change file for all objects of the block; nil in other files.
  var action: OSMChange.Action?

  /// The position in the user's file, for errors.
  var label: Int
}

/// A file of blocks: a PBF file, or the temporary file that XML is written to.
struct BlockSource: Sendable {
  enum Storage: Sendable {
    case pbf(FileReader)
    case temporary(TemporaryFile)
  }

  let storage: Storage
  var entries: [BlockEntry] = []

  /// Reads and decompresses a block.
  func block(_ entry: BlockEntry) throws(OSMError) -> PrimitiveBlock {
    switch storage {
    case .pbf(let file):
      let blob = try file.read(entry.count, at: entry.offset, label: entry.label)
      return try PrimitiveBlock(try Blob.decoded(blob))
    case .temporary(let file):
      return try PrimitiveBlock(
        try file.read(entry.count, at: entry.offset, label: entry.label), idsWrapAround: true)
    }
  }
}
