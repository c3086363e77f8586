import Geo
import Points

/// What is kept of a place beside the columns that searches read.
struct PlaceRecord: Sendable {
  /// Stands for no category and for no source.
  static let none = UInt32.max

  let name: String
  let tags: Tags
  let sourceID: String

  /// The category and the source, as numbers of the segment's own.
  let category: UInt32
  let source: UInt32

  let version: Int64
  let createdAt: Timestamp
  let updatedAt: Timestamp
}

/// The records of a segment's places, by slot.
struct PlaceRecords: Sendable {
  private let records: ContiguousArray<PlaceRecord>
  private let sources: [String]

  /// Takes the places in the order of their slots, and numbers their categories.
  init(_ points: some RandomAccessCollection<PointOfInterest>, categories: inout TextNumbers) {
    var sources = TextNumbers()
    var records: ContiguousArray<PlaceRecord> = []
    records.reserveCapacity(points.count)
    for point in points {
      records.append(
        PlaceRecord(
          name: point.place.name,
          tags: point.place.tags,
          sourceID: point.place.origin?.sourceID ?? "",
          category: categories.number(of: point.place.category) ?? PlaceRecord.none,
          source: sources.number(of: point.place.origin?.source) ?? PlaceRecord.none,
          version: point.version,
          createdAt: point.createdAt,
          updatedAt: point.updatedAt
        )
      )
    }
    self.records = records
    self.sources = sources.texts
  }

  /// The record in a slot.
  subscript(slot: Int) -> PlaceRecord { records[slot] }

  /// The records, which live as long as this value or a copy of it.
  var all: ContiguousArray<PlaceRecord> { records }

  /// The place in a slot.
  func place(at slot: Int, coordinate: Coordinate, categories: [String]) -> Place {
    let record = records[slot]
    return Place(
      storedName: record.name,
      category: record.category == PlaceRecord.none ? nil : categories[Int(record.category)],
      coordinate: coordinate,
      tags: record.tags,
      origin: record.source != PlaceRecord.none
        ? Place.Origin(source: sources[Int(record.source)], sourceID: record.sourceID) : nil
    )
  }

  /// Whether the place in a slot came from there.
  func place(at slot: Int, cameFrom origin: Place.Origin) -> Bool {
    let record = records[slot]
    guard record.source != PlaceRecord.none else { return false }
    return record.sourceID.hasSameBytes(as: origin.sourceID)
      && sources[Int(record.source)].hasSameBytes(as: origin.source)
  }
}
