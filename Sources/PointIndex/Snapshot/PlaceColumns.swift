import Geo
import Points

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
