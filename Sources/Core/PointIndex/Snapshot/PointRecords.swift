import Basics
import Geo
import JSONText
import Points

/// The version and the times of a place.
struct PointStamp: BitwiseCopyable, Equatable {
  let version: Int64
  let createdAtMicroseconds: Int64
  let updatedAtMicroseconds: Int64

  init(version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.version = version
    createdAtMicroseconds = createdAt.microsecondsSinceEpoch
    updatedAtMicroseconds = updatedAt.microsecondsSinceEpoch
  }

  var createdAt: Timestamp { Timestamp(microsecondsSinceEpoch: createdAtMicroseconds) }
  var updatedAt: Timestamp { Timestamp(microsecondsSinceEpoch: updatedAtMicroseconds) }

  /// Returns the stamp that a planned write has when it is made. A place that it creates was planned as created at the
  /// time of the plan.
  func made(at now: Timestamp, version: Int64, plannedAt: Timestamp) -> PointStamp {
    PointStamp(
      version: version, createdAt: createdAt == plannedAt ? now : createdAt, updatedAt: max(updatedAt, now))
  }
}

/// A numbering of stamps. The places of an import have one stamp, those of single writes one each.
///
/// A stamp has more than one number if others with the same hash came in between.
struct StampNumbers: Sendable {
  /// The stamps by their numbers.
  private(set) var stamps: ContiguousArray<PointStamp> = []

  /// The number that was given last to a stamp of each hash.
  private var recent: ContiguousArray<UInt32> = []

  private static let recentShift: UInt64 = 54

  /// Returns the number of a stamp. O(1).
  mutating func number(of stamp: PointStamp) -> UInt32 {
    guard let last = stamps.last else {
      stamps.append(stamp)
      return 0
    }
    if last == stamp { return UInt32(stamps.count - 1) }
    if recent.isEmpty { recent = ContiguousArray(repeating: 0, count: 1 << (64 - Self.recentShift)) }
    let hash = UInt64(bitPattern: stamp.version ^ stamp.updatedAtMicroseconds &* 31) &* 0x9E37_79B9_7F4A_7C15
    let entry = Int(hash >> Self.recentShift)
    let known = recent[entry]
    if stamps[Int(known)] == stamp { return known }
    recent[entry] = UInt32(stamps.count)
    stamps.append(stamp)
    return recent[entry]
  }

  /// Allocates memory for so many stamps more at once.
  mutating func reserveCapacity(forFurther count: Int) { stamps.reserveCapacity(stamps.count + count) }

  /// Replaces the stamp of each number.
  mutating func replaceAll(_ transform: (PointStamp) -> PointStamp) {
    for index in stamps.indices { stamps[index] = transform(stamps[index]) }
    recent = []
  }
}

/// The fields of a place that searches do not read. Its texts are in the bytes beside it: the name, the tags and the
/// source's id, one after another.
struct PointRecord: BitwiseCopyable {
  /// The number that stands for no category and for no source.
  static let none = UInt32.max

  /// The offset of the texts: its lowest 32 bits, and in the lowest 8 bits of the other number the rest. The length of
  /// the source's id is in the bits above.
  private var startLow: UInt32
  private var startHighAndSourceIDLength: UInt32

  let tagsLength: UInt32

  /// The numbers of the category and the source.
  var category: UInt32
  var source: UInt32
  let nameLength: UInt32

  /// The number of the stamp.
  var stamp: UInt32

  init(
    start: Int,
    nameLength: Int,
    tagsLength: Int,
    sourceIDLength: Int,
    category: UInt32,
    source: UInt32,
    stamp: UInt32
  ) {
    precondition(start < 1 << (32 + Self.startHighBits) && sourceIDLength < 1 << (32 - Self.startHighBits))
    startLow = UInt32(truncatingIfNeeded: start)
    startHighAndSourceIDLength = UInt32(start >> 32) | UInt32(sourceIDLength) << Self.startHighBits
    self.tagsLength = UInt32(tagsLength)
    self.category = category
    self.source = source
    self.nameLength = UInt32(nameLength)
    self.stamp = stamp
  }

  private static let startHighBits: UInt32 = 8

