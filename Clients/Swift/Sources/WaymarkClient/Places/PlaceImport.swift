public import Foundation

/// Places for the service to take in bulk.
///
/// A row with an id replaces the place of that id or creates it; a row without one replaces the place of the same
/// origin, or creates one.
public struct PlaceImport: Hashable, Sendable {
  /// One place of an import.
  public struct Row: Hashable, Sendable {
    /// The id that the place is to have; `nil` leaves it to the origin or to the service.
    public var id: UUID?

    /// What is said of it.
    public var place: PlaceDraft

    /// Creates a row.
    public init(id: UUID? = nil, place: PlaceDraft) {
      self.id = id
      self.place = place
    }
  }

  /// What becomes of the good rows of an import that has bad ones.
  public enum Mode: String, Hashable, Sendable {
    /// They go in; the bad ones are reported.
    case partial
    /// They stay out: either every row goes in or none.
    case atomic
  }

  /// The places, written in ``format``.
  public var data: Data

  /// How they are written.
  public var format: PlaceFormat

  /// What becomes of the good rows where some are bad.
  public var mode: Mode

  /// Whether the service only is to say what it would do.
  public var isDryRun: Bool

  /// Creates an import of a file's content.
  public init(data: Data, format: PlaceFormat, mode: Mode = .partial, isDryRun: Bool = false) {
    self.data = data
    self.format = format
    self.mode = mode
    self.isDryRun = isDryRun
  }

  /// Creates an import of rows, as NDJSON.
  ///
  /// - Throws: `EncodingError` where a text or number can't be written as JSON.
  public init(rows: [Row], mode: Mode = .partial, isDryRun: Bool = false) throws {
    var data = Data()
    for row in rows {
      data.append(try ServiceJSON.data(of: row))
      data.append(UInt8(ascii: "\n"))
    }
    self.init(data: data, format: .ndjson, mode: mode, isDryRun: isDryRun)
  }
}

extension PlaceImport.Row: Encodable {
  private enum CodingKeys: CodingKey {
    case id
  }

  /// Writes the row as the service reads it.
  public func encode(to encoder: any Encoder) throws {
    try place.encode(to: encoder)
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encodeIfPresent(id?.uuidString.lowercased(), forKey: .id)
  }
}
