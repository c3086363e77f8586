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

/// A decoder of gzip (RFC 1952), chunk by chunk and in constant memory. Members that follow one another are one text.
package final class GzipDecoder {
  /// The maximum ratio of the lengths of a text and its gzip, beyond ``freeBytes``.
  package static let maximumRatio = 100

  /// The number of bytes that a text may have whatever the length of its gzip.
  package static let freeBytes = 16 << 20

  /// 15 bits of window and a gzip header.
  private static let windowBits: Int32 = 15 + 16

  // zlib keeps the address: it must not move.
  private let stream: UnsafeMutablePointer<z_stream>
  private var isBetweenMembers = false
  private var bytesRead = 0
  private var bytesWritten = 0

  /// Creates a decoder that has read nothing.
  ///
  /// - Parameter isRaw: a Boolean value that indicates whether the bytes are a deflate stream (RFC 1951) without the
  ///   header of gzip, as in archives.
  /// - Throws: ``GzipError/outOfMemory``.
  package init(isRaw: Bool = false) throws(GzipError) {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let code = inflateInit2_(stream, isRaw ? -15 : Self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { throw .outOfMemory }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Decompresses some of the bytes. Where the output is as long as `limit` there may be more of it: the caller calls
  /// again, with the bytes that were not taken or none.
  ///
  /// - Returns: the number of bytes that were taken, and the output, at most `limit` bytes.
  /// - Throws: ``GzipError``.
  package func decode(
    _ input: UnsafeRawBufferPointer, atMost limit: Int
  ) throws(GzipError) -> (taken: Int, output: [UInt8]) {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = uInt(clamping: input.count)
    let offered = Int(stream.pointee.avail_in)
    var code = Z_OK
    let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      stream.pointee.next_out = buffer.baseAddress
      stream.pointee.avail_out = uInt(clamping: limit)
      repeat {
        if isBetweenMembers {
          guard stream.pointee.avail_in > 0 else { break }
          inflateReset(stream)
          isBetweenMembers = false
        }
        code = inflate(stream, Z_NO_FLUSH)
        isBetweenMembers = code == Z_STREAM_END
      } while (code == Z_OK || code == Z_STREAM_END) && stream.pointee.avail_in > 0 && stream.pointee.avail_out > 0
      count = limit - Int(stream.pointee.avail_out)
    }
    stream.pointee.next_out = nil
    switch code {
    // Z_BUF_ERROR is no error: there was nothing to do.
    case Z_OK, Z_STREAM_END, Z_BUF_ERROR: break
    case Z_MEM_ERROR: throw .outOfMemory
    default: throw .malformed
    }
    let taken = offered - Int(stream.pointee.avail_in)
    bytesRead += taken
    bytesWritten += output.count
    guard bytesWritten <= Self.freeBytes || bytesWritten / Self.maximumRatio <= bytesRead else { throw .tooMuch }
    return (taken, output)
  }

  /// Checks that the bytes did not end within a member.
  ///
  /// - Throws: ``GzipError/truncated``.
  package func finish() throws(GzipError) {
    guard isBetweenMembers else { throw .truncated }
  }
}

@available(*, unavailable)
extension GzipDecoder: Sendable {}

/// The reason why bytes are not gzip (RFC 1952), or can't be compressed.
package enum GzipError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes break the format, or their checksum is another.
  case malformed
  /// The bytes end too early.
  case truncated
  /// The output is so much longer than the bytes that they are taken for a decompression bomb.
  case tooMuch
  /// There is no memory.
  case outOfMemory

  /// The message for a user; it follows the name of the bytes.
  package var description: String {
    switch self {
    case .malformed: "is not valid gzip"
    case .truncated: "ends before its gzip does"
    case .tooMuch: "holds more than \(GzipDecoder.maximumRatio) times its length"
    case .outOfMemory: "can't be read for lack of memory"
    }
  }
}

/// The checksum of bytes in archives (ISO 3309), which comes in pieces.
package struct CRC32 {
  /// The checksum of the bytes so far.
  package private(set) var value: UInt32 = 0

  package init() {}

  /// Adds bytes behind the others.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    value = UInt32(truncatingIfNeeded: crc32(uLong(value), start, uInt(bytes.count)))
  }
}
