import Basics
import NIOCore
import NIOHTTP1

/// A handler before the parser of requests that reads plain requests itself, as most requests are, and passes all other
/// input on.
///
/// A plain request is one of HTTP/1.1 without a body or with one of known length, whose whole head came in one read and
/// consists of characters that need no interpretation; see ``PlainHead``. The connection's handler receives it as from
/// the parser, without the parser's strings and calls. Whatever is invalid, incomplete or unusual is the parser's,
/// which then has seen none of the request's bytes before.
final class RequestReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let connection: ConnectionHandler
  /// The parser's decoder; `nil` once all input is discarded.
  private var decoder: RequestDecoder?
  private var plain: PlainRequests

  private init(connection: ConnectionHandler, decoder: RequestDecoder, limits: HTTPServerConfiguration.Limits) {
    self.connection = connection
    self.decoder = decoder
    plain = PlainRequests(limits: limits)
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
    while decoder?.isBetweenRequests == true, let part = plain.next(from: &bytes) { connection.receive(part) }
    if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
  }

  /// Reads no further request, and lets go of the parser.
  func stop() { decoder = nil }
}

/// A part of a request.
enum RequestPart {
  case head(RequestHead)
  case body(ByteBuffer)
  case end
}

/// The parser of plain requests.
struct PlainRequests {
  let limits: HTTPServerConfiguration.Limits

  /// The number of bytes of the current request's body that are to come; `nil` between requests.
  private(set) var remaining: Int?

  init(limits: HTTPServerConfiguration.Limits) { self.limits = limits }

  /// Takes the next part of a request from the beginning of a buffer.
  ///
  /// - Returns: the part; `nil` if there is no more of the request, or no plain request begins.
  mutating func next(from buffer: inout ByteBuffer) -> RequestPart? {
    guard let remaining else {
      var length = 0
      guard let head = PlainHead.read(from: &buffer, limits: limits, bodyLength: &length) else { return nil }
      self.remaining = length
      return .head(head)
    }
    if remaining == 0 {
      self.remaining = nil
      return .end
    }
    let count = min(remaining, buffer.readableBytes)
    guard count > 0, let bytes = buffer.readSlice(length: count) else { return nil }
    self.remaining = remaining - count
    return .body(bytes)
  }
}

/// The head of a request that both this and NIO's parser read alike: a subset of RFC 9112 without its choices.
///
/// It is `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`, a target of printable ASCII without `#` that begins with a
/// slash, and `HTTP/1.1`; then fields with a name of RFC 9110, a colon, spaces or tabs, and a value of printable ASCII,
/// spaces and tabs that is not empty and does not end in a space or tab. Each line ends in CR LF. No field expects
/// something, frames a body or is about the connection, other than `Connection: keep-alive` and, with a method other
/// than `GET` and `HEAD`, one `Content-Length`.
enum PlainHead {
  private static let space = UInt8(ascii: " ")
  private static let tab = UInt8(ascii: "\t")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let lineFeed = UInt8(ascii: "\n")
  private static let version: StaticString = " HTTP/1.1\r\n"

  /// The maximum number of fields.
  private static let maximumFields = 32

  /// The maximum number of digits of a length, which the parser reads as the same number then.
  private static let maximumLengthDigits = 15

  /// Reads a plain head from the beginning of a buffer. O(n) in the length of the head.
  ///
  /// - Parameter bodyLength: is set to the number of bytes that follow the head as its body.
  /// - Returns: the head; `nil`, with nothing taken, if the buffer does not begin with a whole plain head.
  static func read(
    from buffer: inout ByteBuffer, limits: HTTPServerConfiguration.Limits, bodyLength: inout Int
  ) -> RequestHead? {
    var length = 0
    let head = buffer.withUnsafeReadableBytes { bytes in
      readHead(bytes.assumingMemoryBound(to: UInt8.self), limits, length: &length, bodyLength: &bodyLength)
    }
    if head != nil { buffer.moveReaderIndex(forwardBy: length) }
    return head
  }