  /// The offset of the texts.
  var start: Int {
    get { Int(startLow) | Int(startHighAndSourceIDLength & (1 << Self.startHighBits - 1)) << 32 }
    set {
      startLow = UInt32(truncatingIfNeeded: newValue)
      startHighAndSourceIDLength = UInt32(sourceIDLength) << Self.startHighBits | UInt32(newValue >> 32)
    }
  }

  /// The length of the source's id in bytes.
  var sourceIDLength: Int { Int(startHighAndSourceIDLength >> Self.startHighBits) }

  /// The number of bytes of the texts.
  var textLength: Int { Int(nameLength) + Int(tagsLength) + sourceIDLength }
}

/// The record of a place of a segment in 20 bytes.
struct PackedRecord: BitwiseCopyable {
  /// The lowest 32 bits of the offset of the texts, and the others.
  private let startLow: UInt32
  private let startHigh: UInt8

  /// The lengths of the texts and the number of the source. If one of them needs more bits, the length of the name is
  /// ``isLong`` and ``LongFields`` precede the texts.
  private let nameLength: UInt8
  private let sourceIDLength: UInt8
  private let source: UInt8
  private let tagsLength: UInt16

  /// The number of the shared beginning of the tags; 0 for none.
  let beginning: UInt16

  /// The number of the category.
  let category: UInt32

  /// The number of the stamp.
  let stamp: UInt32

  private static let isLong = UInt8.max
  private static let noSource = UInt8.max

  private struct LongFields: BitwiseCopyable {
    let nameLength: UInt32
    let tagsLength: UInt32
    let sourceIDLength: UInt32
    let source: UInt32
  }

  /// Creates the packed form of a record.
  ///
  /// - Parameters:
  ///   - start: the offset of the texts.
  ///   - beginning: the number of the beginning that the tags share with those of other places; 0 for none.
  ///   - beginningLength: its length, which is left out of the texts.
  init(_ record: PointRecord, start: Int, beginning: UInt16, beginningLength: Int) {
    let tagsLength = Int(record.tagsLength) - beginningLength
    startLow = UInt32(truncatingIfNeeded: start)
    startHigh = UInt8(start >> 32)
    self.beginning = beginning
    category = record.category
    stamp = record.stamp
    let hasSource = record.source != PointRecord.none
    if record.nameLength < Self.isLong, tagsLength <= UInt16.max, record.sourceIDLength <= UInt8.max,
      !hasSource || record.source < Self.noSource
    {
      nameLength = UInt8(record.nameLength)
      self.tagsLength = UInt16(tagsLength)
      sourceIDLength = UInt8(record.sourceIDLength)
      source = hasSource ? UInt8(record.source) : Self.noSource
    } else {
      (nameLength, self.tagsLength, sourceIDLength, source) = (Self.isLong, 0, 0, Self.noSource)
    }
  }

  /// The offset of the texts.
  @inline(__always)
  var start: Int { Int(startLow) | Int(startHigh) << 32 }

  /// Returns the texts of the record, which was created of the given one, in the memory of all texts.
  @inline(__always)
  func texts(in bytes: UnsafePointer<UInt8>) -> StoredTexts {
    let start = bytes + self.start
    if nameLength != Self.isLong {
      return StoredTexts(
        at: start, nameLength: Int(nameLength), tagsLength: Int(tagsLength), sourceIDLength: Int(sourceIDLength),
        source: source == Self.noSource ? PointRecord.none : UInt32(source))
    }
    return longTexts(at: start)
  }

  @inline(never)
  private func longTexts(at start: UnsafePointer<UInt8>) -> StoredTexts {
    let fields = UnsafeRawPointer(start).loadUnaligned(as: LongFields.self)
    return StoredTexts(
      at: start + MemoryLayout<LongFields>.size, nameLength: Int(fields.nameLength),
      tagsLength: Int(fields.tagsLength), sourceIDLength: Int(fields.sourceIDLength), source: fields.source)
  }

  /// Returns the number of bytes that precede the texts.
  var fieldBytes: Int { nameLength == Self.isLong ? MemoryLayout<LongFields>.size : 0 }

