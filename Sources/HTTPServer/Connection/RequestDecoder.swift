import NIOCore
import NIOHTTP1

/// NIO's parser of requests, held to the server's limits, and telling which limit a request that is too large broke.
///
/// The parser counts the target and the header fields together and gives up at the first byte too many, so no more than
/// the limits' sum is ever kept. To tell a target that is too long from fields that are, it is fed no more at a time
/// than the fields may have: then a target that goes on past its limit is met before the parser gives up. What comes
/// in whole is held to each limit by ``RequestHeadFacts``.
final class RequestDecoder: ByteToMessageDecoder {
  typealias InboundOut = HTTPServerRequestPart

  /// Which limit a request broke before it came in whole.
  enum Overflow: Error {
    case target
    case headers
  }

  private let parser: HTTPRequestDecoder
  private let limits: HTTPServerConfiguration.Limits
  private let framing: RequestFraming
  /// How many bytes of an unfinished target or field the parser has seen and wants to see again.
  private var keptBytes = 0
  /// Whether they are a target's.
  private var isKeepingTarget = false
  /// The last byte that the parser took for good, blanks aside: what begins after it depends on it.
  private var lastByte = UInt8(ascii: "\n")

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

  /// Feeds the parser slice by slice; what it wants to see again stays in the buffer.
  private func feed(_ buffer: inout ByteBuffer, to parse: (inout ByteBuffer) throws -> Void) throws {
    while buffer.readableBytes > keptBytes {
      let longest = min(buffer.readableBytes, keptBytes + max(limits.headerBytes, 1))
      // What the parser has kept it has been fed before.
      let inspected = try buffer.withUnsafeReadableBytes { bytes in
        try framing.inspect(UnsafeRawBufferPointer(rebasing: bytes[keptBytes..<longest]))
      }
      let length = keptBytes + inspected
      guard var slice = buffer.getSlice(at: buffer.readerIndex, length: length) else { return }
      do {
        try parse(&slice)
      } catch HTTPParserError.headerOverflow {
        throw Overflow.headers
      }
      note(taken: length - slice.readableBytes, of: buffer.readableBytesView.prefix(length))
      buffer.moveReaderIndex(forwardBy: length - slice.readableBytes)
      if isKeepingTarget, keptBytes > limits.uriBytes { throw Overflow.target }
      // The parser keeps more only when it has stopped for good, after a request for another protocol.
      if keptBytes > limits.uriBytes + limits.headerBytes { throw Overflow.headers }
    }
  }

  /// Finds out what the parser keeps of the bytes it was fed.
  ///
  /// A target stands after a method and a blank, the name of a field at the start of a line, a value after a colon.
  private func note(taken: Int, of bytes: ByteBufferView) {
    if taken > 0 {
      let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
      if let last = bytes.prefix(taken).last(where: { !isBlank($0) }) { lastByte = last }
    }
    if taken > 0 || keptBytes == 0 {
      isKeepingTarget = lastByte != UInt8(ascii: ":") && lastByte != UInt8(ascii: "\n")
    }
    keptBytes = bytes.count - taken
    isKeepingTarget = isKeepingTarget && keptBytes > 0
  }
}
