import Basics
import NIOHTTP1

enum RequestID {
  static let headerName: StaticString = "x-request-id"

  /// Returns the client's own id, if it may be repeated in headers and logs.
  static func accepted(from headers: HTTPHeaders) -> String? {
    guard let id = headers.first(name: "\(headerName)"), isAcceptable(id) else { return nil }
    return id
  }

  /// Returns a Boolean value that indicates whether an id is 1–128 characters out of `A–Z a–z 0–9 . _ -`.
  static func isAcceptable(_ id: String) -> Bool {
    let utf8 = id.utf8
    guard (1...128).contains(utf8.count) else { return false }
    return utf8.allSatisfy { byte in
      HostField.isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        || byte == UInt8(ascii: "-")
    }
  }

  static func random() -> String { text(of: UInt64.random(in: .min ... .max)) }

  /// Returns thirteen characters of base 32: short enough that a `String` allocates nothing.
  static func text(of number: UInt64) -> String {
    let digits: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"
    return String(unsafeUninitializedCapacity: 13) { buffer in
      for index in 0..<13 {
        buffer[index] = digits.utf8Start[Int(truncatingIfNeeded: number >> UInt64(60 - 5 * index)) & 31]
      }
      return 13
    }
  }
}

/// A connection's generator of ids: a random start and then a bijection of a counter, so that an id costs no system
/// call.
struct RequestIDGenerator {
  private var state = UInt64.random(in: .min ... .max)

  /// Returns the next id.
  mutating func next() -> String {
    state &+= 1
    return RequestID.text(of: SplitMix64.mix(state))
  }
}
