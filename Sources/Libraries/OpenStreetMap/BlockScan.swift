import Geo
import Synchronization

/// An object of a block that the selection keeps.
struct KeptObject: Sendable {
  let id: Int64
  let version: Int32?
  /// The point; nil for a change whose position is not known, and for a deletion.
  let position: OSMPosition?
  let isDeletion: Bool
  /// The outline of an area, where it is kept.
  var outline: OSMOutline?
  /// The range of the tags in ``BlockScan/pairs``.
  let firstPair: Int
  let pairCount: Int
}

/// The result of reading a block in one of the phases.
struct BlockScan: Sendable {
  let block: PrimitiveBlock
  let action: OSMChange.Action?
  var kinds: ObjectKinds = []
  var objectCount = 0
  var kept: [KeptObject] = []
  var pairs: [TagPair] = []
  var skipped: [OSMReport.SkipReason: Int] = [:]
  /// The nodes and ways whose positions the kept objects need.
  var neededNodes: [Int64] = []
  var neededWays: [Int64] = []
  var hits: [NodeHit] = []
  var geometries: [WayGeometry] = []
  /// A Boolean value that indicates whether a later phase must read the block again.
  var isNeeded = false

  init(_ block: PrimitiveBlock, _ action: OSMChange.Action?) {
    self.block = block
    self.action = action
  }

  mutating func skip(_ reason: OSMReport.SkipReason) { skipped[reason, default: 0] += 1 }

  /// Keeps an object, or counts it as skipped.
  mutating func keep(
    _ id: Int64, _ version: Int32?, _ pairs: [TagPair], at position: OSMPosition?, _ selection: CompiledSelection,
    outline: OSMOutline? = nil
  ) {
    guard position.map(selection.contains) ?? true else {
      skip(.outsideArea)
      // The new version of a changed object may have moved out of the area.
      if action == .modify { delete(id, version) }
      return
    }
    let object = KeptObject(
      id: id, version: version, position: position, isDeletion: false, outline: outline, firstPair: self.pairs.count,
      pairCount: pairs.count)
    self.pairs.append(contentsOf: pairs)
    kept.append(object)
  }

  mutating func delete(_ id: Int64, _ version: Int32?) {
    kept.append(
      KeptObject(id: id, version: version, position: nil, isDeletion: true, firstPair: 0, pairCount: 0))
  }

  func place(_ object: KeptObject, _ kind: OSMKind) throws(OSMError) -> OSMPlace? {
    guard let position = object.position else { return nil }
    var place = OSMPlace(
      kind: kind, id: object.id, version: object.version, tags: try tags(of: object), latitude: position.latitude,
      longitude: position.longitude)
    place.outline = object.outline
    return place
  }

  func change(_ object: KeptObject, _ kind: OSMKind) throws(OSMError) -> OSMChange {
    OSMChange(
      action: object.isDeletion ? .delete : action ?? .modify, kind: kind, id: object.id, version: object.version,
      tags: try tags(of: object), position: object.position)
  }

  private func tags(of object: KeptObject) throws(OSMError) -> [OSMTag] {
    try block.tags(pairs[object.firstPair..<object.firstPair + object.pairCount])
  }
}

/// A selection, arranged for lookups.
struct CompiledSelection: Sendable {
  let selection: OSMSelection
  let rules: TagRules

  init(_ selection: OSMSelection) {
    self.selection = selection
    rules = TagRules(selection.filters)
  }

  func contains(_ position: OSMPosition) -> Bool {
    selection.contains(latitude: position.latitude, longitude: position.longitude)
  }

  /// Returns a matcher of the objects of a kind in a block.
  func matcher(_ kind: OSMKind, _ block: PrimitiveBlock) -> ObjectMatcher {
    ObjectMatcher(
      tags: TagMatcher(rules, block), block: block, kind: kind, isKindSelected: selection.kinds.contains(kind),
      predicate: selection.predicate)
  }
}

