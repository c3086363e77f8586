import Foundation

/// The state of a reader.
///
/// The phases are: relations are scanned for the ways they need, ways for the nodes they need, nodes are read, then the
/// blocks with kept ways and relations again. Each phase reads only the blocks with its kind of objects. In a sorted
/// file these are found by binary search; the guess is checked when a block is read, and after a wrong one all blocks
/// are examined and the phases start again.
final class OSMReading {
  private enum Stage { case start, nodes, ways, relations, end }

  private(set) var report = OSMReport()

  private let file: OSMFile
  private let selection: CompiledSelection
  private let options: OSMReaderOptions
  private let onProgress: (@Sendable (OSMProgress) -> Void)?
  private let threads: Int
  private let budget: MemoryBudget
  private let reader: FileReader

  private var stage = Stage.start
  private var scanner: BlockScanner?
  private var tasks: OrderedTasks<BlockScan>?
  private var blocks: [Int] = []
  private var blocksDone = 0
  private var progress = (done: 0, total: 0)
  private var neededWayBlocks: [Int] = []
  private var neededRelationBlocks: [Int] = []
  /// The node blocks whose places have been returned. After a restart they are read for their positions only.
  private var returnedNodeBlocks: Set<Int> = []
  private var pending: (scan: BlockScan, kind: OSMKind, next: Int)?

  init(
    _ file: OSMFile, _ selection: OSMSelection, _ options: OSMReaderOptions,
    _ onProgress: (@Sendable (OSMProgress) -> Void)?
  ) throws(OSMError) {
    self.file = file
    self.selection = CompiledSelection(selection)
    self.options = options
    self.onProgress = onProgress
    threads = max(1, options.threads ?? ProcessInfo.processInfo.activeProcessorCount)
    budget = MemoryBudget(limit: options.locationMemoryBytes)
    reader = try FileReader(path: file.path)
  }

  // MARK: - Batches

  private static let batchCount = 4096

  func nextPlaces() throws(OSMError) -> [OSMPlace]? {
    try nextBatch { scan, object, kind throws(OSMError) in try scan.place(object, kind) }
  }

  func nextChanges() throws(OSMError) -> [OSMChange]? {
    try nextBatch { scan, object, kind throws(OSMError) in try scan.change(object, kind) }
  }

  private func nextBatch<Element>(
    _ element: (BlockScan, KeptObject, OSMKind) throws(OSMError) -> Element?
  ) throws(OSMError) -> [Element]? {
    do throws(OSMError) {
      var batch: [Element] = []
      while batch.count < OSMReading.batchCount {
        guard let (scan, kind, next) = pending else {
          guard try advance() else { break }
          continue
        }
        let end = min(scan.kept.count, next + OSMReading.batchCount - batch.count)
        for object in scan.kept[next..<end] {
          if let element = try element(scan, object, kind) { batch.append(element) }
        }
        report.places[kind, default: 0] += end - next
        pending = end < scan.kept.count ? (scan, kind, end) : nil
      }
      return batch.isEmpty ? nil : batch
    } catch {
      (stage, tasks, pending, scanner) = (.end, nil, nil, nil)
      throw error
    }
  }

  // MARK: - Phases

  /// Reads the next block, or begins the next phase. Returns false at the end.
  private func advance() throws(OSMError) -> Bool {
    switch stage {
    case .start:
      let source = try self.source()
      try scan(source)
    case .nodes:
      guard let scan = try nextScan(.nodes) else {
        start(.ways, .ways, neededWayBlocks) { scanner, index throws(OSMError) in try scanner.readWays(index) }
        break
      }
      let index = blocks[blocksDone - 1]
      guard isExpected(scan, index) else {
        try restart()
        break
      }
      scanner?.nodes.set(scan.hits)
      report.objects[.node, default: 0] += scan.objectCount
      if returnedNodeBlocks.insert(index).inserted { take(scan, .node) }
    case .ways:
      guard let scan = try nextScan(.ways) else {
        start(.relations, .relations, neededRelationBlocks) { scanner, index throws(OSMError) in
          try scanner.readRelations(index)
        }
        break
      }
      for geometry in scan.geometries { try scanner?.ways.set(geometry) }
      take(scan, .way)
    case .relations:
      guard let scan = try nextScan(.relations) else {
        stage = .end
        (tasks, scanner) = (nil, nil)
        break
      }
      take(scan, .relation)
    case .end: return false
    }
    return true
  }

