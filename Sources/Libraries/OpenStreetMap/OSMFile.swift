import Geo

/// A file of OpenStreetMap objects: an extract in PBF or XML, or a change file.
///
/// ```swift
/// let reader = try OSMFile(path: "berlin.osm.pbf").places(OSMSelection())
/// while let places = try reader.next() {
///   // Up to a few thousand places each: nodes, then ways, then relations.
/// }
/// print(reader.report.places[.way, default: 0])
/// ```
package struct OSMFile: Hashable, Sendable {
  /// The formats that are read.
  package enum Format: String, CaseIterable, Hashable, Sendable {
    /// Protocol buffers: `.osm.pbf`, `.pbf`.
    case pbf
    /// XML: `.osm`, `.osm.xml`; compressed with gzip where the name ends in `.gz`.
    case xml
    /// Changes as XML: `.osc`, `.osc.gz`.
    case changes
  }

  /// The path. The file must be seekable if it is PBF.
  package let path: String

  /// The format.
  package let format: Format

  package init(path: String, format: Format) {
    self.path = path
    self.format = format
  }

  /// Creates a file of the format that its name says.
  ///
  /// - Throws: ``OSMError/unknownFormat``.
  package init(path: String) throws(OSMError) {
    guard let format = Format(fileName: path) else { throw .unknownFormat }
    self.init(path: path, format: format)
  }

  /// Returns a reader of the selected places.
  ///
  /// - Throws: ``OSMError`` if the file can't be opened or is a change file.
  package func places(
    _ selection: OSMSelection = OSMSelection(),
    options: OSMReaderOptions = OSMReaderOptions(),
    onProgress: (@Sendable (OSMProgress) -> Void)? = nil
  ) throws(OSMError) -> OSMPlaceReader {
    guard format != .changes else { throw .isChangeFile }
    return OSMPlaceReader(try OSMReading(self, selection, options, onProgress))
  }

  /// Returns a reader of the changes of selected places.
  ///
  /// - Throws: ``OSMError`` if the file can't be opened or is not a change file.
  package func changes(
    _ selection: OSMSelection = OSMSelection(),
    options: OSMReaderOptions = OSMReaderOptions(),
    onProgress: (@Sendable (OSMProgress) -> Void)? = nil
  ) throws(OSMError) -> OSMChangeReader {
    guard format == .changes else { throw .isNoChangeFile }
    return OSMChangeReader(try OSMReading(self, selection, options, onProgress))
  }
}

extension OSMFile.Format {
  /// Creates the format of a file name, or nil if its ending is of no known format.
  package init?(fileName: String) {
    let name = fileName.lowercased()
    let plain = name.hasSuffix(".gz") ? String(name.dropLast(3)) : name
    if name.hasSuffix(".pbf") {
      self = .pbf
    } else if plain.hasSuffix(".osc") {
      self = .changes
    } else if plain.hasSuffix(".osm") || plain.hasSuffix(".osm.xml") {
      self = .xml
    } else {
      return nil
    }
  }
}

/// A reader of the places of a file, batch by batch, in bounded memory. It may be used by one task at a time, and
/// may be discarded before its end.
package final class OSMPlaceReader {
  private let reading: OSMReading

  init(_ reading: OSMReading) { self.reading = reading }

  /// The counts so far.
  package var report: OSMReport { reading.report }

  /// Returns the next places, or nil after the last ones. The calling thread waits for other threads that decode.
  ///
  /// The order is that of the file within nodes, ways and relations, and the same in each run. The first call reads
  /// the relations and ways before it returns the first nodes. After an error there are no further places.
  ///
  /// - Throws: ``OSMError``.
  package func next() throws(OSMError) -> [OSMPlace]? { try reading.nextPlaces() }
}

/// A reader of the changes of a file, batch by batch, in bounded memory. It may be used by one task at a time.
package final class OSMChangeReader {
  private let reading: OSMReading

  init(_ reading: OSMReading) { self.reading = reading }

  /// The counts so far.
  package var report: OSMReport { reading.report }

  /// Returns the next changes, or nil after the last ones: those of nodes, then ways, then relations. Changes of the
  /// same object are in the order of the file, so that the last one is valid.
  ///
  /// - Throws: ``OSMError``.
  package func next() throws(OSMError) -> [OSMChange]? { try reading.nextChanges() }
}

/// The limits of a reader.
package struct OSMReaderOptions: Sendable {
  /// The number of threads that decode, at least 1; by default, the number of processors.
  package var threads: Int?

  /// The maximum bytes of node locations in memory. Above it, they are in a mapped temporary file.
  package var locationMemoryBytes = 256 << 20

  /// The folder of temporary files, or nil for the system's. They have no name while they are in use.
  package var temporaryFolder: String?

  /// The number of positions that relations may use however few there are.
  var freeRelationPositions = 20_000_000

  package init() {}
}

