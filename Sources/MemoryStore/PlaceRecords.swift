import Geo
import Points

/// What is kept of a place beside the columns that searches read.
struct PlaceRecord: BitwiseCopyable {
  /// Stands for no category and for no source.
  static let none = UInt32.max

  /// Where the place's texts start: name, source id and tags, one after another.
  let textStart: Int
  let nameLength: UInt16
  let sourceIDLength: UInt16
  let tagsLength: UInt32

  /// The category and the source, as numbers of the segment's own.
  let category: UInt32
  let source: UInt32

  let version: Int64
  let createdAt: Timestamp
  let updatedAt: Timestamp
}

/// The records of a segment's places and their texts, by slot.
///
/// Texts are bytes side by side in the order of the slots, not strings: neighbours are read together, nothing is counted
/// that two threads would contend for, and a place takes no more than its bytes.
struct PlaceRecords: Sendable {
  private let records: Memory<PlaceRecord>
  private let texts: Memory<UInt8>
  private let sources: [String]

  /// Takes the places in the order of their slots, and numbers their categories.
  init(
    _ points: some RandomAccessCollection<PointOfInterest>, categories: inout TextNumbers
  ) {
    var sources = TextNumbers()
    var textStart = 0
    records = Memory(count: points.count) { memory in
      for (slot, point) in points.enumerated() {
        let (name, sourceID, tags) = Self.texts(of: point.place)
        let record = PlaceRecord(
          textStart: textStart,
          nameLength: UInt16(name.utf8.count),
          sourceIDLength: UInt16(sourceID.utf8.count),
          tagsLength: UInt32(tags.utf8.count),
          category: categories.number(of: point.place.category) ?? PlaceRecord.none,
          source: sources.number(of: point.place.origin?.source) ?? PlaceRecord.none,
          version: point.version,
          createdAt: point.createdAt,
          updatedAt: point.updatedAt
        )
        (memory + slot).initialize(to: record)
        textStart += name.utf8.count + sourceID.utf8.count + tags.utf8.count
      }
    }
    self.sources = sources.texts
    texts = Memory(count: textStart) { memory in
      var end = memory
      for point in points {
        let (name, sourceID, tags) = Self.texts(of: point.place)
        for text in [name, sourceID, tags] { text.copyBytes(to: &end) }
      }
    }
  }

  /// The record in a slot.
  subscript(slot: Int) -> PlaceRecord { records.pointer[slot] }

  /// The records, which live as long as this value or a copy of it.
  var all: UnsafeBufferPointer<PlaceRecord> { .init(start: records.pointer, count: records.count) }

  /// The place in a slot.
  func place(at slot: Int, coordinate: Coordinate, categories: [String]) -> Place {
    let record = self[slot]
    let (name, sourceID, tags) = texts(of: record)
    let hasOrigin = record.source != PlaceRecord.none
    return Place(
      storedName: String(decoding: name, as: UTF8.self),
      category: record.category == PlaceRecord.none ? nil : categories[Int(record.category)],
      coordinate: coordinate,
      tags: tags.isEmpty ? .none : Tags(storedJSON: String(decoding: tags, as: UTF8.self)),
      origin: hasOrigin
        ? Place.Origin(source: sources[Int(record.source)], sourceID: String(decoding: sourceID, as: UTF8.self)) : nil
    )
  }

  /// Whether the place in a slot came from there.
  func place(at slot: Int, cameFrom origin: Place.Origin) -> Bool {
    let record = self[slot]
    guard record.source != PlaceRecord.none else { return false }
    return texts(of: record).sourceID.elementsEqual(origin.sourceID.utf8)
      && sources[Int(record.source)].hasSameBytes(as: origin.source)
  }

  private typealias Bytes = UnsafeBufferPointer<UInt8>

  private func texts(of record: PlaceRecord) -> (name: Bytes, sourceID: Bytes, tags: Bytes) {
    let name = Bytes(start: texts.pointer + record.textStart, count: Int(record.nameLength))
    let sourceID = Bytes(start: texts.pointer + record.textStart + name.count, count: Int(record.sourceIDLength))
    let tags = Bytes(
      start: texts.pointer + record.textStart + name.count + sourceID.count, count: Int(record.tagsLength))
    return (name, sourceID, tags)
  }

  /// The texts that are kept; no tags take none.
  private static func texts(of place: Place) -> (name: String, sourceID: String, tags: String) {
    (place.name, place.origin?.sourceID ?? "", place.tags.isEmpty ? "" : place.tags.json)
  }
}

extension String {
  /// Writes the UTF-8 and moves to its end.
  fileprivate func copyBytes(to end: inout UnsafeMutablePointer<UInt8>) {
    let count = utf8.count
    _ = UnsafeMutableBufferPointer(start: end, count: count).initialize(from: utf8)
    end += count
  }
}