  /// Writes the bytes that precede the texts.
  func writeFields(of record: PointRecord, to memory: UnsafeMutablePointer<UInt8>, beginningLength: Int) {
    guard fieldBytes > 0 else { return }
    UnsafeMutableRawPointer(memory).storeBytes(
      of: LongFields(
        nameLength: record.nameLength, tagsLength: record.tagsLength - UInt32(beginningLength),
        sourceIDLength: UInt32(record.sourceIDLength), source: record.source), as: LongFields.self)
  }
}

/// The texts of a place in the memory of its segment, one after another.
struct StoredTexts: BitwiseCopyable {
  let name: UnsafeBufferPointer<UInt8>

  /// The tags, as stored JSON, behind their shared beginning.
  let tags: UnsafeBufferPointer<UInt8>

  let sourceID: UnsafeBufferPointer<UInt8>

  /// The number of the source.
  let source: UInt32

  @inline(__always)
  init(at start: UnsafePointer<UInt8>, nameLength: Int, tagsLength: Int, sourceIDLength: Int, source: UInt32) {
    name = UnsafeBufferPointer(start: start, count: nameLength)
    tags = UnsafeBufferPointer(start: start + nameLength, count: tagsLength)
    sourceID = UnsafeBufferPointer(start: start + nameLength + tagsLength, count: sourceIDLength)
    self.source = source
  }
}

/// The records of a segment as plain pointers; valid for the life of the segment.
struct RecordColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the segment's initialization.

  private let records: UnsafePointer<PackedRecord>
  private let stamps: UnsafePointer<PointStamp>
  private let bytes: UnsafePointer<UInt8>
  private let beginnings: PackedTexts.Pointers

  fileprivate init(
    records: UnsafePointer<PackedRecord>, stamps: UnsafePointer<PointStamp>, bytes: UnsafePointer<UInt8>,
    beginnings: PackedTexts.Pointers
  ) {
    self.records = records
    self.stamps = stamps
    self.bytes = bytes
    self.beginnings = beginnings
  }

  /// Returns the number of the category of the place in a slot, or ``PointRecord/none``.
  @inline(__always)
  func category(at slot: Int) -> UInt32 { records[slot].category }

  /// Returns the stamp of the place in a slot.
  @inline(__always)
  func stamp(at slot: Int) -> PointStamp { stamps[Int(records[slot].stamp)] }

  /// Returns the name, the rest of the tags and the source reference of the place in a slot.
  @inline(__always)
  func texts(at slot: Int) -> StoredTexts { records[slot].texts(in: bytes) }

  /// Returns the beginning that the tags of the place in a slot share with others, which may be empty.
  @inline(__always)
  func beginningOfTags(at slot: Int) -> UnsafeBufferPointer<UInt8> { beginnings[Int(records[slot].beginning)] }

  /// Calls the body with the tags of the place in a slot, as stored JSON.
  @inline(__always)
  func withTags<Result>(at slot: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    let rest = texts(at: slot).tags
    if records[slot].beginning == 0 { return body(rest) }
    let beginning = beginningOfTags(at: slot)
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: TagBeginnings.maximumLength) { memory in
      let start = memory.baseAddress.unsafelyUnwrapped
      start.initialize(from: beginning.baseAddress.unsafelyUnwrapped, count: beginning.count)
      (start + beginning.count).initialize(from: rest.baseAddress.unsafelyUnwrapped, count: rest.count)
      return body(UnsafeBufferPointer(start: start, count: beginning.count &+ rest.count))
    }
  }

  /// Returns the number of bytes of the name and the tags of the place in a slot.
  func textBytes(at slot: Int) -> Int {
    let texts = texts(at: slot)
    return texts.name.count + beginningOfTags(at: slot).count + texts.tags.count
  }

  /// Prefetches the record of the place in a slot.
  @inline(__always)
  func prefetchRecord(at slot: Int) { prefetch(records + slot) }

  /// Prefetches the first 128 bytes of the texts of the place in a slot; few are longer.
  @inline(__always)
  func prefetchTexts(at slot: Int) { prefetch(bytes + records[slot].start, count: 128) }
}

