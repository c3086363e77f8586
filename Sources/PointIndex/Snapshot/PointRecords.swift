import Basics
import Geo
import JSONText
import Points

/// The fields of a place that searches do not read. Its texts are in the bytes beside it: the name, the tags and the
/// source's id, one after another.
struct PointRecord: BitwiseCopyable {
  /// The number that stands for no category and for no source.
  static let none = UInt32.max

  /// The offset of the texts in the lowest 40 bits, and the length of the source's id in the others.
  private var startAndSourceIDLength: UInt64

  let version: Int64
  let createdAtMicroseconds: Int64
  let updatedAtMicroseconds: Int64

  let tagsLength: UInt32

  /// The numbers of the category and the source.
  var category: UInt32
  var source: UInt32
  let nameLength: UInt32

  init(
    start: Int,
    nameLength: Int,
    tagsLength: Int,
    sourceIDLength: Int,
    category: UInt32,
    source: UInt32,
    version: Int64,
    createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    precondition(start < 1 << Self.startBits && sourceIDLength < 1 << (64 - Self.startBits))
    startAndSourceIDLength = UInt64(start) | UInt64(sourceIDLength) << Self.startBits
    self.version = version
    createdAtMicroseconds = createdAt.microsecondsSinceEpoch
    updatedAtMicroseconds = updatedAt.microsecondsSinceEpoch
    self.tagsLength = UInt32(tagsLength)
    self.category = category
    self.source = source
    self.nameLength = UInt32(nameLength)
  }

  private static let startBits: UInt64 = 40

  /// The offset of the texts.
  var start: Int {
    get { Int(startAndSourceIDLength & (1 << Self.startBits - 1)) }
    set { startAndSourceIDLength = UInt64(sourceIDLength) << Self.startBits | UInt64(newValue) }
  }

  /// The length of the source's id in bytes.
  var sourceIDLength: Int { Int(startAndSourceIDLength >> Self.startBits) }

  /// The number of bytes of the texts.
  var textLength: Int { Int(nameLength) + Int(tagsLength) + sourceIDLength }
}

/// The records of a segment's places, by slot.
///
/// All texts are in one buffer instead of a `String` each: that takes a third less memory, and a response copies from
/// there without counting references.
struct PointRecords: Sendable {
  private let records: FixedBuffer<PointRecord>
  private let bytes: FixedBuffer<UInt8>

  /// The sources by their numbers.
  let sources: TextNumbers

  /// The sources in UTF-8.
  let packedSources: PackedTexts

  init(_ records: FixedBuffer<PointRecord>, texts: FixedBuffer<UInt8>, sources: TextNumbers) {
    self.records = records
    bytes = texts
    self.sources = sources
    packedSources = PackedTexts(sources.texts)
  }

  /// Creates the records of a segment in a file.
  init(_ file: SegmentFile) throws(IndexFileError) {
    records = try file.column(.records, count: file.placeCount)
    bytes = try file.column(.texts)
    packedSources = try PackedTexts(file, starts: .sourceStarts, bytes: .sources)
    sources = TextNumbers(packedSources.texts)
  }

  func write(to file: inout SegmentFileWriter) throws(IndexFileError) {
    try file.append(.records, records)
    try file.append(.texts, bytes)
    try packedSources.write(to: &file, starts: .sourceStarts, bytes: .sources)
  }

  var byteCounts: (records: Int, texts: Int) { (records.byteCount, bytes.byteCount) }

  /// The number of places.
  var count: Int { records.count }

  /// Returns the number of the category of the place in a slot, or ``PointRecord/none``.
  func category(at slot: Int) -> UInt32 { records.pointer[slot].category }

  /// Returns the record of the place in a slot.
  func record(at slot: Int) -> PointRecord { records.pointer[slot] }

  /// The texts of all places; valid for the life of the segment.
  var texts: UnsafeBufferPointer<UInt8> { .init(start: bytes.pointer, count: bytes.count) }

  /// The records by slot, and the start of the texts; valid for the life of the segment.
  var pointers: (records: UnsafePointer<PointRecord>, texts: UnsafePointer<UInt8>) { (records.pointer, bytes.pointer) }