  private func take(_ scan: BlockScan, _ kind: OSMKind) {
    for (reason, count) in scan.skipped { report.skipped[reason, default: 0] += count }
    if !scan.kept.isEmpty { pending = (scan, kind, 0) }
  }

  private func isExpected(_ scan: BlockScan, _ index: Int) -> Bool {
    scanner.map { scan.kinds.isSubset(of: $0.source.entries[index].kinds) } ?? true
  }

  /// Starts the tasks of a phase.
  private func start(
    _ stage: Stage, _ phase: OSMProgress.Phase, _ blocks: [Int],
    _ task: @escaping @Sendable (BlockScanner, Int) throws(OSMError) -> BlockScan
  ) {
    self.stage = stage
    self.blocks = blocks
    blocksDone = 0
    guard let scanner else { return }
    progress = (0, blocks.reduce(0) { $0 + scanner.source.entries[$1].count })
    onProgress?(OSMProgress(phase: phase, bytesDone: 0, bytesTotal: progress.total))
    tasks = OrderedTasks(count: blocks.count, threads: threads) { number throws(OSMError) in
      try task(scanner, blocks[number])
    }
  }

  private func nextScan(_ phase: OSMProgress.Phase) throws(OSMError) -> BlockScan? {
    guard let scan = try tasks?.next(), let scanner else { return nil }
    progress.done += scanner.source.entries[blocks[blocksDone]].count
    blocksDone += 1
    onProgress?(OSMProgress(phase: phase, bytesDone: progress.done, bytesTotal: progress.total))
    return scan
  }

  /// Opens the file, and finds which blocks have which kinds of objects.
  private func source() throws(OSMError) -> BlockSource {
    guard file.format == .pbf else {
      let temporary = try TemporaryFile(folder: options.temporaryFolder)
      var source = BlockSource(storage: .temporary(temporary))
      let parser = try XMLBlocks(reader, file, temporary)
      source.entries = try parser.parse { [onProgress, reader] done in
        onProgress?(OSMProgress(phase: .parse, bytesDone: done, bytesTotal: reader.count))
      }
      return source
    }
    let pbf = try PBFFile(reader)
    report.replicationSequence = pbf.replicationSequence
    report.replicationTimestamp = pbf.replicationTimestamp
    var source = BlockSource(storage: .pbf(reader))
    source.entries = pbf.entries
    if try !source.guessKinds() { try source.findKinds(threads: threads) }
    return source
  }

  /// Examines all blocks and starts the phases again, because the file is not sorted.
  private func restart() throws(OSMError) {
    guard var source = scanner?.source else { return }
    (tasks, scanner) = (nil, nil)
    try source.findKinds(threads: threads)
    try scan(source)
  }

