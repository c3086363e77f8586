import NIOCore
import NIOHTTP1

/// NIO's parser of requests, held to the server's limits, and telling which limit a request that is too large broke.
///
/// The parser counts the target and the header fields together and gives up at the first byte too many, so no more than
/// the limits' sum is ever kept; what comes in whole is held to each limit by ``RequestHeadFacts``.
final class RequestDecoder: ByteToMessageDecoder {
  typealias InboundOut = HTTPServerRequestPart

  /// Which limit a request broke before it came in whole.
  enum Overflow: Error {
    case target
    case headers
  }

  private let parser: HTTPRequestDecoder
  private let maximumTargetLength: Int
  /// Whether the parser keeps the beginning of a target that goes on in the next read.
  private var isInTarget = false
  /// Whether the last byte that the parser took was the space after a method.
  private var isAfterMethod = false

  init(limits: HTTPServerConfiguration.Limits) {
    var configuration = NIOHTTPDecoderLimitConfiguration()
    configuration.maxHeaderListSize = limits.uriBytes + limits.headerBytes
    configuration.maxHeaderFieldSize = configuration.maxHeaderListSize
    configuration.maxHeaderFieldCount = limits.headerCount
    parser = HTTPRequestDecoder(limitConfiguration: configuration)
    maximumTargetLength = limits.uriBytes
  }

  func decoderAdded(context: ChannelHandlerContext) { parser.decoderAdded(context: context) }

  func decoderRemoved(context: ChannelHandlerContext) { parser.decoderRemoved(context: context) }

  func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    let before = buffer
    do {
      let state = try parser.decode(context: context, buffer: &buffer)
      note(before, kept: buffer.readableBytes)
      return state
    } catch HTTPParserError.headerOverflow {
      throw isTargetTooLong(in: before) ? Overflow.target : Overflow.headers
    }
  }

  func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) throws -> DecodingState {
    let before = buffer
    do {
      return try parser.decodeLast(context: context, buffer: &buffer, seenEOF: seenEOF)
    } catch HTTPParserError.headerOverflow {
      throw isTargetTooLong(in: before) ? Overflow.target : Overflow.headers
    }
  }

  /// Remembers whether what the parser keeps is a target.
  private func note(_ buffer: ByteBuffer, kept: Int) {
    let bytes = buffer.readableBytesView
    let start = bytes.endIndex - kept
    let startsTarget = Self.followsMethod(start, in: bytes)
    if kept == 0 {
      isInTarget = false
      isAfterMethod = startsTarget
    } else if kept < bytes.count {
      isInTarget = startsTarget
      isAfterMethod = false
    } else {
      isInTarget = isInTarget || isAfterMethod
    }
  }

  /// Whether the bytes, in which the parser met one too many, hold a target that is too long.
  private func isTargetTooLong(in buffer: ByteBuffer) -> Bool {
    let bytes = buffer.readableBytesView
    if isInTarget || isAfterMethod, isLongWord(at: bytes.startIndex, in: bytes) { return true }
    return bytes.indices.contains { index in
      bytes[index] == UInt8(ascii: " ") && Self.followsMethod(index + 1, in: bytes)
        && isLongWord(at: index + 1, in: bytes)
    }
  }

  private func isLongWord(at start: Int, in bytes: ByteBufferView) -> Bool {
    let word = bytes[start...].prefix(maximumTargetLength + 1)
    return word.count > maximumTargetLength && word.allSatisfy { $0 > UInt8(ascii: " ") }
  }

  /// Whether a method and a space stand right before the index, at the start of the bytes or of a line.
  private static func followsMethod(_ index: Int, in bytes: ByteBufferView) -> Bool {
    guard index - 1 > bytes.startIndex, bytes[index - 1] == UInt8(ascii: " ") else { return false }
    var first = index - 1
    while first > bytes.startIndex, isMethodByte(bytes[first - 1]) { first -= 1 }
    return first < index - 1 && (first == bytes.startIndex || bytes[first - 1] == UInt8(ascii: "\n"))
  }

  private static func isMethodByte(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "A") < 26 || byte == UInt8(ascii: "-")
  }
}
