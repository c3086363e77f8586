import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite struct RequestTargetTests {
  @Test(
    arguments: [
      ("/", "/", nil), ("/a/b", "/a/b", nil), ("/a?b=c", "/a", "b=c"), ("/a?", "/a", ""), ("/a?b?c", "/a", "b?c"),
      ("http://h/a?b", "/a", "b"), ("http://h", "/", nil), ("http://h?b", "/", "b"), ("HTTPS://h:1/a", "/a", nil),
      ("*", "*", nil), ("//h/a", "//h/a", nil), ("/http://h/a", "/http://h/a", nil),
    ] as [(String, String, String?)]
  )
  func targetIsSplitIntoPathAndQuery(target: String, path: String, query: String?) {
    let parts = RequestTarget(target)

    #expect(parts.path == path)
    #expect(parts.query.map(String.init) == query)
    #expect(parts.isValid)
  }

  @Test(arguments: ["", "a", "h:80", "ftp://h/a", "?a", "**"]) func otherTargetsAreNotValid(target: String) {
    #expect(!RequestTarget(target).isValid)
  }
}

@Suite struct RequestIDTests {
  @Test(arguments: ["a", "0aZ.-_", String(repeating: "x", count: 128)]) func requestIDOfTheClientIsUsed(id: String) {
    #expect(HTTPRequest(target: "/", headers: ["X-Request-ID": id]).id == id)
  }

  @Test(arguments: ["", "a b", "a\tb", "é", "a;b", "<", String(repeating: "x", count: 129)])
  func invalidRequestIDOfTheClientIsReplaced(id: String) {
    let request = HTTPRequest(target: "/", headers: ["X-Request-ID": id])

    #expect(request.id != id)
    #expect(RequestID.isAcceptable(request.id))
  }

  @Test func generatedRequestIDsAreValidAndUnique() {
    var generator = RequestIDGenerator()
    let ids = (0..<1000).map { _ in generator.next() }

    #expect(Set(ids).count == 1000)
    #expect(ids.allSatisfy { RequestID.isAcceptable($0) && $0.utf8.count == 13 })
  }
}

@Suite struct HostFieldTests {
  @Test func hostHasOnlyCharactersOfNames() {
    let allowed = Set("-._~%!$&'()*+,;=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for byte in 0...255 as ClosedRange<UInt8> where byte != UInt8(ascii: ":") {
      let character = Character(Unicode.Scalar(byte))

      #expect(HostField.isValid("a\(character)b") == allowed.contains(character), "\(byte)")
      #expect(HostField.isValid("[a\(character)]:80") == (character == ":" || allowed.contains(character)), "\(byte)")
    }
  }

  @Test(arguments: [
    ("", true), ("a:80", true), ("a:", true), ("a:65535", true), ("a:65536", false), ("a:8x", false), ("[::1]", true),
    ("[]", false), ("[::1", false), ("[::1]x", false),
  ])
  func portFollowsTheHost(value: String, isValid: Bool) {
    #expect(HostField.isValid(value) == isValid)
  }
}
