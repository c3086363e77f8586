import JSONText
import NIOCore
import NIOHTTP1

extension Problem {
  /// The media type of ``json(typePrefix:)``.
  public static let mediaType = "application/problem+json"

  /// The URI that ``code`` follows in `type` where nothing else is said.
  public static let defaultTypePrefix = "urn:problem:"

  /// The problem as a JSON object: `type`, `title`, `status`, `detail`, `code`, ``counts`` and `errors`, the optional
  /// ones only where there are any.
  ///
  /// - Parameter typePrefix: what `type` begins with; it goes on with ``code``.
  public func json(typePrefix: String = defaultTypePrefix) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(256)
    json.append(contentsOf: #"{"type":"#.utf8)
    JSONString.append(typePrefix + code, to: &json)
    json.append(contentsOf: #","title":"#.utf8)
    JSONString.append(title, to: &json)
    json.append(contentsOf: #","status":\#(status.code)"#.utf8)
    if let detail {
      json.append(contentsOf: #","detail":"#.utf8)
      JSONString.append(detail, to: &json)
    }
    json.append(contentsOf: #","code":"#.utf8)
    JSONString.append(code, to: &json)
    for count in counts {
      json.append(UInt8(ascii: ","))
      JSONString.append(count.name, to: &json)
      json.append(contentsOf: ":\(count.value)".utf8)
    }
    if !errors.isEmpty { appendErrors(to: &json) }
    json.append(UInt8(ascii: "}"))
    return json
  }

  private func appendErrors(to json: inout [UInt8]) {
    json.append(contentsOf: #","errors":["#.utf8)
    for (index, error) in errors.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      switch error.location {
      case .parameter(let name):
        json.append(contentsOf: #"{"parameter":"#.utf8)
        JSONString.append(name, to: &json)
      case .pointer(let pointer):
        json.append(contentsOf: #"{"pointer":"#.utf8)
        JSONString.append(pointer, to: &json)
      case .row(let number, let line):
        json.append(contentsOf: #"{"row":\#(number)"#.utf8)
        if let line { json.append(contentsOf: #","line":\#(line)"#.utf8) }
      }
      json.append(contentsOf: #","detail":"#.utf8)
      JSONString.append(error.detail, to: &json)
      json.append(UInt8(ascii: "}"))
    }
    json.append(UInt8(ascii: "]"))
  }
}

extension HTTPResponse {
  /// The answer that tells of the problem.
  ///
  /// - Parameter typePrefix: what the problem's `type` begins with; it goes on with its code.
  public init(_ problem: Problem, typePrefix: String = Problem.defaultTypePrefix) {
    self.init(
      status: problem.status,
      contentType: Problem.mediaType,
      bytes: problem.json(typePrefix: typePrefix)
    )
    headers.add(contentsOf: problem.headers)
  }
}