  /// Returns the place in a slot.
  ///
  /// - Parameter categories: the categories by their numbers.
  func point(at slot: Int, id: PointID, coordinate: Coordinate, categories: [String]) -> PointOfInterest {
    let record = records.pointer[slot]
    let hasCategory = record.category != PointRecord.none
    return PointOfInterest(
      id: id,
      draft: PointDraft(
        storedName: String(decoding: text(record.start, Int(record.nameLength)), as: UTF8.self),
        category: hasCategory ? categories[Int(record.category)] : nil,
        coordinate: coordinate,
        tags: Tags(storedJSON: String(decoding: tags(of: record), as: UTF8.self)),
        origin: origin(of: record)
      ),
      version: record.version,
      createdAt: Timestamp(microsecondsSinceEpoch: record.createdAtMicroseconds),
      updatedAt: Timestamp(microsecondsSinceEpoch: record.updatedAtMicroseconds)
    )
  }

  /// Returns a Boolean value that indicates whether the place in a slot has an id in a source.
  func isPoint(at slot: Int, fromSource source: UInt32, sourceID: UnsafeBufferPointer<UInt8>) -> Bool {
    self.source(at: slot) == source && self.sourceID(of: records.pointer[slot]).elementsEqual(sourceID)
  }

  /// Returns the number of the source of the place in a slot, or ``PointRecord/none``.
  func source(at slot: Int) -> UInt32 { records.pointer[slot].source }

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
        let record = records.pointer[slot]
        if record.source == PointRecord.none { continue }
        insert(
          UInt32(slot), SourceReferenceIndex.hash(ofSource: record.source, sourceID: sourceID(of: record), key: key))
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
  func name(at slot: Int) -> String {
    let record = records.pointer[slot]
    return String(decoding: text(record.start, Int(record.nameLength)), as: UTF8.self)
  }

  /// Returns the tags of the place in a slot, as stored JSON.
  func tags(at slot: Int) -> UnsafeBufferPointer<UInt8> { tags(of: records.pointer[slot]) }

  /// Returns the source reference of the place in a slot.
  func origin(at slot: Int) -> SourceReference? { origin(of: records.pointer[slot]) }

  private func origin(of record: PointRecord) -> SourceReference? {
    guard record.source != PointRecord.none else { return nil }
    return SourceReference(
      source: sources.texts[Int(record.source)],
      sourceID: String(decoding: sourceID(of: record), as: UTF8.self)
    )
  }

  private func tags(of record: PointRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength), Int(record.tagsLength))
  }

  private func sourceID(of record: PointRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength) + Int(record.tagsLength), record.sourceIDLength)
  }

  private func text(_ start: Int, _ length: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes.pointer + start, count: length)
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
  let coordinates: UnsafePointer<Coordinate>
  let records: UnsafePointer<PointRecord>
  let texts: UnsafePointer<UInt8>

  let categories: PackedTexts.Pointers
  let sources: PackedTexts.Pointers

  @inline(__always)
  func place(at slot: Int, distanceMetres: Double? = nil, alongMetres: Double? = nil) -> BorrowedPoint {
    let record = records[slot]
    let name = texts + record.start
    let tags = name + Int(record.nameLength)
    let hasSource = record.source != PointRecord.none
    return BorrowedPoint(
      id: ids[slot],
      coordinate: coordinates[slot],
      distanceMetres: distanceMetres,
      alongMetres: alongMetres,
      version: record.version,
      createdAt: Timestamp(microsecondsSinceEpoch: record.createdAtMicroseconds),
      updatedAt: Timestamp(microsecondsSinceEpoch: record.updatedAtMicroseconds),
      name: UnsafeBufferPointer(start: name, count: Int(record.nameLength)),
      category: record.category == PointRecord.none ? nil : categories[Int(record.category)],
      tags: UnsafeBufferPointer(start: tags, count: Int(record.tagsLength)),
      source: hasSource ? sources[Int(record.source)] : nil,
      sourceID: hasSource
        ? UnsafeBufferPointer(start: tags + Int(record.tagsLength), count: record.sourceIDLength) : nil
    )
  }

  /// Returns the number of bytes of the name and the tags of the place in a slot.
  func textBytes(at slot: Int) -> Int { Int(records[slot].nameLength) + Int(records[slot].tagsLength) }

  /// Prefetches the place in a slot, except its texts.
  func prefetchPlace(at slot: Int) {
    prefetch(coordinates + slot)
    prefetch(ids + slot)
    prefetch(records + slot)
  }

  /// Prefetches the first 128 bytes of the texts of the place in a slot; few are longer.
  func prefetchTexts(at slot: Int) {
    prefetch(texts + records[slot].start, count: 128)
  }
}
