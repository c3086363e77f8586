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
