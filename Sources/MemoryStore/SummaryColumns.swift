import Geo
import Points

/// What a segment knows that a summary says, a slot to a place, in plain pointers: an answer reads them without counting
/// references.
///
/// They live as long as the ``Segment`` they come from, and what they hand out as well.
struct SummaryColumns: BitwiseCopyable, @unchecked Sendable {
  // Sendable: what it points to never changes.

  let ids: UnsafePointer<PointID>
  let coordinates: UnsafePointer<Coordinate>
  let records: UnsafePointer<PlaceRecord>
  let texts: UnsafePointer<UInt8>

  /// Where each category's name starts in the names, and past the last where it ends.
  let categoryStarts: UnsafePointer<Int>
  let categoryNames: UnsafePointer<UInt8>

  /// The summary of the place in a slot.
  func summary(at slot: Int, distanceMetres: Double?) -> PointSummary {
    let record = records[slot]
    let name = texts + record.start
    return PointSummary(
      id: ids[slot],
      coordinate: coordinates[slot],
      distanceMetres: distanceMetres,
      name: UnsafeBufferPointer(start: name, count: Int(record.nameLength)),
      category: record.category == PlaceRecord.none ? nil : categoryName(Int(record.category)),
      tags: UnsafeBufferPointer(start: name + Int(record.nameLength), count: Int(record.tagsLength))
    )
  }

  /// The number of bytes that the name and the tags of the place in a slot have.
  func textBytes(at slot: Int) -> Int { Int(records[slot].nameLength) + Int(records[slot].tagsLength) }

  private func categoryName(_ category: Int) -> UnsafeBufferPointer<UInt8> {
    let start = categoryStarts[category]
    return UnsafeBufferPointer(start: categoryNames + start, count: categoryStarts[category + 1] - start)
  }

  /// Has the processor fetch what the summary of the place in a slot is made of, but for the texts.
  func prefetchPlace(at slot: Int) {
    prefetch(coordinates + slot)
    prefetch(ids + slot)
    prefetch(records + slot)
  }

  /// Has the processor fetch the first 128 bytes of the texts of the place in a slot, which few are longer than.
  func prefetchTexts(at slot: Int) {
    prefetch(texts + records[slot].start, count: 128)
  }
}
