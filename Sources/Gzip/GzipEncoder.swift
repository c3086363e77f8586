import CZlib

/// An encoder of gzip (RFC 1952), chunk by chunk and in constant memory.
package final class GzipEncoder {
  /// Fast rather than small: responses are compressed at the pace of a network.
  private static let level: Int32 = 4

  /// 15 bits of window and a gzip header.
  private static let windowBits: Int32 = 15 + 16

  private static let defaultMemoryLevel: Int32 = 8

  // zlib keeps the address: it must not move.
  private let stream: UnsafeMutablePointer<z_stream>

  /// Creates an encoder that has written nothing.
  ///
  /// - Throws: ``GzipError/outOfMemory``.
  package init() throws(GzipError) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let code = deflateInit2_(
      stream, Self.level, Z_DEFLATED, Self.windowBits, Self.defaultMemoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { throw .outOfMemory }
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Compresses bytes and appends the gzip that is complete, which may be none yet.
  package func encode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8]) {
    run(input, flush: Z_NO_FLUSH, into: &output)
  }

  /// Appends the gzip's end. Nothing may be encoded after it.
  package func finish(into output: inout [UInt8]) {
    run(UnsafeRawBufferPointer(start: nil, count: 0), flush: Z_FINISH, into: &output)
  }

  private func run(_ input: UnsafeRawBufferPointer, flush: Int32, into output: inout [UInt8]) {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = uInt(input.count)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 15) { buffer in
      repeat {
        stream.pointee.next_out = buffer.baseAddress
        stream.pointee.avail_out = uInt(buffer.count)
        _ = deflate(stream, flush)
        output.append(contentsOf: buffer[..<(buffer.count - Int(stream.pointee.avail_out))])
      } while stream.pointee.avail_out == 0
    }
    stream.pointee.next_out = nil
  }
}

@available(*, unavailable)
extension GzipEncoder: Sendable {}