/// The progress of a reader.
package struct OSMProgress: Hashable, Sendable {
  /// The phases, in their order.
  package enum Phase: String, CaseIterable, Hashable, Sendable {
    /// XML is parsed and written to a temporary file. PBF has no such phase.
    case parse
    /// The relations are read, to learn which ways and nodes they need.
    case scanRelations
    /// The ways are read, to learn which nodes they need.
    case scanWays
    /// The nodes are read and become places.
    case nodes
    /// The ways become places.
    case ways
    /// The relations become places.
    case relations
  }

  /// The phase.
  package let phase: Phase

  /// The bytes of the file, or of the temporary file, that this phase has read.
  package let bytesDone: Int

  /// The bytes that this phase will read.
  package let bytesTotal: Int
}

/// The counts of a reader.
package struct OSMReport: Hashable, Sendable {
  /// The reasons why a selected object is no place.
  package enum SkipReason: String, CaseIterable, Hashable, Sendable {
    /// The point is outside the box or area of the selection.
    case outsideArea
    /// None of the nodes is in the file.
    case missingNodes
    /// None of the members of a relation that could give it a position is in the file.
    case missingMembers
    /// The ways of a multipolygon or boundary do not close to a ring, and it has no label.
    case openRings
    /// The way has no nodes, or the relation no members.
    case noGeometry
  }

  /// The number of objects in the file by kind, whether they are selected or not.
  package internal(set) var objects: [OSMKind: Int] = [:]

  /// The number of places, or changes, by kind.
  package internal(set) var places: [OSMKind: Int] = [:]

  /// The number of selected objects that are no places, by reason.
  package internal(set) var skipped: [SkipReason: Int] = [:]

  /// The sequence number of the replication state that the file has, or nil.
  package internal(set) var replicationSequence: Int64?

  /// The time of the replication state that the file has, in seconds since 1970, or nil.
  package internal(set) var replicationTimestamp: Int64?
}

/// The reason why a file can't be read. Nothing else ends a reader early.
package enum OSMError: Error, Hashable, Sendable {
  /// The file can't be opened or read; the text is the system's.
  case unreadable(String)
  /// The name's ending is of no known format.
  case unknownFormat
  /// The file contains changes, not places.
  case isChangeFile
  /// The file contains places, not changes.
  case isNoChangeFile
  /// The file ends within an object or blob. The position is that of the blob, or of the last byte.
  case truncated(offset: Int)
  /// The bytes break the format.
  case malformed(offset: Int, String)
  /// The blob at the position is compressed with a method that is not supported.
  case unsupportedCompression(String, offset: Int)
  /// The file requires a feature that is not supported.
  case unsupportedFeature(String)
  /// A size is over the limit of the format.
  case tooLarge(String, bytes: Int, limit: Int, offset: Int)
  /// A node has no valid position.
  case invalidCoordinate(OSMKind, Int64, String)
  /// An id is not a number from -2⁶³ to 2⁶³ - 1.
  case idOutOfRange(OSMKind, String)
  /// There is no memory, or no room for the temporary file.
  case outOfSpace(String)
}

extension OSMError: CustomStringConvertible {
  /// The message for users; it follows the name of the file.
  package var description: String {
    switch self {
    case .unreadable(let reason): "the file can't be read: \(reason)"
    case .unknownFormat:
      "the name must end in .osm.pbf, .pbf, .osm, .osm.xml or .osc, or in .osm.gz, .osm.xml.gz or .osc.gz"
    case .isChangeFile: "the file contains changes, which need a store that the full data was imported into"
    case .isNoChangeFile: "the file is not a change file (.osc or .osc.gz)"
    case .truncated(let offset): "the file is truncated: it ends within the data that start at byte \(offset)"
    case .malformed(let offset, let detail): "the file is malformed at byte \(offset): \(detail)"
    case .unsupportedCompression(let name, let offset):
      "the blob at byte \(offset) is compressed with \(name), which is not supported; convert the file with: "
        + "osmium cat INPUT -o OUTPUT.osm.pbf -f pbf,pbf_compression=zlib"
    case .unsupportedFeature(let name): "the file requires the feature '\(name)', which is not supported"
    case .tooLarge(let what, let bytes, let limit, let offset):
      "\(what) at byte \(offset) has \(bytes) bytes; the maximum is \(limit)"
    case .invalidCoordinate(let kind, let id, let detail): "\(kind) \(id) has no valid position: \(detail)"
    case .idOutOfRange(let kind, let text): "a \(kind) has an id that is not a 64-bit integer: \(text)"
    case .outOfSpace(let reason): "there is not enough memory or temporary disk space: \(reason)"
    }
  }
}
