import Geo
import Points

/// The columns of a segment that summaries are made of, by slot, as plain pointers: a response reads them without
/// counting references.
///
/// They, and the summaries they return, are valid for the life of their ``Segment``.
struct SummaryColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the segment's initialization.

  let ids: UnsafePointer<PointID>
  let coordinates: UnsafePointer<Coordinate>
  let records: UnsafePointer<PointRecord>
  let texts: UnsafePointer<UInt8>

  /// The start of each category's name in the names, and the end of the last one.
  let categoryStarts: UnsafePointer<Int>
  let categoryNames: UnsafePointer<UInt8>

  /// Returns the summary of the place in a slot.
  func summary(at slot: Int, distanceMetres: Double?, alongMetres: Double? = nil) -> PointSummary {
    let record = records[slot]
    let name = texts + record.start
    return PointSummary(
      id: ids[slot],
      coordinate: coordinates[slot],
      distanceMetres: distanceMetres,
      alongMetres: alongMetres,
      name: UnsafeBufferPointer(start: name, count: Int(record.nameLength)),
      category: record.category == PointRecord.none ? nil : categoryName(Int(record.category)),
      tags: UnsafeBufferPointer(start: name + Int(record.nameLength), count: Int(record.tagsLength))
    )
  }

  /// Returns the number of bytes of the name and the tags of the place in a slot.
  func textBytes(at slot: Int) -> Int { Int(records[slot].nameLength) + Int(records[slot].tagsLength) }

  /// Returns the name of a category by its number.
  func categoryName(_ category: Int) -> UnsafeBufferPointer<UInt8> {
    let start = categoryStarts[category]
    return UnsafeBufferPointer(start: categoryNames + start, count: categoryStarts[category + 1] - start)
  }

  /// Prefetches the summary of the place in a slot, except its texts.
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
