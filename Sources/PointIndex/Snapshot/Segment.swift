import Basics
import CPrefetch
import Dispatch
import Geo
import JSONText
import Points
import Synchronization

/// The columns of a segment that searches read, by slot; valid for the life of the segment.
struct SegmentColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the segment's initialization.

  let ids: UnsafePointer<PointID>
  let x: UnsafePointer<Double>
  let y: UnsafePointer<Double>
  let z: UnsafePointer<Double>
  let coordinates: UnsafePointer<Coordinate>
}

/// Some places of a snapshot with every index over them, immutable.
///
/// A place is identified by its slot. Slots are in the spatial order of the tree over all places, so that the places of
/// a leaf are neighbours in every column.
final class Segment: Sendable {
  /// The number of places, at least 1.
  let count: Int

  /// The fields of the places that searches do not read, by slot.
  let records: PointRecords

  let categories: CategoryIndex

  /// The indexes of the sources that were searched, the latest built last.
  private let sourceIndexes = Mutex<[SourceIndex]>([])

  /// The indexes of the tags that were searched.
  private let tagIndexes = Mutex<[TagIndex]>([])

  /// The index of the opening hours; of few places, or of those in a file, it is built when it is first searched.
  private let builtHours: Mutex<HoursIndex?>

  private let textConfiguration: TextIndexConfiguration
  private let builtTextIndex: Mutex<TextIndex?>

  private let ids: FixedBuffer<PointID>
  private let x: FixedBuffer<Double>
  private let y: FixedBuffer<Double>
  private let z: FixedBuffer<Double>
  private let coordinates: FixedBuffer<Coordinate>
  private let spaceBounds: FixedBuffer<SpaceBounds>
  private let geographicBounds: FixedBuffer<GeographicBounds>
  private let idOrder: FixedBuffer<UInt32>
  private let shuffleOrder: FixedBuffer<UInt32>
  private let sourceReferences: SourceReferenceIndex

  /// Creates a segment of at least one place. O(n log n).
  ///
  /// Each column of the buffer is freed as soon as it has been copied. While the texts are copied they are held twice,
  /// beside some 150 bytes a place: that is the peak.
  ///
  /// - Parameters:
  ///   - buffer: places of which no two have the same id or the same source reference.
  ///   - text: the fields that texts are searched in.
  init(_ buffer: consuming PointBuffer, text configuration: TextIndexConfiguration) {
    let count = buffer.count
    precondition(count > 0 && count < UInt32.max)
    self.count = count
    var items = Self.inSpatialOrder(buffer.coordinates)
    x = FixedBuffer(items) { $0.x }
    y = FixedBuffer(items) { $0.y }
    z = FixedBuffer(items) { $0.z }
    ids = FixedBuffer(buffer.ids, in: items)
    buffer.ids = []
    coordinates = FixedBuffer(buffer.coordinates, in: items)
    buffer.coordinates = []
    let columns = SegmentColumns(
      ids: ids.pointer,
      x: x.pointer,
      y: y.pointer,
      z: z.pointer,
      coordinates: coordinates.pointer
    )
    let (inOrder, formerStarts) = Self.records(buffer.records, in: items)
    buffer.records = []
    items = []
    // The places' texts on one processor, the orders on another.
    let (references, orders) = Parallel.both(where: count > 20_000) {
      [texts = buffer.texts, sources = buffer.sources] in
      let texts = Self.texts(texts, of: inOrder, formerStarts: formerStarts)
      let records = PointRecords(inOrder, texts: texts, sources: sources)
      return (records, records.sourceReferences())
    } and: { [ids] in
      var nodes = NodeBounds(capacity: PackedTree.nodeCount(places: count))
      nodes.append(treeOf: 0..<UInt32(count), columns: columns)
      return (
        Self.order(of: ids), Self.shuffleOrder(of: ids), FixedBuffer(nodes.space), FixedBuffer(nodes.geographic)
      )
    }
    buffer.texts = []
    (records, sourceReferences) = references
    (idOrder, shuffleOrder, spaceBounds, geographicBounds) = orders
    let indexes = Parallel.both(where: count > 20_000) { [numbers = buffer.categories, records, idOrder] in
      let categories = CategoryIndex(numbers: numbers, records: records, idOrder: idOrder, columns: columns)
      let hours =
        count <= Self.maximumUnindexed
        ? nil
        : HoursIndex(
          records: records, coordinates: columns.coordinates,
          nodeCount: Self.nodeCount(places: count, categories),
          evaluatingAt: SystemClock().now().minutesSinceEpoch)
      return (categories, hours)
    } and: { [numbers = buffer.categories, records] in
      count <= Self.maximumUnindexed
        ? nil
        : TextIndex(
          records: records, categories: numbers.texts, positions: columns, configuration: configuration)
    }
    categories = indexes.0.0
    builtHours = Mutex(indexes.0.1)
    textConfiguration = configuration
    builtTextIndex = Mutex(indexes.1)
    fileName = nil
  }