/// Matches the objects of one kind in one block with a selection.
struct ObjectMatcher {
  fileprivate var tags: TagMatcher
  fileprivate let block: PrimitiveBlock
  fileprivate let kind: OSMKind
  let isKindSelected: Bool
  fileprivate let predicate: (@Sendable (OSMKind, [OSMTag]) -> Bool)?

  @inline(__always)
  mutating func matches(_ pairs: [TagPair]) throws(OSMError) -> Bool {
    guard isKindSelected, !pairs.isEmpty, try tags.matches(pairs, in: block) else { return false }
    guard let predicate else { return true }
    return predicate(kind, try block.tags(pairs))
  }
}

/// The phases of a reader, each as a function of one block. They run on several threads.
struct BlockScanner: Sendable {
  let source: BlockSource
  let selection: CompiledSelection
  /// The nodes and ways that kept objects need, as far as they are known.
  var nodes: NodeLocations
  var ways: WayGeometries
  let work: WorkLimit

  private func begin(_ index: Int) throws(OSMError) -> BlockScan {
    let entry = source.entries[index]
    return BlockScan(try source.block(entry), entry.action)
  }

  /// Returns what the kept relations of a block need.
  func scanRelations(_ index: Int) throws(OSMError) -> BlockScan {
    var scan = try begin(index)
    let block = scan.block
    var matcher = selection.matcher(.relation, block)
    scan.kinds = try block.forEachRelation { relation, pairs throws(OSMError) in
      scan.objectCount += 1
      scan.isNeeded = scan.isNeeded || (scan.action != nil && matcher.isKindSelected)
      guard scan.action != .delete, try matcher.matches(pairs) else { return }
      scan.isNeeded = true
      let isArea = AreaTags.isAreaRelation(try block.tags(pairs))
      try block.forEachMember(of: relation) { kind, id, role throws(OSMError) in
        switch kind {
        case .way: scan.neededWays.append(id)
        case .node:
          // The node members of an area are only read as its label.
          let isNeeded = isArea ? try isLabel(role, block) : true
          if isNeeded { scan.neededNodes.append(id) }
        case .relation: break
        }
      }
    }
    return scan
  }

  private func isLabel(_ role: UInt32, _ block: PrimitiveBlock) throws(OSMError) -> Bool {
    AreaTags.labelRoles.contains(try block.text(role))
  }

  /// Returns what the kept ways of a block need, and the ways that relations need.
  func scanWays(_ index: Int) throws(OSMError) -> BlockScan {
    var scan = try begin(index)
    let block = scan.block
    var matcher = selection.matcher(.way, block)
    var needed = ways.ids.cursor()
    scan.kinds = try block.forEachWay { way, pairs throws(OSMError) in
      scan.objectCount += 1
      scan.isNeeded = scan.isNeeded || (scan.action != nil && matcher.isKindSelected)
      guard scan.action != .delete else { return }
      let isNeeded = needed.index(of: way.id) != nil
      guard try isNeeded ? true : matcher.matches(pairs) else { return }
      scan.isNeeded = true
      guard way.latitudes.isAtEnd else { return }
      try block.forEachRef(of: way) { id throws(OSMError) in scan.neededNodes.append(id) }
    }
    return scan
  }

  /// Returns the kept nodes of a block, and the positions of needed ones.
  func readNodes(_ index: Int) throws(OSMError) -> BlockScan {
    var scan = try begin(index)
    let block = scan.block
    var matcher = selection.matcher(.node, block)
    var needed = nodes.ids.cursor()
    let action = scan.action
    scan.kinds = try block.forEachNode { node, pairs throws(OSMError) in
      scan.objectCount += 1
      if action != .delete, let index = needed.index(of: node.id) {
        scan.hits.append(NodeHit(index: index, position: node.position))
      }
      if action != .delete, try matcher.matches(pairs) {
        scan.keep(node.id, node.version, pairs, at: node.position.degrees, selection)
      } else if action == .delete || action == .modify, matcher.isKindSelected {
        scan.delete(node.id, node.version)
      }
    }
    return scan
  }

