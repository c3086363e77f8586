import Geo
public import Points

/// Places in the order of their arrival, as columns of plain values: what a ``PointSnapshot`` is built from.
///
/// A place takes 60 bytes, up to 24 of its version and times, and those of its name, its tags and its source's id,
/// without an object of its own.
public struct PointBuffer: Sendable {
  var ids: ContiguousArray<PointID> = []
  var coordinates: ContiguousArray<Coordinate> = []

  /// The other fields; the texts are in ``texts``, the versions and times in ``stamps``.
  var records: ContiguousArray<PointRecord> = []
  var stamps = StampNumbers()
  var texts: ContiguousArray<UInt8> = []

  /// The categories and the sources by their numbers in the records.
  var categories = TextNumbers()
  var sources = TextNumbers()

  public init() {}

  public init(_ points: ContiguousArray<PointOfInterest>) {
    reserveCapacity(points.count, textBytes: points.reduce(0) { $0 + $1.draft.unnumberedBytes })
    for point in points { append(point) }
  }

  /// The number of places.
  public var count: Int { ids.count }

  /// The number of bytes of the names, the tags and the sources' ids.
  public var textBytes: Int { texts.count }

  /// The number of bytes of memory, without what the columns have allocated in advance.
  package var byteCount: Int {
    let columns = MemoryLayout<PointID>.stride + MemoryLayout<Coordinate>.stride + MemoryLayout<PointRecord>.stride
    return count * columns + texts.count + categories.byteCount + sources.byteCount
  }

  /// The places; each is made when it is accessed.
  package var points: some RandomAccessCollection<PointOfInterest> { ids.indices.lazy.map { point(at: $0) } }

  package func id(at index: Int) -> PointID { ids[index] }

  package func version(at index: Int) -> Int64 { stamps.stamps[Int(records[index].stamp)].version }

  package func point(at index: Int) -> PointOfInterest {
    let (record, stamp) = (records[index], stamps.stamps[Int(records[index].stamp)])
    func text(_ start: Int, _ length: Int) -> String {
      texts.withUnsafeBufferPointer { String(decoding: $0[start..<start + length], as: UTF8.self) }
    }
    let tagsStart = record.start + Int(record.nameLength)
    let origin =
      record.source == PointRecord.none
      ? nil
      : SourceReference(
        source: sources.texts[Int(record.source)],
        sourceID: text(tagsStart + Int(record.tagsLength), record.sourceIDLength))
    return PointOfInterest(
      id: ids[index],
      draft: PointDraft(
        storedName: text(record.start, Int(record.nameLength)),
        category: record.category == PointRecord.none ? nil : categories.texts[Int(record.category)],
        coordinate: coordinates[index], tags: Tags(storedJSON: text(tagsStart, Int(record.tagsLength))),
        origin: origin),
      version: stamp.version, createdAt: stamp.createdAt, updatedAt: stamp.updatedAt)
  }

  /// Sets what the store gives the place at an index: its id, its version and its times.
  package mutating func set(at index: Int, id: PointID, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    ids[index] = id
    records[index].stamp = stamps.number(
      of: PointStamp(version: version, createdAt: createdAt, updatedAt: updatedAt))
  }

  /// Sets the version and the times of all places, which were planned before.
  mutating func setStamps(version: Int64, at now: Timestamp, plannedAt: Timestamp) {
    stamps.replaceAll { $0.made(at: now, version: version, plannedAt: plannedAt) }
  }

  /// Allocates memory for a total number of places, and of bytes of their texts, at once.
  public mutating func reserveCapacity(_ count: Int, textBytes: Int = 0) {
    ids.reserveCapacity(count)
    coordinates.reserveCapacity(count)
    records.reserveCapacity(count)
    texts.reserveCapacity(textBytes)
  }

  /// Appends a place.
  public mutating func append(_ point: PointOfInterest) {
    let draft = point.draft
    let record = PointRecord(
      start: texts.count,
      nameLength: draft.name.utf8.count,
      tagsLength: draft.tags.json.utf8.count,
      sourceIDLength: draft.origin?.sourceID.utf8.count ?? 0,
      category: draft.category.map { categories.number(of: $0) } ?? PointRecord.none,
      source: draft.origin.map { sources.number(of: $0.source) } ?? PointRecord.none,
      stamp: stamps.number(
        of: PointStamp(version: point.version, createdAt: point.createdAt, updatedAt: point.updatedAt))
    )
    append(point.id, draft.coordinate, record)
    texts.append(contentsOf: draft.name.utf8)
    texts.append(contentsOf: draft.tags.json.utf8)
    if let origin = draft.origin { texts.append(contentsOf: origin.sourceID.utf8) }
  }