  /// The file of the segment; `nil` if its columns are in memory of the process.
  let fileName: SegmentFileName?

  /// Creates a segment whose columns are in a file. O(c) for c categories, sources, time zones and calendars.
  ///
  /// - Parameters:
  ///   - file: the file, which ``write(to:)`` has written.
  ///   - name: its name.
  ///   - text: the fields that texts are searched in: those of the segment that was written.
  init(_ file: SegmentFile, name: SegmentFileName, text configuration: TextIndexConfiguration) throws(IndexFileError) {
    fileName = name
    count = file.placeCount
    guard count > 0 else { throw IndexFileError("\(name.name) has no places") }
    ids = try file.column(.ids, count: count)
    x = try file.column(.x, count: count)
    y = try file.column(.y, count: count)
    z = try file.column(.z, count: count)
    coordinates = try file.column(.coordinates, count: count)
    let nodeCount = PackedTree.nodeCount(places: count)
    spaceBounds = try file.column(.spaceBounds, count: nodeCount)
    geographicBounds = try file.column(.geographicBounds, count: nodeCount)
    idOrder = try file.column(.idOrder, count: count)
    shuffleOrder = try file.column(.shuffleOrder, count: count)
    sourceReferences = SourceReferenceIndex(entries: try file.column(.sourceReferences), key: file.hashKey)
    records = try PointRecords(file)
    categories = try CategoryIndex(file)
    textConfiguration = configuration
    builtHours = Mutex(
      try HoursIndex(file, count: count, nodeCount: Self.nodeCount(places: count, categories)))
    builtTextIndex = Mutex(file.has(.wordStarts) ? try TextIndex(file, categories: categories.names) : nil)
  }