/// The packed records of places, and where their texts will be.
private struct RecordLayout: Sendable {
  let shared: TagBeginnings
  let packed: FixedBuffer<PackedRecord>
  let stamps: StampNumbers

  /// The number of bytes of the texts.
  let byteCount: Int

  /// The number of places before its own turn at which a place in the order of the slots is prefetched.
  private static let distance = 8

  /// Creates the layout of places.
  ///
  /// - Parameters:
  ///   - records: the records by the indices of the places.
  ///   - shared: the beginnings of their tags.
  ///   - order: the indices in the order of the slots.
  init(
    _ records: ContiguousArray<PointRecord>, _ stamps: StampNumbers, sharing shared: TagBeginnings,
    in order: FixedBuffer<UInt32>
  ) {
    var stampsInOrder = StampNumbers()
    stampsInOrder.reserveCapacity(forFurther: min(stamps.stamps.count, order.count))
    var end = 0
    packed = records.withUnsafeBufferPointer { records in
      FixedBuffer<PackedRecord>(count: order.count) { memory in
        for slot in 0..<order.count {
          let index = Int(order.pointer[slot])
          if slot + Self.distance < order.count {
            prefetch(records.baseAddress.unsafelyUnwrapped + Int(order.pointer[slot + Self.distance]))
          }
          var record = records[index]
          record.stamp = stampsInOrder.number(of: stamps.stamps[Int(record.stamp)])
          let (beginning, length) = shared.beginning(ofIndex: index)
          let packed = PackedRecord(record, start: end, beginning: beginning, beginningLength: length)
          (memory + slot).initialize(to: packed)
          end += packed.fieldBytes + record.textLength - length
        }
      }
    }
    self.shared = shared
    self.stamps = stampsInOrder
    byteCount = end
  }

  /// Copies the texts of some slots, without the shared beginnings of their tags.
  ///
  /// - Parameter memory: the memory of the texts of all slots.
  func copyTexts(
    ofSlots slots: Range<Int>, of records: ContiguousArray<PointRecord>, _ texts: ContiguousArray<UInt8>,
    in order: FixedBuffer<UInt32>, to memory: UnsafeMutablePointer<UInt8>
  ) {
    texts.withUnsafeBufferPointer { texts in
      guard let texts = texts.baseAddress else { return }
      for slot in slots {
        let index = Int(order.pointer[slot])
        if slot + Self.distance < slots.upperBound {
          prefetch(texts + records[Int(order.pointer[slot + Self.distance])].start, count: 128)
        }
        let (record, packed) = (records[index], packed.pointer[slot])
        let length = shared.beginning(ofIndex: index).length
        var end = memory + packed.start
        packed.writeFields(of: record, to: end, beginningLength: length)
        end += packed.fieldBytes
        let (source, nameLength) = (texts + record.start, Int(record.nameLength))
        if length == 0 {
          end.initialize(from: source, count: record.textLength)
        } else {
          end.initialize(from: source, count: nameLength)
          (end + nameLength).initialize(
            from: source + nameLength + length, count: record.textLength - nameLength - length)
        }
      }
    }
  }
}

/// The records of a segment's places, by slot.
///
/// All texts are in one buffer instead of a `String` each: that takes a third less memory, and a response copies from
/// there without counting references.
struct PointRecords: Sendable {
  private let records: FixedBuffer<PackedRecord>
  private var stamps: FixedBuffer<PointStamp>
  private let bytes: FixedBuffer<UInt8>
  private let beginnings: PackedTexts

  /// The sources by their numbers.
  let sources: TextNumbers

  /// The sources in UTF-8.
  let packedSources: PackedTexts

  /// The number of bytes of the texts with all of their tags.
  let textBytes: Int

