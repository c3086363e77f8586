import NIOCore
import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite struct ResponseEncoderTests {
  /// Returns the head as bytes and the fields that were found. It is written after bytes of another response.
  private static func head(
    _ headers: HTTPHeaders, status: HTTPResponseStatus = .ok, framing: ResponseEncoder.Framing = .length(12),
    keepsLength: Bool = false, requestID: String = "id"
  ) -> (text: String, sent: SentFields) {
    let encoder = ResponseEncoder(serverName: "tester")
    var buffer = ByteBuffer(string: "before ")
    let sent = encoder.append(
      HTTPResponse(status: status, headers: headers), framing: framing, keepsLength: keepsLength,
      requestID: requestID, date: Array("date: now\r\n".utf8), to: &buffer)
    return (String(buffer: buffer), sent)
  }

  private static let end = "content-length: 12\r\ndate: now\r\nx-request-id: id\r\nserver: tester\r\n"

  @Test func fieldsKeepTheirOrderAndCaseBeforeTheServersOwn() {
    let (text, sent) = Self.head([
      "Content-Type": "text/plain; charset=utf-8", "ETag": "\"1\"", "x": "", "X-Request_1": "a\tb, caf\u{e9}",
      "Date": "then", "Transfer-Encoding": "chunked", "Content-Length": "99", "etag": "2",
    ])

    #expect(
      text == "before HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nETag: \"1\"\r\nx: \r\n"
        + "X-Request_1: a\tb, caf\u{e9}\r\netag: 2\r\n" + Self.end)
    #expect(sent.areValid && !sent.hasLength && !sent.hasRequestID && !sent.asksForClose)
  }

  @Test func fieldsOfAnyLengthFit() {
    let room = ResponseEncoder.usualFieldBytes
    for length in [0, 1, 7, 8, 9, 100, room - 40, room - 15, room - 14, room - 13, room, 3 * room, 100_000] {
      let value = String((0..<length).map { _ in Character(Unicode.Scalar(UInt8.random(in: 0x20...0x7E))) })
      let (text, sent) = Self.head(["etag": "\"1\"", "a": value, "vary": "accept"])

      #expect(text == "before HTTP/1.1 200 OK\r\netag: \"1\"\r\na: \(value)\r\nvary: accept\r\n" + Self.end)
      #expect(sent.areValid)
    }
    let many = HTTPHeaders((0..<500).map { ("x-\($0)", "value") })
    #expect(Self.head(many).text.hasSuffix("\r\nx-499: value\r\n" + Self.end))
  }

  @Test func nothingIsAppendedIfAFieldIsInvalid() {
    for position in 0..<20 {
      for byte in 0..<128 as Range<UInt8> {
        var bytes = [UInt8](repeating: UInt8(ascii: "n"), count: 20)
        bytes[position] = byte
        let name = String(decoding: bytes, as: UTF8.self)
        let isToken = HTTPFieldToken.characters.contains(Character(Unicode.Scalar(byte)))
        let (text, sent) = Self.head(["a": "1", name: "value", "b": "2"])

        #expect(sent.areValid == isToken, "\(byte) at \(position)")
        #expect(text.contains("\r\na: 1\r\n\(name): value\r\nb: 2\r\n") == isToken)
        #expect(isToken || text == "before ")
      }
    }
    for headers in [["": "value"], ["a": "1\r\nb: 2"], ["long-name": "a value that is long\n"]] as [HTTPHeaders] {
      #expect(Self.head(headers).text == "before ")
    }
    #expect(Self.head([:], requestID: "a\r\nb").text == "before ")
    #expect(Self.head([:], status: .processing).text == "before ")
  }

  @Test(
    arguments: [
      (["Connection": "CLOSE"], true), (["connection": "keep-alive"], false), (["connection": "close, x"], false),
      (["connection": "x", "a": "b", "CONNECTION": "close"], true), (["connectiom": "close"], false),
      (["bad name": "x", "connection": "close"], true),
      (["long": String(repeating: "x", count: 5000), "connection": "close"], true),
    ] as [(HTTPHeaders, Bool)])
  func respondersConnectionFieldIsReportedAndNotSent(headers: HTTPHeaders, asksForClose: Bool) {
    let (text, sent) = Self.head(headers)

    #expect(sent.asksForClose == asksForClose)
    #expect(!text.lowercased().contains("connection:"))
  }

  @Test func onlyTheFirstLengthOfAResponseWithoutABodyIsKept() {
    let headers: HTTPHeaders = ["Content-Length": "7", "content-length": "8"]
    let kept = Self.head(headers, status: .notModified, framing: .none, keepsLength: true)
    let replaced = Self.head(headers)
    let left = Self.head(headers, status: .notModified, framing: .none)

    #expect(kept.sent.hasLength)
    #expect(
      kept.text
        == "before HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\ndate: now\r\nx-request-id: id\r\nserver: tester\r\n"
    )
    #expect(replaced.text == "before HTTP/1.1 200 OK\r\n" + Self.end)
    #expect(!left.text.lowercased().contains("length"))
  }

  @Test func respondersRequestIDReplacesTheConnections() {
    let (text, sent) = Self.head(["X-Request-ID": "mine"], requestID: "theirs")

    #expect(sent.hasRequestID)
    #expect(text.contains("\r\nX-Request-ID: mine\r\n") && !text.contains("theirs"))
  }

  @Test func lengthsAreDecimal() {
    for length in [0, 1, 9, 10, 99, 100, 4096, 1_000_000, .max] {
      #expect(Self.head([:], framing: .length(length)).text.contains("\r\ncontent-length: \(length)\r\n"))
    }
  }

  @Test(
    arguments: [
      (.implied, "\r\n"), (.keepAlive, "connection: keep-alive\r\n\r\n"), (.close, "connection: close\r\n\r\n"),
    ] as [(ResponseEncoder.Persistence, String)])
  func headEndsWithTheConnectionField(persistence: ResponseEncoder.Persistence, expected: String) {
    var buffer = ByteBuffer()
    ResponseEncoder(serverName: nil).append(persistence, to: &buffer)

    #expect(String(buffer: buffer) == expected)
  }
}

/// The characters of names (RFC 9110, section 5.6.2).
private enum HTTPFieldToken {
  static let characters = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