  /// Scans relations and ways, and starts to read nodes.
  private func scan(_ source: BlockSource) throws(OSMError) {
    report.objects = [:]
    let folder = options.temporaryFolder
    func ids() -> SortedIDs { SortedIDs(budget: budget, folder: folder) }
    func blocks(_ kinds: ObjectKinds) -> [Int] {
      source.entries.indices.filter { !source.entries[$0].kinds.isDisjoint(with: kinds) }
    }
    let (nodes, ways) = (ids(), ids())
    /// Returns a scanner that knows the needed nodes and ways of earlier phases. The sets must be sorted.
    func scanner(_ nodes: SortedIDs, _ ways: SortedIDs) throws(OSMError) -> BlockScanner {
      BlockScanner(
        source: source, selection: selection,
        nodes: try NodeLocations(ids: nodes, budget: budget, folder: folder),
        ways: try WayGeometries(ids: ways, budget: budget, folder: folder),
        work: WorkLimit(freePositions: options.freeRelationPositions))
    }

    self.scanner = try scanner(ids(), ids())
    neededRelationBlocks = []
    start(.start, .scanRelations, blocks(.relations)) { scanner, index throws(OSMError) in
      try scanner.scanRelations(index)
    }
    while let scan = try nextScan(.scanRelations) {
      guard isExpected(scan, self.blocks[blocksDone - 1]) else { return try restart() }
      report.objects[.relation, default: 0] += scan.objectCount
      if scan.isNeeded { neededRelationBlocks.append(self.blocks[blocksDone - 1]) }
      try nodes.insert(scan.neededNodes)
      try ways.insert(scan.neededWays)
    }
    ways.sort()

    self.scanner = try scanner(ids(), ways)
    neededWayBlocks = []
    start(.start, .scanWays, blocks(.ways)) { scanner, index throws(OSMError) in try scanner.scanWays(index) }
    while let scan = try nextScan(.scanWays) {
      guard isExpected(scan, self.blocks[blocksDone - 1]) else { return try restart() }
      report.objects[.way, default: 0] += scan.objectCount
      if scan.isNeeded { neededWayBlocks.append(self.blocks[blocksDone - 1]) }
      try nodes.insert(scan.neededNodes)
    }
    nodes.sort()

    self.scanner = try scanner(nodes, ways)
    start(.nodes, .nodes, blocks(.nodes)) { scanner, index throws(OSMError) in try scanner.readNodes(index) }
  }
}

extension BlockSource {
  /// Files of fewer blocks are examined completely.
  private static let minimumForGuess = 16

  /// Guesses the kinds of all blocks from a few of them, as in a file that is sorted: nodes, ways, relations. Returns
  /// false if those few are not sorted.
  mutating func guessKinds() throws(OSMError) -> Bool {
    guard entries.count >= BlockSource.minimumForGuess else { return false }
    var known: [Int: ObjectKinds] = [:]
    /// Returns the index of the first block that meets a condition, which later ones are expected to meet as well.
    func first(_ isMet: (ObjectKinds) -> Bool) throws(OSMError) -> Int {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        let kinds: ObjectKinds
        if let value = known[middle] {
          kinds = value
        } else {
          kinds = try block(entries[middle]).kinds()
          known[middle] = kinds
        }
        if isMet(kinds) { high = middle } else { low = middle + 1 }
      }
      return low
    }
    let firstWay = try first { !$0.isDisjoint(with: [.ways, .relations]) }
    let firstWithoutNodes = try first { !$0.contains(.nodes) }
    let firstRelation = try first { $0.contains(.relations) }
    let firstWithoutWays = try first { $0.isDisjoint(with: [.nodes, .ways]) }
    for index in entries.indices {
      var kinds: ObjectKinds = []
      if index < firstWithoutNodes { kinds.insert(.nodes) }
      if index >= firstWay, index < firstWithoutWays { kinds.insert(.ways) }
      if index >= firstRelation { kinds.insert(.relations) }
      entries[index].kinds = kinds
    }
    return known.allSatisfy { !$0.value.isEmpty && $0.value.isSubset(of: entries[$0.key].kinds) }
  }

  /// Finds the kinds of all blocks.
  mutating func findKinds(threads: Int) throws(OSMError) {
    let source = self
    let tasks = OrderedTasks(count: entries.count, threads: threads) { index throws(OSMError) in
      try source.block(source.entries[index]).kinds()
    }
    for index in entries.indices {
      if let kinds = try tasks.next() { entries[index].kinds = kinds }
    }
  }
}