  /// Creates the records of places. Their texts are held twice meanwhile.
  ///
  /// - Parameters:
  ///   - records: the records by the indices of the places.
  ///   - shared: the beginnings of their tags.
  ///   - order: the indices in the order of the slots.
  init(
    _ records: ContiguousArray<PointRecord>, _ stamps: StampNumbers, texts: ContiguousArray<UInt8>,
    sharing shared: TagBeginnings, sources: TextNumbers, in order: FixedBuffer<UInt32>
  ) {
    let layout = RecordLayout(records, stamps, sharing: shared, in: order)
    bytes = FixedBuffer(count: layout.byteCount) { memory in
      // Unsafe: no two places have bytes in common.
      nonisolated(unsafe) let memory = memory
      let middle = order.count / 2
      _ = Parallel.both(where: order.count > Parallel.maximumUndivided) {
        layout.copyTexts(ofSlots: 0..<middle, of: records, texts, in: order, to: memory)
      } and: {
        layout.copyTexts(ofSlots: middle..<order.count, of: records, texts, in: order, to: memory)
      }
    }
    textBytes = texts.count
    self.records = layout.packed
    self.stamps = FixedBuffer(layout.stamps.stamps)
    beginnings = PackedTexts(bytes: layout.shared.texts)
    self.sources = sources
    packedSources = PackedTexts(sources.texts)
  }

  /// Creates the records of a segment in a file.
  init(_ file: SegmentFile) throws(IndexFileError) {
    records = try file.column(.records, count: file.placeCount)
    stamps = try file.column(.stamps)
    bytes = try file.column(.texts)
    beginnings = try PackedTexts(file, starts: .tagBeginningStarts, bytes: .tagBeginnings)
    textBytes = try file.column(.textByteCount, as: Int.self, count: 1).pointer[0]
    packedSources = try PackedTexts(file, starts: .sourceStarts, bytes: .sources)
    sources = TextNumbers(packedSources.texts)
  }

  /// Returns the records with other stamps. O(s) for s stamps.
  func replacingStamps(_ transform: (PointStamp) -> PointStamp) -> PointRecords {
    var copy = self
    copy.stamps = FixedBuffer(stamps.array.map(transform))
    return copy
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    try file.append(.records, records)
    try file.append(.stamps, stamps)
    try file.append(.texts, bytes)
    try beginnings.write(to: &file, starts: .tagBeginningStarts, bytes: .tagBeginnings)
    try file.append(.textByteCount, FixedBuffer([textBytes]))
    try packedSources.write(to: &file, starts: .sourceStarts, bytes: .sources)
  }

  var byteCounts: (records: Int, texts: Int) {
    (records.byteCount + stamps.byteCount, bytes.byteCount + beginnings.byteCount)
  }

  /// The number of places.
  var count: Int { records.count }

  /// The number of versions and times, which many places may share.
  var stampCount: Int { stamps.count }

  /// The records as plain pointers; valid for the life of the segment.
  var columns: RecordColumns {
    RecordColumns(
      records: records.pointer, stamps: stamps.pointer, bytes: bytes.pointer, beginnings: beginnings.pointers)
  }

  /// Returns the number of the category of the place in a slot, or ``PointRecord/none``.
  func category(at slot: Int) -> UInt32 { columns.category(at: slot) }

  /// Returns the stamp of the place in a slot.
  func stamp(at slot: Int) -> PointStamp { columns.stamp(at: slot) }

  /// Returns the record of the place in a slot, with the start of its texts in a buffer that they are appended to.
  func append(at slot: Int, to texts: inout ContiguousArray<UInt8>) -> PointRecord {
    let (start, stored) = (texts.count, columns.texts(at: slot))
    texts.append(contentsOf: stored.name)
    columns.withTags(at: slot) { texts.append(contentsOf: $0) }
    let tagsEnd = texts.count
    texts.append(contentsOf: stored.sourceID)
    return PointRecord(
      start: start, nameLength: stored.name.count, tagsLength: tagsEnd - start - stored.name.count,
      sourceIDLength: stored.sourceID.count, category: category(at: slot), source: stored.source, stamp: 0)
  }

  /// Returns the place in a slot.
  ///
  /// - Parameter categories: the categories by their numbers.
  func point(at slot: Int, id: PointID, coordinate: Coordinate, categories: [String]) -> PointOfInterest {
    let (texts, category, stamp) = (columns.texts(at: slot), category(at: slot), stamp(at: slot))
    return PointOfInterest(
      id: id,
      draft: PointDraft(
        storedName: String(decoding: texts.name, as: UTF8.self),
        category: category == PointRecord.none ? nil : categories[Int(category)],
        coordinate: coordinate,
        tags: Tags(storedJSON: columns.withTags(at: slot) { String(decoding: $0, as: UTF8.self) }),
        origin: origin(at: slot)
      ),
      version: stamp.version,
      createdAt: stamp.createdAt,
      updatedAt: stamp.updatedAt
    )
  }

