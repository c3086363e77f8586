import Basics
import NIOHTTP1

/// The frame of each request in the bytes of a connection, as far as the parser is lenient about it (RFC 9112, sections
/// 2.2, 3 and 7.1): it accepts bare line feeds before a request, more than one space in the request line, protocols
/// other than HTTP, and chunk extensions of any length.
///
/// It sees the bytes before the parser does. From the parser, by way of the connection's handler, it learns where a
/// request without a body ends.
final class RequestFraming {
  /// The reason why the input is rejected.
  enum Violation: Error, Hashable {
    /// The request line is not of the form `method SP target SP HTTP-version CRLF`.
    case requestLine
    /// The chunk extensions of a body are longer than ``maximumExtensionBytes``, or those of a chunk than
    /// ``maximumChunkLineBytes``.
    case chunkExtensions
  }

  /// The greatest number of bytes of a chunk's size with its extensions.
  static let maximumChunkLineBytes = 4 * 1024

  /// The greatest number of bytes of the chunk extensions of a body.
  static let maximumExtensionBytes = 16 * 1024

  private enum Phase {
    /// Before a request line: empty lines may come.
    case start
    case startLineFeed
    case method
    case targetStart
    case target
    /// A number of characters of `HTTP/` have come.
    case version(Int)
    /// After `HTTP/`, with a Boolean value that indicates whether the last byte was a carriage return.
    case versionNumber(endsWithReturn: Bool)
    /// The lines up to the empty one, which are not inspected.
    case fields(isAtLineStart: Bool)
    /// The head has been passed on.
    case afterHead
    case body(remaining: Int)
    case chunkSize(size: Int, lineBytes: Int, isInExtension: Bool)
    /// The chunk and the line end behind it.
    case chunk(remaining: Int)
    case trailers(isAtLineStart: Bool)
    /// The rest belongs to another protocol, or the parser will reject it.
    case unknown
  }

  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let space = UInt8(ascii: " ")
  private static let protocolName: StaticString = "HTTP/"

  private var phase = Phase.start
  private var head: HTTPRequestHead?
  /// A Boolean value that indicates whether the parser stops behind a request: it does not persist, or asks for another
  /// protocol.
  private var hasLastRequest = false

  /// A Boolean value that indicates whether the parser awaits the first byte of a request.
  var isBetweenRequests: Bool {
    guard case .start = phase, head == nil else { return false }
    return !hasLastRequest
  }
  private var extensionBytes = 0

  /// Records a part that the parser has found.
  func record(_ part: HTTPServerRequestPart) {
    switch part {
    case .head(let head):
      self.head = head
      if !head.isKeepAlive || head.method == .CONNECT || head.headers.contains(name: "upgrade") {
        hasLastRequest = true
      }
    case .body: break
    case .end(let trailers):
      head = nil
      // The parser heeds these among the fields behind a body too.
      if let trailers, trailers.contains(name: "connection") || trailers.contains(name: "proxy-connection") {
        hasLastRequest = true
      }
      if case .afterHead = phase { phase = .start }
    }
  }

