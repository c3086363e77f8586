import NIOCore
import NIOHTTP1

/// NIO's parser of requests, with the server's limits and the knowledge of which limit a too large request exceeds.
///
/// The parser counts the target and the header fields together and stops at the first byte too many, so that no more
/// than the limits' sum is ever kept. To tell a target that is too long from fields that are, it is fed no more at a
/// time than the fields may have: then a target past its limit is found before the parser stops. A whole head is held
/// to each limit by ``RequestHeadFacts``.
final class RequestDecoder: ByteToMessageDecoder {
  typealias InboundOut = HTTPServerRequestPart

  /// The limit that an incomplete request exceeds.
  enum Overflow: Error {
    case target
    case headers
  }

  private let parser: HTTPRequestDecoder
  private let limits: HTTPServerConfiguration.Limits
  private let framing: RequestFraming
  /// The number of bytes of an incomplete target or field that the parser has seen and needs again.
  private var keptBytes = 0
  /// A Boolean value that indicates whether they are a target's.
  private var isKeepingTarget = false
  /// The last byte that the parser consumed, without blanks: what begins after it depends on it.
  private var lastByte = UInt8(ascii: "\n")
  /// A Boolean value that indicates whether the parser is at work, or has failed and stopped for good.
  private var isParsing = false

  /// A Boolean value that indicates whether the parser awaits the first byte of a request, so that the request need not
  /// be parsed by it.
  var isBetweenRequests: Bool { !isParsing && keptBytes == 0 && framing.isBetweenRequests }

  init(limits: HTTPServerConfiguration.Limits, framing: RequestFraming) {
    var configuration = NIOHTTPDecoderLimitConfiguration()
    configuration.maxHeaderListSize = limits.uriBytes + limits.headerBytes
    configuration.maxHeaderFieldSize = configuration.maxHeaderListSize
    configuration.maxHeaderFieldCount = limits.headerCount
    self.parser = HTTPRequestDecoder(limitConfiguration: configuration)
    self.limits = limits
    self.framing = framing
  }

  func decoderAdded(context: ChannelHandlerContext) { parser.decoderAdded(context: context) }

  func decoderRemoved(context: ChannelHandlerContext) { parser.decoderRemoved(context: context) }

  func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    try feed(&buffer) { slice in _ = try parser.decode(context: context, buffer: &slice) }
    return .needMoreData
  }

  func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws -> DecodingState {
    try feed(&buffer) { slice in _ = try parser.decode(context: context, buffer: &slice) }
    return try parser.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
  }

  /// Feeds the parser slice by slice; what it needs again stays in the buffer.
  private func feed(_ buffer: inout ByteBuffer, to parse: (inout ByteBuffer) throws -> Void) throws {
    isParsing = true
    while buffer.readableBytes > keptBytes {
      let longest = min(buffer.readableBytes, keptBytes + max(limits.headerBytes, 1))
      // The parser has been fed before what it has kept.
      let inspected = try buffer.withUnsafeReadableBytes { bytes in
        let bytes = bytes.assumingMemoryBound(to: UInt8.self)
        return try framing.inspect(UnsafeBufferPointer(rebasing: bytes[keptBytes..<longest]))
      }
      let length = keptBytes + inspected
      guard var slice = buffer.getSlice(at: buffer.readerIndex, length: length) else { return }
      do {
        try parse(&slice)
      } catch HTTPParserError.headerOverflow {
        throw Overflow.headers
      }
      record(taken: length - slice.readableBytes, of: buffer.readableBytesView.prefix(length))
      buffer.moveReaderIndex(forwardBy: length - slice.readableBytes)
      if isKeepingTarget, keptBytes > limits.uriBytes { throw Overflow.target }
      // The parser keeps more only when it has stopped for good, after a request for another protocol.
      if keptBytes > limits.uriBytes + limits.headerBytes { throw Overflow.headers }
    }
    isParsing = false
  }

  /// Records which of the bytes the parser keeps.
  ///
  /// A target stands after a method and a blank, the name of a field at the start of a line, a value after a colon.
  private func record(taken: Int, of bytes: ByteBufferView) {
    if taken > 0 {
      let last = bytes.withUnsafeBytes { bytes in
        var end = taken
        while end > 0, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") { end -= 1 }
        return end > 0 ? bytes[end - 1] : nil
      }
      if let last { lastByte = last }
    }
    if taken > 0 || keptBytes == 0 {
      isKeepingTarget = lastByte != UInt8(ascii: ":") && lastByte != UInt8(ascii: "\n")
    }
    keptBytes = bytes.count - taken
    isKeepingTarget = isKeepingTarget && keptBytes > 0
  }
}

extension Problem {
  /// Creates the problem of an error in the input that has one of its own; `nil` for any other error.
  init?(inputError error: any Error, limits: HTTPServerConfiguration.Limits) {
    switch error {
    case RequestDecoder.Overflow.target:
      self = .uriTooLong(limit: limits.uriBytes)
    case RequestDecoder.Overflow.headers:
      self = .headersTooLarge(limits)
    case HTTPParserError.invalidVersion:
      self.init(.httpVersionNotSupported, code: "malformed-request", detail: "only HTTP/1.1 and HTTP/1.0 are spoken")
    case RequestFraming.Violation.requestLine:
      self = .malformedRequest("a request begins with its method, target and version of HTTP, a space between")
    case RequestFraming.Violation.chunkExtensions:
      self.init(
        .payloadTooLarge, code: "body-too-large",
        detail: "chunk extensions may have \(RequestFraming.maximumExtensionBytes) bytes in all")
    case HTTPParserError.invalidMethod:
      self = .unknownMethod
    default:
      return nil
    }
  }
}