  /// Returns a Boolean value that indicates whether the place in a slot has an id in a source.
  func isPoint(at slot: Int, fromSource source: UInt32, sourceID: UnsafeBufferPointer<UInt8>) -> Bool {
    self.source(at: slot) == source && columns.texts(at: slot).sourceID.elementsEqual(sourceID)
  }

  /// Returns the number of the source of the place in a slot, or ``PointRecord/none``.
  func source(at slot: Int) -> UInt32 { columns.texts(at: slot).source }

  /// Returns a Boolean value that indicates whether the place in a slot is of the source.
  func isPoint(at slot: Int, of source: PointQuery.Source) -> Bool {
    guard let number = sources.existingNumber(of: source.name.text) else { return false }
    guard var sourceID = source.sourceID?.text else { return self.source(at: slot) == number }
    return sourceID.withUTF8 { isPoint(at: slot, fromSource: number, sourceID: $0) }
  }

  /// Returns an index of the slots by the source references of the places in them.
  func sourceReferences() -> SourceReferenceIndex {
    let key = SipHash.Key.random()
    let entries = HashIndex.entries(capacity: (0..<count).count { source(at: $0) != PointRecord.none }) { insert in
      for slot in 0..<count {
        let texts = columns.texts(at: slot)
        if texts.source == PointRecord.none { continue }
        insert(
          UInt32(slot), SourceReferenceIndex.hash(ofSource: texts.source, sourceID: texts.sourceID, key: key))
      }
    }
    return SourceReferenceIndex(entries: entries, key: key)
  }

  /// Returns the slot of the place with a source reference, or `nil`. O(1) on average.
  func slot(of reference: SourceReference, in index: SourceReferenceIndex) -> Int? {
    guard let number = sources.existingNumber(of: reference.source) else { return nil }
    var sourceID = reference.sourceID
    return sourceID.withUTF8 { sourceID in
      index.slot(ofSource: number, sourceID: sourceID) { isPoint(at: $0, fromSource: number, sourceID: sourceID) }
    }
  }

  /// Returns the name of the place in a slot.
  func name(at slot: Int) -> String { String(decoding: columns.texts(at: slot).name, as: UTF8.self) }

  /// Calls the body with the tags of the place in a slot, as stored JSON.
  @inline(__always)
  func withTags<Result>(at slot: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    columns.withTags(at: slot, body)
  }

  /// Returns the source reference of the place in a slot.
  func origin(at slot: Int) -> SourceReference? {
    let texts = columns.texts(at: slot)
    guard texts.source != PointRecord.none else { return nil }
    return SourceReference(
      source: sources.texts[Int(texts.source)], sourceID: String(decoding: texts.sourceID, as: UTF8.self))
  }
}

/// The beginnings that the tags of many places share, each stored once: the same keys in the same order, and the values
/// before the first that differs.
///
/// They are found in a sample of the places, so that the work and the memory are bounded whatever the tags are.
struct TagBeginnings {
  /// The maximum length of tags with a shared beginning, in bytes.
  static let maximumLength = 1024

  /// The number of places from which beginnings are shared. Smaller segments are soon replaced by larger ones.
  private static let minimumPlaces = 4_097

  private static let maximumSample = 16_384

  /// The number of places of the sample that a beginning must be the longest one of.
  private static let minimumUses = 4

  /// The maximum number of members that a beginning ends in.
  private static let maximumMembers = 8

  /// The beginnings by their numbers; the first is empty.
  private(set) var texts: ContiguousArray<ContiguousArray<UInt8>> = [[]]

  /// A text that a beginning has up to the end of one of its members, or all of it.
  private struct Prefix {
    let hash: UInt64
    /// The number of the beginning that is this text; 0 if none is.
    var number: UInt16 = 0
  }