  /// Writes the columns into a file, except indexes that are built on demand.
  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    try file.append(.ids, ids)
    try file.append(.x, x)
    try file.append(.y, y)
    try file.append(.z, z)
    try file.append(.coordinates, coordinates)
    try file.append(.spaceBounds, spaceBounds)
    try file.append(.geographicBounds, geographicBounds)
    try file.append(.idOrder, idOrder)
    try categories.write(to: &file)
    if let textIndex = builtTextIndex.withLock({ $0 }) { try textIndex.write(to: &file) }
    if let hours = builtHours.withLock({ $0 }) { try hours.write(to: &file, records) }
    try file.append(.shuffleOrder, shuffleOrder)
    try file.append(.sourceReferences, sourceReferences.entries)
    try records.write(to: &file)
  }

  /// The key of the hashes of the source references.
  var hashKey: SipHash.Key { sourceReferences.key }

  /// The number of places up to which the words are indexed when they are first searched, so that segments that are
  /// soon replaced by larger ones cost little.
  private static let maximumUnindexed = 4_096

  /// A Boolean value that indicates whether the words are indexed already.
  var hasTextIndex: Bool { builtTextIndex.withLock { $0 != nil } }

  /// The index of the words of the places.
  var textIndex: TextIndex {
    if let index = builtTextIndex.withLock({ $0 }) { return index }
    // Not under the lock: other searches would wait.
    let index = TextIndex(
      records: records, categories: categories.names, positions: columns, configuration: textConfiguration)
    return builtTextIndex.withLock { known in
      if let known { return known }
      known = index
      return index
    }
  }

  /// The bytes of the columns and indexes, by their names.
  var memory: [(name: String, bytes: Int)] {
    [
      ("ids", ids.byteCount),
      ("coordinates", coordinates.byteCount + x.byteCount + y.byteCount + z.byteCount),
      ("records", records.byteCounts.records),
      ("texts", records.byteCounts.texts),
      ("tree", spaceBounds.byteCount + geographicBounds.byteCount),
      ("id order", idOrder.byteCount),
      ("shuffle order", shuffleOrder.byteCount),
      ("source references", sourceReferences.entries.byteCount),
      ("categories", categories.byteCount),
      ("words", builtTextIndex.withLock { $0?.byteCount ?? 0 }),
      ("sources", sourceIndexes.withLock { $0.reduce(0) { $0 + $1.byteCount } }),
      ("tags", tagIndexes.withLock { $0.reduce(0) { $0 + $1.byteCount } }),
      ("opening hours", builtHours.withLock { $0?.byteCount ?? 0 }),
    ]
  }

  /// The columns that searches read; valid for the life of the segment.
  var columns: SegmentColumns {
    SegmentColumns(ids: ids.pointer, x: x.pointer, y: y.pointer, z: z.pointer, coordinates: coordinates.pointer)
  }

  /// The columns that places are borrowed from; valid for the life of the segment.
  var placeColumns: PlaceColumns {
    PlaceColumns(
      ids: ids.pointer,
      coordinates: coordinates.pointer,
      records: records.pointers.records,
      texts: records.pointers.texts,
      categories: categories.packedNames.pointers,
      sources: records.packedSources.pointers
    )
  }

  /// The tree over all places; valid for the life of the segment.
  var tree: PackedTree {
    PackedTree(
      count: count, slots: nil, space: spaceBounds.pointer, geographic: geographicBounds.pointer,
      firstNode: categories.nodeCount)
  }

  /// Returns the number of nodes of the trees over the places of each category and over all places.
  private static func nodeCount(places: Int, _ categories: CategoryIndex) -> Int {
    categories.nodeCount + PackedTree.nodeCount(places: places)
  }

  /// The slots in the order of their places' ids; valid for the life of the segment.
  var slotsByID: UnsafeBufferPointer<UInt32> { .init(start: idOrder.pointer, count: count) }

  /// The slots in the order of their places' shuffle keys, then ids; valid for the life of the segment.
  var slotsByShuffleKey: UnsafeBufferPointer<UInt32> { .init(start: shuffleOrder.pointer, count: count) }

  /// Returns the place in a slot.
  func point(at slot: Int) -> PointOfInterest {
    records.point(
      at: slot,
      id: ids.pointer[slot],
      coordinate: coordinates.pointer[slot],
      categories: categories.names
    )
  }

  /// The number of bytes of the source indexes that are kept, for each place of the segment: those of all sources, unless
  /// they are many.
  private static let sourceIndexBytesPerPlace = 32

  /// Returns the number of steps to build the index of the places of a source; 0 where it is built, or the source has no
  /// place.
  func stepsToIndex(source: String) -> Int {
    guard let number = records.sources.existingNumber(of: source),
      !sourceIndexes.withLock({ $0.contains { $0.number == number } })
    else { return 0 }
    return Self.stepsPerPlaceOfSourceIndex * count
  }

  private static let stepsPerPlaceOfSourceIndex = 8

  /// Returns the index of the places of a source; `nil` if it has no place. Built in O(n) when the source is first
  /// searched, and kept until those of other sources need the memory.
  func index(ofSource source: String) -> SourceIndex? {
    guard let number = records.sources.existingNumber(of: source) else { return nil }
    if let known = sourceIndexes.withLock({ $0.first { $0.number == number } }) { return known }
    // Not under the lock: other searches would wait.
    let index = SourceIndex(number: number, records: records, slotsByID: slotsByID, columns: columns)
    sourceIndexes.withLock { indexes in
      indexes.removeAll { $0.number == number }
      indexes.append(index)
      var bytes = indexes.reduce(0) { $0 + $1.byteCount }
      while indexes.count > 1, bytes > Self.sourceIndexBytesPerPlace * count {
        bytes -= indexes.removeFirst().byteCount
      }
    }
    return index
  }

  /// Returns the index of a tag's values. Built in O(n log n) when the tag is first searched, and kept.
  func index(ofTag tag: PropertyFilter.Tag) -> TagIndex {
    if let known = tagIndexes.withLock({ $0.first { $0.tag == tag } }) { return known }
    // Not under the lock: other searches would wait.
    let index = TagIndex(tag, records: records)
    return tagIndexes.withLock { indexes in
      if let known = indexes.first(where: { $0.tag == tag }) { return known }
      indexes.append(index)
      return index
    }
  }

  private static let stepsPerPlaceOfHours = 50

  /// The number of steps to index the opening hours; 0 if they are indexed.
  var stepsToIndexHours: Int {
    builtHours.withLock { $0 != nil } ? 0 : Self.stepsPerPlaceOfHours * count
  }

  /// The index of the opening hours. Built in O(n) if it is not yet, and kept.
  var hours: HoursIndex {
    if let index = builtHours.withLock({ $0 }) { return index }
    // Not under the lock: other searches would wait.
    let index = HoursIndex(
      records: records, coordinates: coordinates.pointer, nodeCount: Self.nodeCount(places: count, categories),
      evaluatingAt: nil)
    return builtHours.withLock { known in
      if let known { return known }
      known = index
      return index
    }
  }

  /// Evaluates the opening hours of a segment in a file on another thread, so that hardly any search has to.
  func evaluateHours() {
    guard let hours = builtHours.withLock({ $0 }) else { return }
    DispatchQueue.global(qos: .utility).async { [self] in
      hours.evaluateAll(at: SystemClock().now().minutesSinceEpoch, coordinates: coordinates.pointer)
    }
  }

  /// Takes the indexes that another segment of the same places in the same slots has built on demand.
  func takeIndexes(of other: Segment) {
    let (sources, tags) = (other.sourceIndexes.withLock { $0 }, other.tagIndexes.withLock { $0 })
    let hours = other.builtHours.withLock { $0 }
    sourceIndexes.withLock { $0 = sources }
    tagIndexes.withLock { $0 = tags }
    builtHours.withLock { $0 = hours }
  }

  /// Builds the indexes of the tags that are indexed in other segments, so that no search waits for them.
  func buildTagIndexes(like others: [Segment]) {
    guard count > Self.maximumUnindexed else { return }
    for tag in Set(others.flatMap { other in other.tagIndexes.withLock { $0.map(\.tag) } }) { _ = index(ofTag: tag) }
  }

  /// Returns the slot of the place with that id, or `nil`. O(log n).
  func slot(of id: PointID) -> Int? {
    let position = slotsByID.firstPosition { !(ids.pointer[Int($0)] < id) }
    guard position < count else { return nil }
    let slot = Int(slotsByID[position])
    return ids.pointer[slot] == id ? slot : nil
  }

  /// Returns the slot of the place with that source reference, or `nil`. O(1) on average.
  func slot(of source: SourceReference) -> Int? {
    records.slot(of: source, in: sourceReferences)
  }
}

