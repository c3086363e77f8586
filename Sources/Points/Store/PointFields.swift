public import Geo

/// The fields of a place, its texts as bytes in UTF-8 that are valid until the call that they are passed to returns.
public struct PointFields {
  /// The id of the place.
  public var id: PointID

  /// The position, in WGS 84.
  public var coordinate: Coordinate

  /// The version of the place.
  public var version: Int64

  /// The time of its creation.
  public var createdAt: Timestamp

  /// The time of its last change.
  public var updatedAt: Timestamp

  /// The name.
  public var name: UnsafeBufferPointer<UInt8>

  /// The category; `nil` where the place has none.
  public var category: UnsafeBufferPointer<UInt8>?

  /// The tags, as ``Tags/json``.
  public var tags: UnsafeBufferPointer<UInt8>

  /// The data set that the place was imported from; `nil` where it was not imported from any.
  public var source: UnsafeBufferPointer<UInt8>?

  /// The id of the place in that data set; `nil` where ``source`` is.
  public var sourceID: UnsafeBufferPointer<UInt8>?

  /// Creates the fields from stored values, without validation.
  public init(
    id: PointID,
    coordinate: Coordinate,
    version: Int64,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    name: UnsafeBufferPointer<UInt8>,
    category: UnsafeBufferPointer<UInt8>?,
    tags: UnsafeBufferPointer<UInt8>,
    source: UnsafeBufferPointer<UInt8>?,
    sourceID: UnsafeBufferPointer<UInt8>?
  ) {
    self.id = id
    self.coordinate = coordinate
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.name = name
    self.category = category
    self.tags = tags
    self.source = source
    self.sourceID = sourceID
  }
}