  /// Returns the kept ways of a block, and the positions of needed ones.
  func readWays(_ index: Int) throws(OSMError) -> BlockScan {
    var scan = try begin(index)
    let block = scan.block
    var matcher = selection.matcher(.way, block)
    var needed = ways.ids.cursor()
    var lookup = nodes.lookup()
    let action = scan.action
    scan.kinds = try block.forEachWay { way, pairs throws(OSMError) in
      let index = action == .delete ? nil : needed.index(of: way.id)
      let isKept = action == .delete ? false : try matcher.matches(pairs)
      if !isKept, action == .delete || action == .modify, matcher.isKindSelected { scan.delete(way.id, way.version) }
      guard isKept || index != nil else { return }
      var positions: [FixedPosition] = []
      var (count, isClosed) = (0, false)
      if way.latitudes.isAtEnd {
        var (first, last): (Int64, Int64) = (0, 0)
        try block.forEachRef(of: way) { id throws(OSMError) in
          if count == 0 { first = id }
          last = id
          count += 1
          if let position = lookup.position(of: id) { positions.append(position) }
        }
        isClosed = count > 3 && first == last
      } else {
        try block.forEachOwnPosition(of: way) { positions.append($0) }
        count = positions.count
        isClosed = count > 3 && positions.first == positions.last
      }
      let isComplete = positions.count == count
      if let index {
        scan.geometries.append(WayGeometry(index: index, positions: positions, isComplete: isComplete))
      }
      guard isKept else { return }
      guard count > 0 else { return scan.skip(.noGeometry) }
      if action != nil, !isComplete {
        return scan.keep(way.id, way.version, pairs, at: nil, selection)
      }
      let isArea = isClosed ? AreaTags.isArea(try block.tags(pairs)) : false
      guard let point = OSMPosition(ofWay: positions, isArea: isArea) else { return scan.skip(.missingNodes) }
      scan.keep(way.id, way.version, pairs, at: point, selection)
    }
    return scan
  }

  /// Returns the kept relations of a block.
  func readRelations(_ index: Int) throws(OSMError) -> BlockScan {
    var scan = try begin(index)
    let block = scan.block
    var matcher = selection.matcher(.relation, block)
    let action = scan.action
    scan.kinds = try block.forEachRelation { relation, pairs throws(OSMError) in
      guard try action == .delete ? false : matcher.matches(pairs) else {
        if action == .delete || action == .modify, matcher.isKindSelected {
          scan.delete(relation.id, relation.version)
        }
        return
      }
      guard !relation.ids.isAtEnd else { return scan.skip(.noGeometry) }
      let isArea = AreaTags.isAreaRelation(try block.tags(pairs))
      var members = RelationMembers()
      try members.read(relation, isArea: isArea, in: block, nodes: nodes.lookup(), ways: ways.lookup(), work)
      if action != nil, !members.isComplete {
        return scan.keep(relation.id, relation.version, pairs, at: nil, selection)
      }
      if isArea, selection.selection.keepsOutlines {
        guard let point = members.areaPoint() ?? members.sitePoint() else { return scan.skip(.missingMembers) }
        return scan.keep(relation.id, relation.version, pairs, at: point, selection, outline: members.outline())
      }
      guard let point = isArea ? members.areaPoint() : members.sitePoint() else {
        return scan.skip(isArea && members.hasWays ? .openRings : .missingMembers)
      }
      scan.keep(relation.id, relation.version, pairs, at: point, selection)
    }
    return scan
  }
}

/// A limit on the work for relations that share ways: without it, a small file can refer to a long way very often.
final class WorkLimit: Sendable {
  /// The average number of relations that may use each position of a way, beyond the free ones. Borders have about 5.
  static let maximumUses = 100

  private let freePositions: Int
  private let used = Mutex(0)

  init(freePositions: Int) { self.freePositions = freePositions }

  func use(_ count: Int, of total: Int, orThrow error: @autoclosure () -> OSMError) throws(OSMError) {
    let sum = used.withLock { used in
      used += count
      return used
    }
    guard sum <= freePositions + WorkLimit.maximumUses * total else { throw error() }
  }
}
