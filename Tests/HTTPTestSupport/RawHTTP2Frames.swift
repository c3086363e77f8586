/// HTTP/2 frames as bytes (RFC 9113, section 4.1), for tests that control the exact data on the wire.
package enum RawHTTP2Frames {
  /// A parsed frame.
  package struct Frame: Hashable, Sendable {
    /// The frame's type.
    package let type: UInt8

    /// The stream identifier; 0 is the connection.
    package let stream: UInt32

    /// The frame's payload.
    package let payload: [UInt8]

    package init(type: UInt8, stream: UInt32, payload: [UInt8]) {
      self.type = type
      self.stream = stream
      self.payload = payload
    }
  }

  /// The beginning of a connection: the preface and empty settings.
  package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(type: 4)

  /// Types of frames.
  package static let data: UInt8 = 0, headers: UInt8 = 1, reset: UInt8 = 3, settings: UInt8 = 4, ping: UInt8 = 6
  /// Types of frames.
  package static let goAway: UInt8 = 7, windowUpdate: UInt8 = 8, continuation: UInt8 = 9

  /// `GET /` for `localhost`, encoded with HPACK without the dynamic table.
  package static let get: [UInt8] = [0x82, 0x86, 0x84] + literal(nameIndex: 1, value: "localhost")

  /// Returns an encoded frame.
  package static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let length = payload.count
    let head = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
    return head + bytes(of: stream) + payload
  }

  /// Returns a literal field without indexing, with a name from the static table.
  package static func literal(nameIndex: UInt8, value: String) -> [UInt8] {
    [nameIndex, UInt8(value.utf8.count)] + Array(value.utf8)
  }

  /// Returns a literal field without indexing.
  package static func literal(name: String, value: String) -> [UInt8] {
    [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
  }

  /// Returns the bytes of a number in big-endian order.
  package static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
  }

  /// Returns the complete frames at the beginning of the data.
  package static func parse(_ bytes: [UInt8]) -> [Frame] {
    var frames: [Frame] = []
    var position = 0
    while position + 9 <= bytes.count {
      let length = bytes[position..<position + 3].reduce(0) { $0 << 8 | Int($1) }
      guard position + 9 + length <= bytes.count else { break }
      let stream = bytes[position + 5..<position + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let payload = Array(bytes[position + 9..<position + 9 + length])
      frames.append(Frame(type: bytes[position + 3], stream: stream, payload: payload))
      position += 9 + length
    }
    return frames
  }
}
