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

  /// How many places there are.
  var count: Int { records.count }

  /// The number of the category that the place in a slot has, or ``PlaceRecord/none``.
  func category(at slot: Int) -> UInt32 { records[slot].category }

  /// The place in a slot.
  ///
  /// - Parameter categories: the categories by their numbers.
  func point(at slot: Int, id: PointID, coordinate: Coordinate, categories: [String]) -> PointOfInterest {
    let record = records[slot]
    let hasCategory = record.category != PlaceRecord.none
    let hasOrigin = record.source != PlaceRecord.none
    return PointOfInterest(
      id: id,
      place: Place(
        storedName: record.name,
        category: hasCategory ? categories[Int(record.category)] : nil,
        coordinate: coordinate,
        tags: record.tags,
        origin: hasOrigin ? Place.Origin(source: sources[Int(record.source)], sourceID: record.sourceID) : nil
      ),
      version: record.version,
      createdAt: record.createdAt,
      updatedAt: record.updatedAt
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