  /// Appends a place.
  public mutating func append(_ place: BorrowedPoint) {
    let record = PointRecord(
      start: texts.count,
      nameLength: place.name.count,
      tagsLength: place.tags.beginning.count + place.tags.rest.count,
      sourceIDLength: place.sourceID?.count ?? 0,
      category: place.category.map { categories.number(of: $0) } ?? PointRecord.none,
      source: place.source.map { sources.number(of: $0) } ?? PointRecord.none,
      stamp: stamps.number(
        of: PointStamp(version: place.version, createdAt: place.createdAt, updatedAt: place.updatedAt))
    )
    append(place.id, place.coordinate, record)
    texts.append(contentsOf: place.name)
    texts.append(contentsOf: place.tags.beginning)
    texts.append(contentsOf: place.tags.rest)
    if let sourceID = place.sourceID { texts.append(contentsOf: sourceID) }
  }

  /// Appends the places of another buffer, or those at the indices that satisfy a predicate.
  public mutating func append(contentsOf other: PointBuffer, where isIncluded: (_ index: Int) -> Bool = { _ in true }) {
    var numbers = NumberTranslation(categories: other.categories, sources: other.sources)
    other.texts.withUnsafeBufferPointer { texts in
      for index in other.ids.indices where isIncluded(index) {
        let record = other.records[index]
        var copy = record
        copy.start = self.texts.count
        self.texts.append(contentsOf: texts[record.start..<record.start + record.textLength])
        append(
          other.ids[index], other.coordinates[index], copy, other.stamps.stamps[Int(record.stamp)], &numbers)
      }
    }
  }

  /// Appends the places of a segment that are not dead.
  mutating func append(contentsOf segment: Segment, isDead: (_ slot: Int) -> Bool) {
    let (columns, records) = (segment.columns, segment.records)
    var numbers = NumberTranslation(categories: segment.categories.numbers, sources: records.sources)
    stamps.reserveCapacity(forFurther: records.stampCount)
    for slot in 0..<segment.count where !isDead(slot) {
      let record = records.append(at: slot, to: &texts)
      append(columns.ids[slot], columns.coordinates[slot], record, records.stamp(at: slot), &numbers)
    }
  }

  /// Appends a place of other columns, whose texts were appended.
  private mutating func append(
    _ id: PointID,
    _ coordinate: Coordinate,
    _ record: PointRecord,
    _ stamp: PointStamp,
    _ numbers: inout NumberTranslation
  ) {
    var copy = record
    copy.stamp = stamps.number(of: stamp)
    copy.category = numbers.categories.number(of: record.category, in: &categories)
    copy.source = numbers.sources.number(of: record.source, in: &sources)
    append(id, coordinate, copy)
  }

  private mutating func append(_ id: PointID, _ coordinate: Coordinate, _ record: PointRecord) {
    ids.append(id)
    coordinates.append(coordinate)
    records.append(record)
  }
}

/// The translation of the numbers of other columns to those of a buffer. Only categories and sources that a place has
/// get a number.
private struct NumberTranslation {
  var categories: Numbers
  var sources: Numbers

  init(categories: TextNumbers, sources: TextNumbers) {
    self.categories = Numbers(categories.texts)
    self.sources = Numbers(sources.texts)
  }

  struct Numbers {
    private let texts: [String]
    private var numbers: ContiguousArray<UInt32>

    init(_ texts: [String]) {
      self.texts = texts
      numbers = ContiguousArray(repeating: PointRecord.none, count: texts.count)
    }

    mutating func number(of other: UInt32, in target: inout TextNumbers) -> UInt32 {
      if other == PointRecord.none { return other }
      let index = Int(other)
      if numbers[index] == PointRecord.none { numbers[index] = target.number(of: texts[index]) }
      return numbers[index]
    }
  }
}

extension PointDraft {
  /// The number of bytes of the texts that are not numbered.
  fileprivate var unnumberedBytes: Int { textBytes + (origin?.sourceID.utf8.count ?? 0) }
}
