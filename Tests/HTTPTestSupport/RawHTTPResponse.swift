/// A response as received over the wire.
package struct RawHTTPResponse: Sendable {
  /// The status code.
  package let status: Int

  /// The header fields in order, with names in lower case.
  package let headers: [(name: String, value: String)]

  /// The body, with chunks combined.
  package let body: [UInt8]

  /// The body as text.
  package var text: String { String(decoding: body, as: UTF8.self) }

  /// Returns the first value of a header field, by its name in lower case.
  package subscript(name: String) -> String? { headers.first { $0.name == name }?.value }

  /// Parses the response at the beginning of the data.
  ///
  /// - Returns: the response and its length; `nil` where more data is needed.
  static func parse(_ bytes: [UInt8], method: String, isAtEnd: Bool) throws -> (RawHTTPResponse, Int)? {
    guard let headEnd = find("\r\n\r\n", in: bytes, from: 0) else { return nil }
    let lines = String(decoding: bytes[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    let status = lines[0].split(separator: " ", maxSplits: 2)
    guard status.count >= 2, status[0] == "HTTP/1.1", let code = Int(status[1]) else {
      throw RawHTTPConnection.Failure.malformed(String(lines[0]))
    }
    let headers = try lines.dropFirst().map { line in
      guard let colon = line.firstIndex(of: ":") else { throw RawHTTPConnection.Failure.malformed(String(line)) }
      return (name: line[..<colon].lowercased(), value: String(line[line.index(after: colon)...].drop { $0 == " " }))
    }
    let head = RawHTTPResponse(status: code, headers: headers, body: [])
    guard let (body, length) = try head.body(in: bytes, from: headEnd + 4, method: method, isAtEnd: isAtEnd) else {
      return nil
    }
    return (RawHTTPResponse(status: code, headers: headers, body: body), length)
  }

  private func body(
    in bytes: [UInt8],
    from start: Int,
    method: String,
    isAtEnd: Bool
  ) throws -> ([UInt8], Int)? {
    if method == "HEAD" || status == 204 || status == 304 || status < 200 { return ([], start) }
    if self["transfer-encoding"] == "chunked" { return try Self.chunks(in: bytes, from: start) }
    if let length = self["content-length"].flatMap({ Int($0) }) {
      return bytes.count >= start + length ? (Array(bytes[start..<start + length]), start + length) : nil
    }
    return isAtEnd ? (Array(bytes[start...]), bytes.count) : nil
  }

  private static func chunks(in bytes: [UInt8], from start: Int) throws -> ([UInt8], Int)? {
    var body: [UInt8] = []
    var position = start
    while let lineEnd = find("\r\n", in: bytes, from: position) {
      let line = String(decoding: bytes[position..<lineEnd], as: UTF8.self)
      guard let size = Int(line, radix: 16) else { throw RawHTTPConnection.Failure.malformed(line) }
      let next = lineEnd + 2 + size + 2
      guard bytes.count >= next else { return nil }
      if size == 0 { return (body, next) }
      body += bytes[lineEnd + 2..<next - 2]
      position = next
    }
    return nil
  }

  private static func find(_ pattern: String, in bytes: [UInt8], from start: Int) -> Int? {
    let pattern = Array(pattern.utf8)
    guard bytes.count >= pattern.count else { return nil }
    var index = start
    while index <= bytes.count - pattern.count {
      if bytes[index] == pattern[0], bytes[index..<index + pattern.count].elementsEqual(pattern) { return index }
      index += 1
    }
    return nil
  }
}