  /// The prefixes of all beginnings. Tags are read as far as they have one of these, usually not to their end.
  private var prefixes: ContiguousArray<Prefix> = []
  private var table = HashIndex(capacity: 0)

  /// The numbers of the beginnings by the indices of the places; none if no beginnings are shared.
  private var numbers: ContiguousArray<UInt16> = []

  /// The hash without any bytes, from which those of all beginnings begin.
  private let emptyHash = FoldedHash()

  init(_ records: ContiguousArray<PointRecord>, texts: ContiguousArray<UInt8>) {
    guard records.count >= Self.minimumPlaces else { return }
    texts.withUnsafeBufferPointer { texts in
      choose(from: records, texts)
      if self.texts.count == 1 { return }
      numbers.reserveCapacity(records.count)
      for record in records { numbers.append(number(of: Self.tags(of: record, texts))) }
    }
  }

  /// Returns the number of the beginning of the tags of a place and its length; 0 if it shares none.
  @inline(__always)
  func beginning(ofIndex index: Int) -> (number: UInt16, length: Int) {
    if numbers.isEmpty { return (0, 0) }
    let number = numbers[index]
    return (number, texts[Int(number)].count)
  }

  private static func tags(of record: PointRecord, _ texts: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    let start = record.start + Int(record.nameLength)
    return UnsafeBufferPointer(rebasing: texts[start..<start + Int(record.tagsLength)])
  }

  /// Chooses the beginnings, the longest first: each that enough places have that have no longer one.
  private mutating func choose(from records: ContiguousArray<PointRecord>, _ texts: UnsafeBufferPointer<UInt8>) {
    struct Candidate {
      let hash: UInt64
      let length: UInt32
      let index: UInt32
    }
    var candidates: ContiguousArray<Candidate> = []
    let step = (records.count + Self.maximumSample - 1) / Self.maximumSample
    for index in stride(from: 0, to: records.count, by: step) {
      forEachBeginning(of: Self.tags(of: records[index], texts)) { length, hash in
        candidates.append(Candidate(hash: hash, length: UInt32(length), index: UInt32(index / step)))
        return true
      }
    }
    candidates.sort { $0.length != $1.length ? $0.length > $1.length : $0.hash < $1.hash }
    var hasBeginning = ContiguousArray(repeating: false, count: (records.count + step - 1) / step)
    var start = 0
    while start < candidates.count, self.texts.count <= UInt16.max {
      let first = candidates[start]
      var (end, uses) = (start, 0)
      while end < candidates.count, candidates[end].hash == first.hash, candidates[end].length == first.length {
        if !hasBeginning[Int(candidates[end].index)] { uses += 1 }
        end += 1
      }
      if uses >= Self.minimumUses {
        for candidate in candidates[start..<end] { hasBeginning[Int(candidate.index)] = true }
        self.texts.append(ContiguousArray(Self.tags(of: records[Int(first.index) * step], texts)[..<Int(first.length)]))
      }
      start = end
    }
    indexTexts()
  }

  /// Fills the table with the prefixes of the beginnings.
  private mutating func indexTexts() {
    var (found, known) = (prefixes, [UInt64: Int]())
    for (number, text) in texts.enumerated() {
      text.withUnsafeBufferPointer { text in
        forEachBeginning(of: text) { length, hash in
          let index = known[hash] ?? found.count
          if index == found.count {
            found.append(Prefix(hash: hash))
            known[hash] = index
          }
          if length == text.count { found[index].number = UInt16(number) }
          return true
        }
      }
    }
    prefixes = found
    table = HashIndex(capacity: prefixes.count)
    for (index, prefix) in prefixes.enumerated() {
      table.insert(UInt32(index), hash: Int(truncatingIfNeeded: prefix.hash))
    }
  }

  /// Returns the number of the longest beginning of tags; 0 if they share none.
  private func number(of tags: UnsafeBufferPointer<UInt8>) -> UInt16 {
    var longest: UInt16 = 0
    forEachBeginning(of: tags) { length, hash in
      let index = table.first(hash: Int(truncatingIfNeeded: hash)) { prefixes[Int($0)].hash == hash }
      guard let index else { return false }
      let number = prefixes[Int(index)].number
      if number > 0, texts[Int(number)].elementsEqual(tags[..<length]) { longest = number }
      return true
    }
    return longest
  }

