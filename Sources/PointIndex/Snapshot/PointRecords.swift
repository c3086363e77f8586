import Geo
import JSONText
import Points

/// The fields of a place that searches do not read. Its texts are in the bytes of ``PointRecords``: the name, the tags
/// and the source's id, one after another.
struct PointRecord: BitwiseCopyable {
  /// The number that stands for no category and for no source.
  static let none = UInt32.max

  /// The offset of the texts.
  let start: Int

  let nameLength: UInt32
  let tagsLength: UInt32
  let sourceIDLength: UInt32

  /// The numbers of the category and the source in the segment.
  let category: UInt32
  let source: UInt32

  let version: Int64
  let createdAtMicroseconds: Int64
  let updatedAtMicroseconds: Int64
}

/// The records of a segment's places, by slot.
///
/// All texts are in one buffer instead of a `String` each: that takes a third less memory, and a response copies from
/// there without counting references.
struct PointRecords: Sendable {
  private let records: FixedBuffer<PointRecord>
  private let bytes: FixedBuffer<UInt8>
  private let sources: [String]

  /// Creates the records of the places, and numbers their categories.
  ///
  /// - Parameter order: the places in the order of their slots.
  init(
    _ points: UnsafeBufferPointer<PointOfInterest>,
    order: ContiguousArray<SpatialOrder.Item>,
    categories: inout TextNumbers
  ) {
    var sources = TextNumbers()
    var end = 0
    records = FixedBuffer(count: order.count) { records in
      for slot in order.indices {
        let index = Int(order[slot].index)
        let record = PointRecord(
          start: end,
          nameLength: UInt32(points[index].draft.name.utf8.count),
          tagsLength: UInt32(points[index].draft.tags.json.utf8.count),
          sourceIDLength: UInt32(points[index].draft.origin?.sourceID.utf8.count ?? 0),
          category: categories.number(of: points[index].draft.category) ?? PointRecord.none,
          source: sources.number(of: points[index].draft.origin?.source) ?? PointRecord.none,
          version: points[index].version,
          createdAtMicroseconds: points[index].createdAt.microsecondsSinceEpoch,
          updatedAtMicroseconds: points[index].updatedAt.microsecondsSinceEpoch
        )
        (records + slot).initialize(to: record)
        end += Int(record.nameLength) + Int(record.tagsLength) + Int(record.sourceIDLength)
      }
    }
    bytes = FixedBuffer(count: end) { bytes in
      var position = bytes
      for item in order {
        Self.append(points[Int(item.index)].draft.name, to: &position)
        Self.append(points[Int(item.index)].draft.tags.json, to: &position)
        if let origin = points[Int(item.index)].draft.origin { Self.append(origin.sourceID, to: &position) }
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

  /// The number of places.
  var count: Int { records.count }

  /// Returns the number of the category of the place in a slot, or ``PointRecord/none``.
  func category(at slot: Int) -> UInt32 { records.pointer[slot].category }

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

  /// Returns a Boolean value that indicates whether the place in a slot has the source reference.
  func isPoint(at slot: Int, from origin: SourceReference) -> Bool {
    let record = records.pointer[slot]
    guard record.source != PointRecord.none else { return false }
    var sourceID = origin.sourceID
    return sourceID.withUTF8 { $0.elementsEqual(self.sourceID(of: record)) }
      && sources[Int(record.source)].hasSameBytes(as: origin.source)
  }

  /// Returns the number of the source of the place in a slot, or ``PointRecord/none``.
  func source(at slot: Int) -> UInt32 { records.pointer[slot].source }

  /// Returns the number of a source, or `nil` where no place has it. O(s) for s sources.
  func number(ofSource source: String) -> UInt32? {
    sources.firstIndex { $0.hasSameBytes(as: source) }.map { UInt32($0) }
  }

  /// Returns a Boolean value that indicates whether the place in a slot is of the source.
  func isPoint(at slot: Int, of source: PointQuery.Source) -> Bool {
    if let sourceID = source.sourceID {
      return isPoint(at: slot, from: SourceReference(source: source.name.text, sourceID: sourceID.text))
    }
    let number = records.pointer[slot].source
    return number != PointRecord.none && sources[Int(number)].hasSameBytes(as: source.name.text)
  }

  private func origin(of record: PointRecord) -> SourceReference? {
    guard record.source != PointRecord.none else { return nil }
    return SourceReference(
      source: sources[Int(record.source)],
      sourceID: String(decoding: sourceID(of: record), as: UTF8.self)
    )
  }

  private func tags(of record: PointRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength), record.tagsLength)
  }

  private func sourceID(of record: PointRecord) -> UnsafeBufferPointer<UInt8> {
    text(record.start + Int(record.nameLength) + Int(record.tagsLength), record.sourceIDLength)
  }

  private func text(_ start: Int, _ length: UInt32) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes.pointer + start, count: Int(length))
  }
}