extension UnsafeBufferPointer {
  /// Returns the first position whose element satisfies a predicate that all later elements satisfy too; the count
  /// where none does. O(log n).
  func firstPosition(where predicate: (Element) -> Bool) -> Int {
    firstPosition(in: 0..<count, where: predicate)
  }

  /// Returns the first such position from a position on. O(log d), where it is d ahead.
  func firstPosition(from start: Int, where predicate: (Element) -> Bool) -> Int {
    var (low, step) = (start, 1)
    while low + step < count, !predicate(self[low + step]) {
      low += step
      step *= 2
    }
    return firstPosition(in: low..<Swift.min(low + step, count), where: predicate)
  }

  @inline(__always)
  private func firstPosition(in range: Range<Int>, where predicate: (Element) -> Bool) -> Int {
    var (low, high) = (range.lowerBound, range.upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension FixedBuffer {
  init(_ items: ContiguousArray<SpatialOrder.Item>, _ value: (SpatialOrder.Item) -> Element) {
    self.init(count: items.count) { memory in
      items.withUnsafeBufferPointer { items in
        for slot in 0..<items.count { (memory + slot).initialize(to: value(items[slot])) }
      }
    }
  }

  init(_ values: ContiguousArray<Element>, in items: ContiguousArray<SpatialOrder.Item>) {
    self.init(count: items.count) { memory in
      values.withUnsafeBufferPointer { values in
        items.withUnsafeBufferPointer { items in
          for slot in 0..<items.count { (memory + slot).initialize(to: values[Int(items[slot].index)]) }
        }
      }
    }
  }
}

extension Segment {
  /// Returns the places in the order of their slots.
  static func inSpatialOrder(_ coordinates: ContiguousArray<Coordinate>) -> ContiguousArray<SpatialOrder.Item> {
    var items = ContiguousArray<SpatialOrder.Item>()
    items.reserveCapacity(coordinates.count)
    for (index, coordinate) in coordinates.enumerated() {
      let position = EarthCentred(coordinate)
      items.append(.init(x: position.x, y: position.y, z: position.z, index: UInt32(index)))
    }
    items.withUnsafeMutableBufferPointer { SpatialOrder.sort($0) }
    return items
  }

  /// Returns the records in the order of the items, with the starts of their texts in the same order; and the starts of
  /// the texts that they had.
  static func records(
    _ records: ContiguousArray<PointRecord>,
    in items: ContiguousArray<SpatialOrder.Item>
  ) -> (records: FixedBuffer<PointRecord>, formerStarts: FixedBuffer<Int>) {
    records.withUnsafeBufferPointer { records in
      let formerStarts = FixedBuffer(items) { records[Int($0.index)].start }
      var end = 0
      let inOrder = FixedBuffer(items) { item in
        var record = records[Int(item.index)]
        record.start = end
        end += record.textLength
        return record
      }
      return (inOrder, formerStarts)
    }
  }

  /// Returns the texts of the records, which had other starts in the given texts.
  static func texts(
    _ texts: ContiguousArray<UInt8>,
    of records: FixedBuffer<PointRecord>,
    formerStarts: FixedBuffer<Int>
  ) -> FixedBuffer<UInt8> {
    FixedBuffer(count: texts.count) { memory in
      texts.withUnsafeBufferPointer { texts in
        guard let start = texts.baseAddress else { return }
        for slot in 0..<records.count {
          let record = records.pointer[slot]
          (memory + record.start).initialize(from: start + formerStarts.pointer[slot], count: record.textLength)
        }
      }
    }
  }

  /// Returns the slots in the order of the ids.
  static func order(of ids: FixedBuffer<PointID>) -> FixedBuffer<UInt32> {
    var entries = ContiguousArray<(id: PointID, slot: UInt32)>()
    entries.reserveCapacity(ids.count)
    for slot in 0..<ids.count { entries.append((ids.pointer[slot], UInt32(slot))) }
    entries.sort { $0.id < $1.id }
    return FixedBuffer(entries.lazy.map(\.slot))
  }

  /// Returns the slots in the order of the shuffle keys, then of the ids.
  static func shuffleOrder(of ids: FixedBuffer<PointID>) -> FixedBuffer<UInt32> {
    var entries = ContiguousArray<(key: UInt64, slot: UInt32)>()
    entries.reserveCapacity(ids.count)
    for slot in 0..<ids.count { entries.append((ids.pointer[slot].shuffleKey, UInt32(slot))) }
    entries.sort { left, right in
      left.key != right.key ? left.key < right.key : ids.pointer[Int(left.slot)] < ids.pointer[Int(right.slot)]
    }
    return FixedBuffer(entries.lazy.map(\.slot))
  }
}

/// An immutable buffer of plain values at a fixed address, for loops that must not count references.
///
/// Copies share the memory: an allocation, or a mapped file.
struct FixedBuffer<Element: BitwiseCopyable>: @unchecked Sendable {
  // Sendable: the memory is written by the initializer alone, and freed with the last copy.

  /// The values; valid for the life of this buffer and its copies.
  let pointer: UnsafePointer<Element>

  let count: Int

  private let owner: AnyObject

  var byteCount: Int { count * MemoryLayout<Element>.stride }

  /// A copy of the values.
  var array: ContiguousArray<Element> { ContiguousArray(UnsafeBufferPointer(start: pointer, count: count)) }

  /// Creates a buffer of values that the closure initializes, all of them.
  init(count: Int, initializingWith initialize: (UnsafeMutablePointer<Element>) -> Void) {
    let storage = ManagedBuffer<Void, Element>.create(minimumCapacity: count) { _ in }
    pointer = storage.withUnsafeMutablePointerToElements { memory in
      initialize(memory)
      return UnsafePointer(memory)
    }
    self.count = count
    owner = storage
  }

  /// Creates a buffer of values of a mapped file.
  ///
  /// - Parameters:
  ///   - offset: the offset of the first value, at which it is aligned.
  ///   - count: the number of values, which the file has from there on.
  init(in file: MappedFile, at offset: Int, count: Int) {
    pointer = (file.start + offset).assumingMemoryBound(to: Element.self)
    self.count = count
    owner = file
  }

  init(_ values: some Collection<Element>) {
    self.init(count: values.count) { memory in
      _ = UnsafeMutableBufferPointer(start: memory, count: values.count).initialize(from: values)
    }
  }
}

/// Prefetches values that will be read soon.
///
/// Hardly anything of one place among millions is in a cache. Cache lines requested early, and together, arrive while
/// other work is done; a request costs a cycle or two, and is harmless for an invalid address.
@inline(__always)
func prefetch<Element>(_ values: UnsafePointer<Element>, count: Int = 1) {
  let lineSize = 64
  for offset in stride(from: 0, to: count * MemoryLayout<Element>.stride, by: lineSize) {
    CPrefetch.prefetch(UnsafeRawPointer(values) + offset)
  }
}

/// Work that is divided between processors.
enum Parallel {
  /// Runs two closures, at the same time where that is worth it, and returns their results.
  ///
  /// The caller's thread runs one of them, so that this ends even when no other thread is free.
  static func both<First: Sendable, Second: Sendable>(
    where isWorthIt: Bool,
    _ first: @Sendable () -> First,
    and second: @Sendable () -> Second
  ) -> (First, Second) {
    guard isWorthIt else { return (first(), second()) }
    let firstResult = Mutex<First?>(nil)
    let secondResult = Mutex<Second?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { iteration in
      if iteration == 0 {
        let result = first()
        firstResult.withLock { $0 = result }
      } else {
        let result = second()
        secondResult.withLock { $0 = result }
      }
    }
    guard let first = firstResult.withLock({ $0 }), let second = secondResult.withLock({ $0 }) else {
      preconditionFailure("both iterations have run")
    }
    return (first, second)
  }
}
