import JSONText
public import NIOCore
import NIOHTTP1

extension Problem {
  /// The media type of ``json(typePrefix:)``.
  public static let mediaType = "application/problem+json"

  /// The default beginning of `type`, which ``code`` follows.
  public static let defaultTypePrefix = "urn:problem:"

  /// Returns the problem as a JSON object: `type`, `title`, `status`, `detail`, `code`, ``counts`` and `errors`, the
  /// optional ones only where there are any.
  ///
  /// - Parameter typePrefix: the beginning of `type`, which ``code`` follows.
  public func json(typePrefix: String = defaultTypePrefix) -> ByteBuffer {
    var json = JSONWriter(ByteBufferAllocator().buffer(capacity: 512))
    json.beginObject()
    json.write(member: "type", typePrefix + code)
    json.write(member: "title", title)
    json.write(member: "status", Int(status.code))
    if let detail { json.write(member: "detail", detail) }
    json.write(member: "code", code)
    for count in counts {
      json.write(escapedName: count.name)
      json.write(integer: count.value)
    }
    if !errors.isEmpty { Self.write(errors, to: &json) }
    json.endObject()
    return json.sink
  }

  private static func write(_ errors: [ProblemError], to json: inout JSONWriter<ByteBuffer>) {
    json.write(name: "errors")
    json.beginArray()
    for error in errors {
      json.beginObject()
      switch error.location {
      case .parameter(let name): json.write(member: "parameter", name)
      case .pointer(let pointer): json.write(member: "pointer", pointer)
      case .row(let number, let line):
        json.write(member: "row", number)
        if let line { json.write(member: "line", line) }
      }
      json.write(member: "detail", error.detail)
      json.endObject()
    }
    json.endArray()
  }
}

extension HTTPResponse {
  /// Creates the response of a problem.
  ///
  /// - Parameter typePrefix: the beginning of the problem's `type`, which its code follows.
  public init(_ problem: Problem, typePrefix: String = Problem.defaultTypePrefix) {
    self.init(
      status: problem.status,
      contentType: Problem.mediaType,
      bytes: problem.json(typePrefix: typePrefix)
    )
    headers.add(contentsOf: problem.headers)
  }
}
