/// Why bytes are not gzip (RFC 1952), or can't be made so.
public enum GzipError: Error, Hashable, Sendable, CustomStringConvertible {
  /// They break the format, or their checksum is not that of what they hold.
  case malformed
  /// They end too early.
  case truncated
  /// They hold so much more than they are long that they were made to fill a memory or a day.
  case tooMuch
  /// There is no memory.
  case outOfMemory

  /// What a user is told.
  public var description: String {
    switch self {
    case .malformed: "is not valid gzip"
    case .truncated: "ends before its gzip does"
    case .tooMuch: "holds more than \(GzipDecoder.maximumRatio) times its length"
    case .outOfMemory: "can't be read for lack of memory"
    }
  }
}
