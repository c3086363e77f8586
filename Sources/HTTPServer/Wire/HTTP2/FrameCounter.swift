import NIOCore
import NIOHTTP2

/// A counter of the frames of a connection that NIO's own counts leave out: GOAWAY, and frames of unknown types, which
/// are ignored (RFC 9113, section 5.5) and cost work all the same.
///
/// It follows the lengths of frames in the bytes on their way to NIO's parser, and passes everything on unchanged.
final class FrameCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let prefaceBytes = 24
  private static let headBytes = 9
  /// The types that NIO counts or that requests consist of (RFC 9113, section 6; RFC 7838 and RFC 8336).
  private static let goAway: UInt8 = 7
  private static let knownTypes: Set<UInt8> = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]

  private let maximumCount: Int
  private let window: TimeAmount
  private let exceeded: (ChannelHandlerContext) -> Void
  /// The number of bytes of the preface or of a payload that are still to come.
  private var skipped = prefaceBytes
  private var head = ByteBuffer()
  private var count = 0
  private var windowStart = NIODeadline.uptimeNanoseconds(0)
  private var isOver = false

  /// Creates a counter at the beginning of a connection.
  ///
  /// - Parameters:
  ///   - maximumCount: the greatest number of such frames in a window.
  ///   - window: the length of a window.
  ///   - exceeded: a function that is called once when there are more; nothing is passed on after it.
  init(maximumCount: Int, window: TimeAmount, exceeded: @escaping (ChannelHandlerContext) -> Void) {
    self.maximumCount = maximumCount
    self.window = window
    self.exceeded = exceeded
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isOver else { return }
    follow(unwrapInboundIn(data))
    guard count <= maximumCount else {
      isOver = true
      return exceeded(context)
    }
    context.fireChannelRead(data)
  }

  private func follow(_ bytes: ByteBuffer) {
    var rest = bytes
    while rest.readableBytes > 0 {
      if skipped > 0 {
        let length = min(skipped, rest.readableBytes)
        rest.moveReaderIndex(forwardBy: length)
        skipped -= length
      } else if head.readableBytes == 0, rest.readableBytes >= Self.headBytes {
        record(&rest)
      } else if let chunk = rest.readSlice(length: min(Self.headBytes - head.readableBytes, rest.readableBytes)) {
        head.writeImmutableBuffer(chunk)
        if head.readableBytes == Self.headBytes {
          record(&head)
          head.clear()
        }
      }
    }
  }

  private func record(_ bytes: inout ByteBuffer) {
    guard let high = bytes.readInteger(as: UInt8.self), let low = bytes.readInteger(as: UInt16.self),
      let type = bytes.readInteger(as: UInt8.self)
    else { return }
    bytes.moveReaderIndex(forwardBy: Self.headBytes - 4)
    skipped = Int(high) << 16 | Int(low)
    guard type == Self.goAway || !Self.knownTypes.contains(type) else { return }
    let now = NIODeadline.now()
    if now - windowStart >= window {
      windowStart = now
      count = 0
    }
    count += 1
  }
}