  private static func readHead(
    _ bytes: UnsafeBufferPointer<UInt8>, _ limits: HTTPServerConfiguration.Limits, length: inout Int,
    bodyLength: inout Int
  ) -> RequestHead? {
    guard let (method, start, mayHaveBody) = method(of: bytes), let end = endOfTarget(in: bytes, from: start),
      end - start <= limits.uriBytes
    else { return nil }
    let target = UnsafeBufferPointer(rebasing: bytes[start..<end])
    let rest = UnsafeBufferPointer(rebasing: bytes[(end + version.utf8CodeUnitCount)...])
    return withUnsafeTemporaryAllocation(of: RequestFields.Range.self, capacity: maximumFields) { ranges in
      var count = 0
      var contentLength: Int?
      guard let fieldsEnd = readFields(of: rest, into: ranges, count: &count, contentLength: &contentLength),
        fieldsEnd <= limits.headerBytes, count <= limits.headerCount, contentLength == nil || mayHaveBody
      else { return nil }
      bodyLength = contentLength ?? 0
      length = end + version.utf8CodeUnitCount + fieldsEnd + 2
      return RequestHead(
        method: method, target: String(decoding: target, as: UTF8.self),
        fields: RequestFields(
          UnsafeBufferPointer(rebasing: rest[..<fieldsEnd]), UnsafeBufferPointer(rebasing: ranges[..<count])),
        isHTTP10: false, persists: true)
    }
  }

  private static func method(
    of bytes: UnsafeBufferPointer<UInt8>
  ) -> (method: HTTPMethod, targetStart: Int, mayHaveBody: Bool)? {
    if begins(bytes, with: "GET /", at: 0) { return (.GET, 4, false) }
    if begins(bytes, with: "POST /", at: 0) { return (.POST, 5, true) }
    if begins(bytes, with: "PUT /", at: 0) { return (.PUT, 4, true) }
    if begins(bytes, with: "PATCH /", at: 0) { return (.PATCH, 6, true) }
    if begins(bytes, with: "DELETE /", at: 0) { return (.DELETE, 7, true) }
    if begins(bytes, with: "HEAD /", at: 0) { return (.HEAD, 5, false) }
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
    count: inout Int, contentLength: inout Int?
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
          UnsafeBufferPointer(rebasing: bytes[value..<index]), &contentLength)
      else { return nil }
      ranges.initializeElement(
        at: count, to: RequestFields.Range(name: name, nameCount: nameCount, value: value, end: index))
      count += 1
      index += 2
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether a field does not concern the connection or the body's frame, or is
  /// the first `Content-Length`.
  private static func isPlain(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ contentLength: inout Int?
  ) -> Bool {
    switch name.count {
    case 6: !name.isEqual(toLowercase: "expect")
    case 7: !name.isEqual(toLowercase: "upgrade")
    case 10: !name.isEqual(toLowercase: "connection") || value.isEqual(toLowercase: "keep-alive")
    case 14: !name.isEqual(toLowercase: "content-length") || readLength(value, into: &contentLength)
    case 16: !name.isEqual(toLowercase: "proxy-connection")
    case 17: !name.isEqual(toLowercase: "transfer-encoding")
    default: true
    }
  }

  /// Reads the value of `Content-Length`. Returns a Boolean value that indicates whether it consists of a few digits
  /// and is the first one.
  private static func readLength(_ value: UnsafeBufferPointer<UInt8>, into length: inout Int?) -> Bool {
    guard length == nil, value.count <= maximumLengthDigits else { return false }
    var number = 0
    for byte in value {
      guard byte &- UInt8(ascii: "0") < 10 else { return false }
      number = number * 10 + Int(byte &- UInt8(ascii: "0"))
    }
    length = number
    return true
  }
}