  /// Inspects bytes that are to be passed to the parser.
  ///
  /// - Returns: the number of bytes to pass on now; the rest is to be inspected after that.
  /// - Throws: ``Violation``.
  func inspect(_ bytes: UnsafeBufferPointer<UInt8>) throws(Violation) -> Int {
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      switch phase {
      case .start, .startLineFeed, .method, .targetStart, .target, .version, .versionNumber:
        index = try inspectRequestLine(in: bytes, from: index)
      case .fields(let isAtLineStart), .trailers(let isAtLineStart):
        guard let end = Self.endOfLines(in: bytes, from: index, isAtLineStart: isAtLineStart, phase: &phase) else {
          return bytes.count
        }
        if case .trailers = phase { phase = .start } else { phase = .afterHead }
        return end
      case .afterHead:
        beginBody()
      case .body(let remaining):
        let count = min(remaining, bytes.count - index)
        phase = count == remaining ? .start : .body(remaining: remaining - count)
        index += count
        if count == remaining { return index }
      case .chunkSize(let size, let lineBytes, let isInExtension):
        try inspectChunkSize(byte, size, lineBytes, isInExtension)
        index += 1
      case .chunk(let remaining):
        let count = min(remaining, bytes.count - index)
        phase =
          count == remaining
          ? .chunkSize(size: 0, lineBytes: 0, isInExtension: false) : .chunk(remaining: remaining - count)
        index += count
      case .unknown:
        return bytes.count
      }
    }
    return index
  }

  /// Inspects bytes of a request line, and returns the index behind the last one.
  private func inspectRequestLine(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) throws(Violation) -> Int {
    // A local copy: each access to a property of a class is checked for exclusivity.
    var phase = phase
    defer { self.phase = phase }
    var index = start
    while index < bytes.count {
      switch phase {
      case .start, .startLineFeed, .method, .targetStart, .version, .versionNumber:
        try Self.inspectRequestLine(bytes[index], &phase)
      case .target:
        let end = bytes.firstIndex(of: Self.space, from: index) ?? bytes.count - 1
        index = UnsafeBufferPointer(rebasing: bytes[..<end]).firstIndex(of: Self.lineFeed, from: index) ?? end
        try Self.inspectRequestLine(bytes[index], &phase)
      default:
        return index
      }
      index += 1
    }
    return index
  }

  private static func inspectRequestLine(_ byte: UInt8, _ phase: inout Phase) throws(Violation) {
    switch phase {
    case .start:
      guard byte != lineFeed, byte != space else { throw .requestLine }
      guard byte == carriageReturn || FieldWriter.isTokenByte(byte) else { throw .requestLine }
      phase = byte == carriageReturn ? .startLineFeed : .method
    case .startLineFeed:
      guard byte == lineFeed else { throw .requestLine }
      phase = .start
    case .method:
      // An unknown method that is a token is another error than an invalid request line.
      guard byte == space || FieldWriter.isTokenByte(byte) else { throw .requestLine }
      if byte == space { phase = .targetStart }
    case .targetStart:
      guard byte != space else { throw .requestLine }
      phase = .target
    case .target:
      if byte == space { phase = .version(0) }
    case .version(let count):
      guard byte == protocolName.utf8Start[count] else { throw .requestLine }
      phase =
        count + 1 == protocolName.utf8CodeUnitCount ? .versionNumber(endsWithReturn: false) : .version(count + 1)
    case .versionNumber(let endsWithReturn):
      // The parser takes a bare line feed for a part of the version.
      guard byte != lineFeed || endsWithReturn else { throw .requestLine }
      phase = byte == lineFeed ? .fields(isAtLineStart: true) : .versionNumber(endsWithReturn: byte == carriageReturn)
      return
    default: break
    }
    // Without a target or a version the parser rejects the line; what follows does not matter.
    if byte == lineFeed, case .start = phase { return }
    if byte == lineFeed { phase = .unknown }
  }

  /// Finds the end of the empty line that ends a section of lines; where it is yet to come, keeps whether a line
  /// begins.
  private static func endOfLines(
    in bytes: UnsafeBufferPointer<UInt8>, from start: Int, isAtLineStart: Bool, phase: inout Phase
  ) -> Int? {
    var index = start
    var isAtLineStart = isAtLineStart
    while index < bytes.count {
      guard isAtLineStart else {
        guard let lineEnd = bytes.firstIndex(of: lineFeed, from: index) else { break }
        (index, isAtLineStart) = (lineEnd + 1, true)
        continue
      }
      let byte = bytes[index]
      index += 1
      if byte == lineFeed { return index }
      isAtLineStart = byte == carriageReturn
    }
    if case .trailers = phase {
      phase = .trailers(isAtLineStart: isAtLineStart)
    } else {
      phase = .fields(isAtLineStart: isAtLineStart)
    }
    return nil
  }

  /// Begins the body, as the parser has parsed a whole head.
  private func beginBody() {
    extensionBytes = 0
    guard let headers = head?.headers, !headers.contains(name: "upgrade") else { return phase = .unknown }
    if headers.contains(name: "transfer-encoding") {
      phase = .chunkSize(size: 0, lineBytes: 0, isInExtension: false)
    } else if let length = headers.first(name: "content-length").flatMap({ Int($0) }), length > 0 {
      phase = .body(remaining: length)
    } else {
      phase = .unknown
    }
  }

  private func inspectChunkSize(
    _ byte: UInt8, _ size: Int, _ lineBytes: Int, _ isInExtension: Bool
  ) throws(Violation) {
    if byte == Self.lineFeed {
      // After the chunk comes an empty line's end, and then the next size.
      phase = size == 0 ? .trailers(isAtLineStart: true) : .chunk(remaining: size + 2)
      return
    }
    guard lineBytes < Self.maximumChunkLineBytes else { throw .chunkExtensions }
    if let digit = isInExtension ? nil : Hexadecimal.value(ofDigit: byte) {
      // The parser rejects larger sizes.
      guard size < 1 << 56 else { return phase = .unknown }
      phase = .chunkSize(size: size << 4 | Int(digit), lineBytes: lineBytes + 1, isInExtension: false)
      return
    }
    if byte != Self.carriageReturn {
      extensionBytes += 1
      guard extensionBytes <= Self.maximumExtensionBytes else { throw .chunkExtensions }
    }
    phase = .chunkSize(size: size, lineBytes: lineBytes + 1, isInExtension: true)
  }
}
