import Basics
import NIOCore
import NIOHTTP1

/// A handler before the parser of requests that reads the heads of plain requests itself, as most requests are, and
/// passes all other input on.
///
/// A plain request is a `GET` or `HEAD` of HTTP/1.1 without a body, whose whole head came in one read and consists of
/// characters that need no interpretation; see ``PlainHead``. The connection's handler receives it as from the parser,
/// without the parser's strings and calls. Whatever is invalid, incomplete or unusual is the parser's, which then has
/// seen none of the request's bytes before.
final class RequestReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let connection: ConnectionHandler
  /// The parser's decoder; `nil` once all input is discarded.
  private var decoder: RequestDecoder?
  private let limits: HTTPServerConfiguration.Limits

  private init(connection: ConnectionHandler, decoder: RequestDecoder, limits: HTTPServerConfiguration.Limits) {
    self.connection = connection
    self.decoder = decoder
    self.limits = limits
  }

  /// Adds the handlers of a connection of HTTP/1.1 to a pipeline.
  ///
  /// - Parameters:
  ///   - start: the time at which the connection was opened.
  ///   - isRejected: a Boolean value that indicates whether the connection exceeds the limit and only receives 503.
  static func addHandlers(
    to pipeline: ChannelPipeline.SynchronousOperations, server: ServerContext, start: NIODeadline = .now(),
    isRejected: Bool = false
  ) throws {
    let framing = RequestFraming()
    let decoder = RequestDecoder(limits: server.configuration.limits, framing: framing)
    let connection = ConnectionHandler(
      server: server, eventLoop: pipeline.eventLoop, framing: framing, start: start, isRejected: isRejected)
    let reader = RequestReader(connection: connection, decoder: decoder, limits: server.configuration.limits)
    try pipeline.addHandlers(reader, ByteToMessageHandler(decoder), connection)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    while decoder?.isBetweenRequests == true, let head = PlainHead.read(from: &bytes, limits: limits) {
      connection.receive(head)
    }
    if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
  }

  /// Reads no further request, and lets go of the parser.
  func stop() { decoder = nil }
}

/// The head of a request that both this and NIO's parser read alike: a subset of RFC 9112 without its choices.
///
/// It is `GET` or `HEAD`, a target of printable ASCII without `#` that begins with a slash, and `HTTP/1.1`; then fields
/// with a name of RFC 9110, a colon, spaces or tabs, and a value of printable ASCII, spaces and tabs that is not empty
/// and does not end in a space or tab. Each line ends in CR LF. No field frames a body, expects something, or is about
/// the connection, other than `Connection: keep-alive`.
enum PlainHead {
  private static let space = UInt8(ascii: " ")
  private static let tab = UInt8(ascii: "\t")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let lineFeed = UInt8(ascii: "\n")
  private static let version: StaticString = " HTTP/1.1\r\n"

  /// The maximum number of fields.
  private static let maximumFields = 32

  /// Reads a plain head from the beginning of a buffer. O(n) in the length of the head.
  ///
  /// - Returns: the head; `nil` if the buffer does not begin with a whole plain head, and then nothing is taken from it.
  static func read(from buffer: inout ByteBuffer, limits: HTTPServerConfiguration.Limits) -> RequestHead? {
    var length = 0
    let head = buffer.withUnsafeReadableBytes { bytes in
      readHead(bytes.assumingMemoryBound(to: UInt8.self), limits, length: &length)
    }
    if head != nil { buffer.moveReaderIndex(forwardBy: length) }
    return head
  }

