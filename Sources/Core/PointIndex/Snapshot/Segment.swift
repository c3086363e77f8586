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
  let positions: UnsafePointer<EarthCentred>
  let coordinates: CoordinatePointers
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

  /// The work of ``evaluateHours()``.
  private let hoursEvaluation = DispatchGroup()

  private let textConfiguration: TextIndexConfiguration
  private let builtTextIndex: Mutex<TextIndex?>

  private let ids: FixedBuffer<PointID>
  private let positions: FixedBuffer<EarthCentred>
  private let coordinates: CoordinateColumn
  private let spaceBounds: FixedBuffer<SpaceBounds>
  private let geographicBounds: FixedBuffer<GeographicBounds>
  private let idOrder: FixedBuffer<UInt32>

  /// The last pivot of ``slots(shuffledFrom:)``, and its slots.
  private let shuffledSlots = Mutex<(pivot: UInt64, slots: [UInt32])?>(nil)

  private let sourceReferences: SourceReferenceIndex

  /// Creates a segment of at least one place. O(n log n).
  ///
  /// Each column of the buffer is freed as soon as it has been copied. While the texts are copied they are held twice,
  /// beside some 90 bytes a place: that is the peak.
  ///
  /// - Parameters:
  ///   - buffer: places of which no two have the same id or the same source reference.
  ///   - text: the fields that texts are searched in.
  init(_ buffer: consuming PointBuffer, text configuration: TextIndexConfiguration) {
    let count = buffer.count
    precondition(count > 0 && count < UInt32.max)
    self.count = count
    let (order, knownPositions): (FixedBuffer<UInt32>, FixedBuffer<EarthCentred>?)
    (order, knownPositions, records) = Self.recordsInSpatialOrder(buffer)
    (buffer.records, buffer.stamps, buffer.texts) = ([], StampNumbers(), [])
    let (positionColumn, otherColumns) = Parallel.both(where: count > Parallel.maximumUndivided) {
      [coordinates = buffer.coordinates] in
      if let knownPositions { return knownPositions }
      return FixedBuffer<EarthCentred>(count: count) { memory in
        for slot in 0..<count {
          (memory + slot).initialize(to: EarthCentred(coordinates[Int(order.pointer[slot])]))
        }
      }
    } and: { [ids = buffer.ids, coordinates = buffer.coordinates] in
      (FixedBuffer(ids, in: order), CoordinateColumn(coordinates, in: order))
    }
    positions = positionColumn
    (ids, coordinates) = otherColumns
    (buffer.ids, buffer.coordinates) = ([], [])
    let columns = SegmentColumns(
      ids: ids.pointer, positions: positions.pointer, coordinates: coordinates.pointers)
    let isIndexed = count > Self.maximumUnindexed
    let indexes = Parallel.both(where: count > Parallel.maximumUndivided) {
      [numbers = buffer.categories, records, ids] in
      let (treeAndSources, idOrder) = Parallel.both(where: count > Parallel.maximumUndivided) {
        var nodes = NodeBounds(capacity: PackedTree.nodeCount(places: count))
        nodes.append(treeOf: 0..<UInt32(count), columns: columns)
        return (FixedBuffer(nodes.space), FixedBuffer(nodes.geographic), records.sourceReferences())
      } and: {
        Self.order(of: ids)
      }
      let categories = CategoryIndex(numbers: numbers, records: records, idOrder: idOrder, columns: columns)
      let hours =
        !isIndexed
        ? nil
        : HoursIndex(
          records: records, coordinates: columns.coordinates,
          nodeCount: Self.nodeCount(places: count, categories),
          evaluatingAt: SystemClock().now().minutesSinceEpoch)
      return (treeAndSources, idOrder, categories, hours)
    } and: { [numbers = buffer.categories, records] in
      !isIndexed
        ? nil
        : TextIndex(
          records: records, categories: numbers.texts, positions: columns, configuration: configuration)
    }
    let hours: HoursIndex?
    ((spaceBounds, geographicBounds, sourceReferences), idOrder, categories, hours) = indexes.0
    builtHours = Mutex(hours)
    textConfiguration = configuration
    builtTextIndex = Mutex(indexes.1)
    fileName = nil
  }

  /// Creates a segment with the columns and the indexes of another in memory, but for the stamps. O(s) for s stamps.
  init(_ other: Segment, replacingStamps transform: (PointStamp) -> PointStamp) {
    count = other.count
    records = other.records.replacingStamps(transform)
    (ids, positions, coordinates) = (other.ids, other.positions, other.coordinates)
    (spaceBounds, geographicBounds) = (other.spaceBounds, other.geographicBounds)
    (idOrder, sourceReferences) = (other.idOrder, other.sourceReferences)
    categories = other.categories
    textConfiguration = other.textConfiguration
    builtHours = Mutex(nil)
    builtTextIndex = Mutex(other.builtTextIndex.withLock { $0 })
    fileName = nil
    takeIndexes(of: other)
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
    positions = try file.column(.positions, count: count)
    coordinates = try CoordinateColumn(file)
    let nodeCount = PackedTree.nodeCount(places: count)
    spaceBounds = try file.column(.spaceBounds, count: nodeCount)
    geographicBounds = try file.column(.geographicBounds, count: nodeCount)
    idOrder = try file.column(.idOrder, count: count)
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
    try file.append(.positions, positions)
    try coordinates.write(to: &file)
    try file.append(.spaceBounds, spaceBounds)
    try file.append(.geographicBounds, geographicBounds)
    try file.append(.idOrder, idOrder)
    try categories.write(to: &file)
    if count > Self.maximumUnindexed { try textIndex.write(to: &file) }
    if let hours = builtHours.withLock({ $0 }) { try hours.write(to: &file, records) }
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

  /// The index of the words of the places. Built if it is not yet, and kept.
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
      ("coordinates", coordinates.byteCount + positions.byteCount),
      ("records", records.byteCounts.records),
      ("texts", records.byteCounts.texts),
      ("tree", spaceBounds.byteCount + geographicBounds.byteCount),
      ("id order", idOrder.byteCount),
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
    SegmentColumns(ids: ids.pointer, positions: positions.pointer, coordinates: coordinates.pointers)
  }

  /// The columns that places are borrowed from; valid for the life of the segment.
  var placeColumns: PlaceColumns {
    PlaceColumns(
      ids: ids.pointer,
      positions: positions.pointer,
      coordinates: coordinates.pointers,
      records: records.columns,
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

  /// The number of places that ``slots(shuffledFrom:)`` returns, of which usually one is not removed.
  private static let shuffledCount = 8

  /// Returns the first slots in the order of the ids' ``Points/PointID/shuffleKey`` from a pivot on, the least keys
  /// behind the greatest. O(n), 5 to 9 ms for a million places, and O(1) for the last pivot again: there is one for some
  /// seconds.
  func slots(shuffledFrom pivot: UInt64) -> [UInt32] {
    if let known = shuffledSlots.withLock({ $0 }), known.pivot == pivot { return known.slots }
    let slots = slots(shuffledFrom: pivot, maximumCount: Self.shuffledCount) { _ in true }
    shuffledSlots.withLock { $0 = (pivot, slots) }
    return slots
  }

  /// Returns the first of the slots that a closure returns `true` for, in that order. O(n).
  func slots(shuffledFrom pivot: UInt64, maximumCount: Int, where isIncluded: (Int) -> Bool) -> [UInt32] {
    var first: [(key: UInt64, slot: UInt32)] = []
    for slot in 0..<count {
      let key = ids.pointer[slot].shuffleKey &- pivot
      if first.count == maximumCount, let last = first.last {
        if last.key < key { continue }
        if (last.key, ids.pointer[Int(last.slot)]) < (key, ids.pointer[slot]) { continue }
      }
      guard isIncluded(slot) else { continue }
      let position = first.firstIndex {
        ($0.key, ids.pointer[Int($0.slot)]) > (key, ids.pointer[slot])
      }
      if first.count == maximumCount { first.removeLast() }
      first.insert((key, UInt32(slot)), at: position ?? first.count)
    }
    return first.map(\.slot)
  }

  /// Returns the place in a slot.
  func point(at slot: Int) -> PointOfInterest {
    records.point(
      at: slot,
      id: ids.pointer[slot],
      coordinate: coordinates.pointers[slot],
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
      records: records, coordinates: coordinates.pointers, nodeCount: Self.nodeCount(places: count, categories),
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
    DispatchQueue.global(qos: .utility).async(group: hoursEvaluation) { [self] in
      hours.evaluateAll(at: SystemClock().now().minutesSinceEpoch, coordinates: coordinates.pointers)
    }
  }

  /// A Boolean value that indicates whether ``evaluateHours()`` was called and has not ended.
  var evaluatesHours: Bool { hoursEvaluation.wait(timeout: .now()) == .timedOut }

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
  /// Creates a buffer of values in the order of indices.
  init(_ values: ContiguousArray<Element>, in order: FixedBuffer<UInt32>) {
    self.init(count: order.count) { memory in
      values.withUnsafeBufferPointer { values in
        for slot in 0..<order.count { (memory + slot).initialize(to: values[Int(order.pointer[slot])]) }
      }
    }
  }
}

extension Segment {
  /// Returns the indices of places in the order of their slots, their positions by slot, and their records by slot.
  ///
  /// The positions of many places are `nil`: they would take memory while the texts are copied.
  private static func recordsInSpatialOrder(
    _ buffer: borrowing PointBuffer
  ) -> (FixedBuffer<UInt32>, FixedBuffer<EarthCentred>?, PointRecords) {
    let isLarge = buffer.count > Parallel.maximumUndivided
    let ((order, positions), beginnings) = Parallel.both(where: isLarge) {
      [coordinates = buffer.coordinates] in
      let items = inSpatialOrder(coordinates)
      return (FixedBuffer(items.lazy.map(\.index)), isLarge ? nil : FixedBuffer(items.lazy.map(\.position)))
    } and: { [records = buffer.records, texts = buffer.texts] in
      TagBeginnings(records, texts: texts)
    }
    // The texts are held twice while they are copied: no other column may need memory then.
    let records = PointRecords(
      buffer.records, buffer.stamps, texts: buffer.texts, sharing: beginnings, sources: buffer.sources, in: order)
    return (order, positions, records)
  }

  /// Returns the places in the order of their slots.
  static func inSpatialOrder(_ coordinates: ContiguousArray<Coordinate>) -> ContiguousArray<SpatialOrder.Item> {
    var items = ContiguousArray<SpatialOrder.Item>()
    items.reserveCapacity(coordinates.count)
    for (index, coordinate) in coordinates.enumerated() {
      items.append(.init(position: EarthCentred(coordinate), index: UInt32(index)))
    }
    items.withUnsafeMutableBufferPointer { SpatialOrder.sort($0) }
    return items
  }

  /// Returns the slots in the order of the ids.
  static func order(of ids: FixedBuffer<PointID>) -> FixedBuffer<UInt32> {
    var entries = ContiguousArray<(id: PointID, slot: UInt32)>()
    entries.reserveCapacity(ids.count)
    for slot in 0..<ids.count { entries.append((ids.pointer[slot], UInt32(slot))) }
    entries.sort { $0.id < $1.id }
    return FixedBuffer(entries.lazy.map(\.slot))
  }
}

/// The coordinates of the places of a segment, by slot: in 8 bytes each if all are multiples of 10⁻⁷ degrees, as those of
/// maps and of most receivers are, otherwise in 16.
enum CoordinateColumn: Sendable {
  case decimal(FixedBuffer<DecimalCoordinate>)
  case exact(FixedBuffer<Coordinate>)

  /// Creates the column of coordinates in the order of indices.
  init(_ coordinates: ContiguousArray<Coordinate>, in order: FixedBuffer<UInt32>) {
    var decimals = ContiguousArray<DecimalCoordinate>()
    decimals.reserveCapacity(coordinates.count)
    for coordinate in coordinates {
      guard let decimal = DecimalCoordinate(coordinate) else { break }
      decimals.append(decimal)
    }
    self =
      decimals.count == coordinates.count
      ? .decimal(FixedBuffer(decimals, in: order)) : .exact(FixedBuffer(coordinates, in: order))
  }

  init(_ file: SegmentFile) throws(IndexFileError) {
    self =
      file.has(.decimalCoordinates)
      ? .decimal(try file.column(.decimalCoordinates, count: file.placeCount))
      : .exact(try file.column(.coordinates, count: file.placeCount))
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    switch self {
    case .decimal(let coordinates): try file.append(.decimalCoordinates, coordinates)
    case .exact(let coordinates): try file.append(.coordinates, coordinates)
    }
  }

  /// The coordinates as plain pointers; valid for the life of the column.
  var pointers: CoordinatePointers {
    switch self {
    case .decimal(let coordinates): CoordinatePointers(coordinates)
    case .exact(let coordinates): CoordinatePointers(coordinates)
    }
  }

  var byteCount: Int {
    switch self {
    case .decimal(let coordinates): coordinates.byteCount
    case .exact(let coordinates): coordinates.byteCount
    }
  }
}

/// The coordinates of a ``CoordinateColumn``, by slot.
struct CoordinatePointers: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointer is never written after the column's initialization.

  private let start: UnsafeRawPointer
  private let isDecimal: Bool

  fileprivate init(_ decimal: FixedBuffer<DecimalCoordinate>) {
    start = UnsafeRawPointer(decimal.pointer)
    isDecimal = true
  }

  fileprivate init(_ exact: FixedBuffer<Coordinate>) {
    start = UnsafeRawPointer(exact.pointer)
    isDecimal = false
  }

  @inline(__always)
  subscript(slot: Int) -> Coordinate {
    isDecimal
      ? start.assumingMemoryBound(to: DecimalCoordinate.self)[slot].coordinate
      : start.assumingMemoryBound(to: Coordinate.self)[slot]
  }

  @inline(__always)
  func prefetchCoordinate(at slot: Int) {
    prefetch((start + (slot << (isDecimal ? 3 : 4))).assumingMemoryBound(to: UInt8.self))
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
