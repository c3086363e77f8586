import APIDescription
import Basics
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1

/// A message of JSON-RPC 2.0 from a client: a request, or without an id a notification.
struct MCPMessage {
  let id: JSONValue?
  let method: String

  /// The parameters, which are an object.
  let params: JSONValue

  /// Reads a message.
  ///
  /// - Returns: the message or its error, and the id where it has a valid one.
  static func read(_ bytes: ByteBuffer) -> (id: JSONValue?, message: Result<MCPMessage, MCPError>) {
    let value: JSONValue
    do {
      value = try JSONReader.value(of: bytes.readableBytesView)
    } catch {
      return (nil, .failure(MCPError(.parseError, "the body is \(error)")))
    }
    let id = value["id"]
    return (id?.isRequestID == true ? id : .none, Result { () throws(MCPError) in try MCPMessage(value) })
  }

  private init(_ value: JSONValue) throws(MCPError) {
    if case .array = value {
      throw MCPError(.invalidRequest, "the body must be one message; batches are not part of the supported revisions")
    }
    guard case .object = value, value["jsonrpc"] == "2.0" else {
      throw MCPError(.invalidRequest, "the body must be a message of JSON-RPC 2.0, with \"jsonrpc\": \"2.0\"")
    }
    guard case .string(let method)? = value["method"] else {
      throw MCPError(.invalidRequest, "method must be a string; responses are not expected here")
    }
    id = value["id"]
    guard id.map(\.isRequestID) ?? true else { throw MCPError(.invalidRequest, "id must be a string or an integer") }
    params = value["params"] ?? .object([])
    guard case .object = params else { throw MCPError(.invalidRequest, "params must be an object") }
    self.method = method
  }
}

extension JSONValue {
  /// A Boolean value that indicates whether the value is an id of a request: a text or an integer.
  fileprivate var isRequestID: Bool {
    switch self {
    case .string: true
    case .number(let text): text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 }
    default: false
    }
  }
}

/// An error of JSON-RPC, with the codes of the revision 2026-07-28.
struct MCPError: Error {
  enum Code: Int {
    case parseError = -32700
    case invalidRequest = -32600
    case methodNotFound = -32601
    case invalidParams = -32602
    case headerMismatch = -32020
    case unsupportedVersion = -32022
  }

  let code: Code
  let message: String
  var data: JSONValue?

  init(_ code: Code, _ message: String, data: JSONValue? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// Returns the status of the response. Clients of the earlier revisions read the error of a valid message only from a
  /// response of status 200.
  func status(in revision: MCPRevision?) -> HTTPResponseStatus {
    if let revision, !revision.isStateless { return .ok }
    return code == .methodNotFound ? .notFound : .badRequest
  }

  var json: JSONValue {
    let members: [JSONValue.Member] = [
      .init(name: "code", value: .number(String(code.rawValue))), .init(name: "message", value: .string(message)),
    ]
    return .object(members + (data.map { [.init(name: "data", value: $0)] } ?? []))
  }
}

/// A revision of the Model Context Protocol.
enum MCPRevision: String, CaseIterable {
  case stateless = "2026-07-28"
  case november2025 = "2025-11-25"
  case june2025 = "2025-06-18"

  /// The revision that a client gets that asks for an unknown one by `initialize`.
  static let latestWithHandshake = november2025

  /// A Boolean value that indicates whether each request has its version in `_meta`; in the others `initialize`
  /// determines it.
  var isStateless: Bool { self == .stateless }

  private static let versionKey = "io.modelcontextprotocol/protocolVersion"
  private static let capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

  /// Determines the revision that a message is of, and validates what the revision says of the header fields.
  ///
  /// - Throws: `MCPError`.
  init(of message: MCPMessage, _ headers: RequestFields) throws(MCPError) {
    let version = try Self.value(of: "MCP-Protocol-Version", in: headers)
    // Notifications have neither metadata nor required fields.
    let isNotification = message.id == nil
    let isNamed = version.map { Self(rawValue: $0) == .stateless } ?? false
    if !isNotification, isNamed || message.params["_meta"]?[Self.versionKey] != nil {
      try Self.validateStateless(message, version, headers)
      self = .stateless
    } else if !isNotification, message.method.hasSameBytes(as: "initialize") {
      guard case .string(let requested)? = message.params["protocolVersion"] else {
        throw MCPError(.invalidParams, "params.protocolVersion must be a string")
      }
      let revision = Self(rawValue: requested)
      self = revision.flatMap { $0.isStateless ? nil : $0 } ?? Self.latestWithHandshake
    } else if let version {
      self = try Self.supported(version)
    } else if isNotification {
      self = .latestWithHandshake
    } else {
      throw MCPError(.headerMismatch, "the header field MCP-Protocol-Version must be given")
    }
  }

  private static func validateStateless(
    _ message: MCPMessage, _ version: String?, _ headers: RequestFields
  ) throws(MCPError) {
    let meta = message.params["_meta"]
    guard case .string(let stated)? = meta?[versionKey] else {
      throw MCPError(.invalidParams, "params._meta must have \(versionKey), a string")
    }
    guard case .object? = meta?[capabilitiesKey] else {
      throw MCPError(.invalidParams, "params._meta must have \(capabilitiesKey), an object")
    }
    try compare(version, stated, "MCP-Protocol-Version")
    guard try supported(stated).isStateless else { throw unsupported(stated) }
    try compare(value(of: "Mcp-Method", in: headers), message.method, "Mcp-Method")
    if message.method.hasSameBytes(as: "tools/call"), case .string(let name)? = message.params["name"] {
      let value = try value(of: "Mcp-Name", in: headers)
      if let value, value.hasSameBytes(as: encoded(name)) { return }
      try compare(value, name, "Mcp-Name")
    }
  }

  private static func supported(_ version: String) throws(MCPError) -> MCPRevision {
    guard let revision = Self(rawValue: version) else { throw unsupported(version) }
    return revision
  }

  private static func unsupported(_ version: String) -> MCPError {
    MCPError(
      .unsupportedVersion, "Unsupported protocol version",
      data: ["supported": names, "requested": .string(version)])
  }

  /// The names of all revisions.
  static let names = JSONValue.array(allCases.map { .string($0.rawValue) })

  // MARK: Header fields

  private static func value(of name: String, in headers: RequestFields) throws(MCPError) -> String? {
    let values = headers[name]
    guard values.count <= 1 else { throw MCPError(.headerMismatch, "the header field \(name) must not be repeated") }
    return values.first
  }

  private static func compare(_ value: String?, _ stated: String, _ name: String) throws(MCPError) {
    guard let value else { throw MCPError(.headerMismatch, "the header field \(name) must be given") }
    guard value.hasSameBytes(as: stated) else {
      throw MCPError(
        .headerMismatch,
        "the header field \(name) must be that of the body, '\(stated.prefix(100))', got '\(value.prefix(100))'")
    }
  }
  /// Returns a text in base 64, as the value of a header field that cannot have it as it is.
  private static func encoded(_ text: String) -> String {
    let digits = Base64URL.encode(Array(text.utf8)).replacing("-", with: "+").replacing("_", with: "/")
    return "=?base64?" + digits + String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4) + "?="
  }
}