  private static func readHead(
    _ bytes: UnsafeBufferPointer<UInt8>, _ limits: HTTPServerConfiguration.Limits, length: inout Int
  ) -> RequestHead? {
    guard let (method, start) = method(of: bytes), let end = endOfTarget(in: bytes, from: start),
      end - start <= limits.uriBytes
    else { return nil }
    let target = UnsafeBufferPointer(rebasing: bytes[start..<end])
    let rest = UnsafeBufferPointer(rebasing: bytes[(end + version.utf8CodeUnitCount)...])
    return withUnsafeTemporaryAllocation(of: RequestFields.Range.self, capacity: maximumFields) { ranges in
      var count = 0
      guard let fieldsEnd = readFields(of: rest, into: ranges, count: &count), fieldsEnd <= limits.headerBytes,
        count <= limits.headerCount
      else { return nil }
      length = end + version.utf8CodeUnitCount + fieldsEnd + 2
      return RequestHead(
        method: method, target: String(decoding: target, as: UTF8.self),
        fields: RequestFields(
          UnsafeBufferPointer(rebasing: rest[..<fieldsEnd]), UnsafeBufferPointer(rebasing: ranges[..<count])),
        isHTTP10: false, persists: true)
    }
  }

  private static func method(of bytes: UnsafeBufferPointer<UInt8>) -> (method: HTTPMethod, targetStart: Int)? {
    if begins(bytes, with: "GET /", at: 0) { return (.GET, 4) }
    if begins(bytes, with: "HEAD /", at: 0) { return (.HEAD, 5) }
    return nil
  }

  /// Returns the end of a target that the version and a line end follow.
  private static func endOfTarget(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var index = start
    while index < bytes.count, bytes[index] &- 0x21 < 0x7F - 0x21, bytes[index] != UInt8(ascii: "#") { index += 1 }
    return begins(bytes, with: version, at: index) ? index : nil
  }

  private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with text: StaticString, at start: Int) -> Bool {
    guard bytes.count - start >= text.utf8CodeUnitCount else { return false }
    for index in 0..<text.utf8CodeUnitCount where bytes[start + index] != text.utf8Start[index] { return false }
    return true
  }

  /// Reads fields up to the empty line.
  ///
  /// - Returns: the index of the empty line; `nil` if it has not come, or a field is not plain.
  private static func readFields(
    of bytes: UnsafeBufferPointer<UInt8>, into ranges: UnsafeMutableBufferPointer<RequestFields.Range>,
    count: inout Int
  ) -> Int? {
    var index = 0
    while index < bytes.count {
      let name = index
      while index < bytes.count, FieldWriter.isTokenByte(bytes[index]) { index += 1 }
      let nameCount = index - name
      guard index < bytes.count - 1 else { return nil }
      guard nameCount > 0 else {
        return bytes[index] == carriageReturn && bytes[index + 1] == lineFeed ? index : nil
      }
      guard bytes[index] == UInt8(ascii: ":") else { return nil }
      index += 1
      while index < bytes.count, bytes[index] == space || bytes[index] == tab { index += 1 }
      let value = index
      while index < bytes.count, bytes[index] &- space < 0x7F - space || bytes[index] == tab { index += 1 }
      guard index < bytes.count - 1, bytes[index] == carriageReturn, bytes[index + 1] == lineFeed, index > value,
        bytes[index - 1] != space, bytes[index - 1] != tab, count < ranges.count,
        isPlain(
          UnsafeBufferPointer(rebasing: bytes[name..<name + nameCount]),
          UnsafeBufferPointer(rebasing: bytes[value..<index]))
      else { return nil }
      ranges.initializeElement(
        at: count, to: RequestFields.Range(name: name, nameCount: nameCount, value: value, end: index))
      count += 1
      index += 2
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether a field does not concern the connection or the body's frame.
  private static func isPlain(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
    switch name.count {
    case 6: !name.isEqual(toLowercase: "expect")
    case 7: !name.isEqual(toLowercase: "upgrade")
    case 10: !name.isEqual(toLowercase: "connection") || value.isEqual(toLowercase: "keep-alive")
    case 14: !name.isEqual(toLowercase: "content-length")
    case 16: !name.isEqual(toLowercase: "proxy-connection")
    case 17: !name.isEqual(toLowercase: "transfer-encoding")
    default: true
    }
  }
}