  /// Calls the body with the length and the hash of each beginning that ends with the opening quotation mark of a value,
  /// ascending, and of the whole tags, until it returns `false`. An escaped quotation mark moves the ends, which changes
  /// nothing but the memory.
  @inline(__always)
  private func forEachBeginning(of tags: UnsafeBufferPointer<UInt8>, _ body: (_ length: Int, _ hash: UInt64) -> Bool) {
    let minimumLength = 8
    guard tags.count >= minimumLength, tags.count <= Self.maximumLength else { return }
    var (hash, start, end, marks) = (emptyHash, 0, 0, 0)
    while let mark = tags.firstIndex(of: UInt8(ascii: "\""), from: end) {
      end = mark + 1
      marks += 1
      if marks & 3 == 3, end > minimumLength {
        hash.combine(bytes: UnsafeBufferPointer(rebasing: tags[start..<end]))
        guard body(end, hash.value) else { return }
        start = end
      }
      if marks == 4 * Self.maximumMembers { return }
    }
    if start == tags.count { return }
    hash.combine(bytes: UnsafeBufferPointer(rebasing: tags[start...]))
    _ = body(tags.count, hash.value)
  }
}

/// The slots of a segment by the source references of their places: a hash table.
struct SourceReferenceIndex: Sendable {
  let entries: FixedBuffer<UInt32>

  /// The key of the hashes, a random one for each segment, so that no client can choose ids that collide.
  let key: SipHash.Key

  /// Returns the hash of a source reference.
  static func hash(ofSource source: UInt32, sourceID: UnsafeBufferPointer<UInt8>, key: SipHash.Key) -> Int {
    Int(truncatingIfNeeded: SipHash.hash(UInt64(source), followedBy: sourceID, key: key))
  }

  /// Returns the slot of a source reference that satisfies a predicate, or `nil`. O(1) on average.
  func slot(ofSource source: UInt32, sourceID: UnsafeBufferPointer<UInt8>, where isMatch: (Int) -> Bool) -> Int? {
    HashIndex.first(
      in: UnsafeBufferPointer(start: entries.pointer, count: entries.count),
      hash: Self.hash(ofSource: source, sourceID: sourceID, key: key)
    ) { isMatch(Int($0)) }
    .map { Int($0) }
  }
}

/// The columns of a segment that places are borrowed from, by slot, as plain pointers: a response reads them without
/// counting references.
///
/// They, and the places they return, are valid for the life of their ``Segment``.
struct PlaceColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the segment's initialization.

  let ids: UnsafePointer<PointID>
  let positions: UnsafePointer<EarthCentred>
  let coordinates: CoordinatePointers
  let records: RecordColumns
  let categories: PackedTexts.Pointers
  let sources: PackedTexts.Pointers

  /// Returns the place in a slot.
  @inline(__always)
  func place(at slot: Int, distanceMetres: Double? = nil, alongMetres: Double? = nil) -> BorrowedPoint {
    let (texts, category, stamp) = (records.texts(at: slot), records.category(at: slot), records.stamp(at: slot))
    let hasSource = texts.source != PointRecord.none
    return BorrowedPoint(
      id: ids[slot],
      coordinate: coordinates[slot],
      distanceMetres: distanceMetres,
      alongMetres: alongMetres,
      version: stamp.version,
      createdAt: stamp.createdAt,
      updatedAt: stamp.updatedAt,
      name: texts.name,
      category: category == PointRecord.none ? nil : categories[Int(category)],
      beginningOfTags: records.beginningOfTags(at: slot),
      tags: texts.tags,
      source: hasSource ? sources[Int(texts.source)] : nil,
      sourceID: hasSource ? texts.sourceID : nil
    )
  }

  /// Prefetches the place in a slot, except its texts.
  @inline(__always)
  func prefetchPlace(at slot: Int) {
    coordinates.prefetchCoordinate(at: slot)
    prefetch(ids + slot)
    records.prefetchRecord(at: slot)
  }
}
