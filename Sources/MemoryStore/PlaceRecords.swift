import Geo
import JSONText
import Points

/// What is kept of a place beside the columns that searches read, its texts in the ``PlaceRecords``' bytes: the name, the
/// tags and the source's id, one behind another.
struct PlaceRecord: BitwiseCopyable {
  /// Stands for no category and for no source.
  static let none = UInt32.max

  /// Where the texts start.
  let start: Int

  let nameLength: UInt32
  let tagsLength: UInt32
  let sourceIDLength: UInt32

  /// The category and the source, as numbers of the segment's own.
  let category: UInt32
  let source: UInt32

  let version: Int64
  let createdAtMicroseconds: Int64
  let updatedAtMicroseconds: Int64
}

/// The records of a segment's places, by slot.
///
/// All texts are in one piece of memory, not in a `String` each: that takes a third less of it, and an answer copies from
/// there without counting references.
struct PlaceRecords: Sendable {
  private let records: Memory<PlaceRecord>
  private let bytes: Memory<UInt8>
  private let sources: [String]

  /// Takes the places, and numbers their categories.
  ///
  /// - Parameter order: which place is in which slot.
  init(
    _ points: UnsafeBufferPointer<PointOfInterest>,
    order: ContiguousArray<SpatialOrder.Item>,
    categories: inout TextNumbers
  ) {
    var sources = TextNumbers()
    var end = 0
    records = Memory(count: order.count) { records in
      for slot in order.indices {
        let index = Int(order[slot].index)
        let record = PlaceRecord(
          start: end,
          nameLength: UInt32(points[index].place.name.utf8.count),
          tagsLength: UInt32(points[index].place.tags.json.utf8.count),
          sourceIDLength: UInt32(points[index].place.origin?.sourceID.utf8.count ?? 0),
          category: categories.number(of: points[index].place.category) ?? PlaceRecord.none,
          source: sources.number(of: points[index].place.origin?.source) ?? PlaceRecord.none,
          version: points[index].version,
          createdAtMicroseconds: points[index].createdAt.microsecondsSinceEpoch,
          updatedAtMicroseconds: points[index].updatedAt.microsecondsSinceEpoch
        )
        (records + slot).initialize(to: record)
        end += Int(record.nameLength) + Int(record.tagsLength) + Int(record.sourceIDLength)
      }
    }
    bytes = Memory(count: end) { bytes in
      var position = bytes
      for item in order {
        Self.append(points[Int(item.index)].place.name, to: &position)
        Self.append(points[Int(item.index)].place.tags.json, to: &position)
        if let origin = points[Int(item.index)].place.origin { Self.append(origin.sourceID, to: &position) }
      }
    }
    self.sources = sources.texts
  }

  private static func append(_ text: String, to position: inout UnsafeMutablePointer<UInt8>) {
    var text = text
    text.withUTF8 { utf8 in
      guard let start = utf8.baseAddress else { return }
      position.initialize(from: start, count: utf8.count)
      position += utf8.count
    }
  }

  /// How many places there are.
  var count: Int { records.count }

  /// The number of the category that the place in a slot has, or ``PlaceRecord/none``.
  func category(at slot: Int) -> UInt32 { records.pointer[slot].category }

  /// The records by slot, and what their texts' starts count from; they live as long as the segment.
  var pointers: (records: UnsafePointer<PlaceRecord>, texts: UnsafePointer<UInt8>) { (records.pointer, bytes.pointer) }

  /// The place in a slot.
  ///
  /// - Parameter categories: the categories by their numbers.
  func point(at slot: Int, id: PointID, coordinate: Coordinate, categories: [String]) -> PointOfInterest {
    let record = records.pointer[slot]
    let hasCategory = record.category != PlaceRecord.none
    return PointOfInterest(
      id: id,
      place: Place(
        storedName: String(decoding: text(record.start, record.nameLength), as: UTF8.self),
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

  /// Whether the place in a slot came from there.
  func place(at slot: Int, cameFrom origin: Place.Origin) -> Bool {
    let record = records.pointer[slot]
    guard record.source != PlaceRecord.none else { return false }
    var sourceID = origin.sourceID
    return sourceID.withUTF8 { $0.elementsEqual(self.sourceID(of: record)) }
      && sources[Int(record.source)].hasSameBytes(as: origin.source)
  }

  /// The number of the source that the place in a slot has, or ``PlaceRecord/none``.
  func source(at slot: Int) -> UInt32 { records.pointer[slot].source }

  /// The number of a source that a place here has, or `nil`. In the order of the number of sources.
  func number(ofSource source: String) -> UInt32? {
    sources.firstIndex { $0.hasSameBytes(as: source) }.map { UInt32($0) }
  }

  /// Returns a Boolean value that indicates whether the place in a slot is one of a source, or the one that is named.
  func place(at slot: Int, isOf source: PointQuery.Source) -> Bool {
    if let sourceID = source.sourceID {
      return place(at: slot, cameFrom: Place.Origin(source: source.name.text, sourceID: sourceID.text))
    }
    let number = records.pointer[slot].source
    return number != PlaceRecord.none && sources[Int(number)].hasSameBytes(as: source.name.text)
  }

  private func origin(of record: PlaceRecord) -> Place.Origin? {
    guard record.source != PlaceRecord.none else { return nil }
    return Place.Origin(
      source: sources[Int(record.source)],
      sourceID: String(decoding: sourceID(of: record), as: UTF8.self)
    )
  }

  private func tags(of record: PlaceRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength), record.tagsLength)
  }

  private func sourceID(of record: PlaceRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength) + Int(record.tagsLength), record.sourceIDLength)
  }

  private func text(_ start: Int, _ length: UInt32) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes.pointer + start, count: Int(length))
  }
}
