import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// Creates a request to the service.
  ///
  /// - Parameters:
  ///   - baseURL: the service's URL, whose path precedes that of the request.
  ///   - path: the percent-encoded path, with a leading slash.
  ///   - parameters: the query parameters, in this order.
  /// - Throws: ``RequestError/invalidBaseURL``.
  init(
    _ method: String = "GET", _ baseURL: URL, _ path: String, parameters: [QueryParameter?] = [],
    accept: String = "application/json"
  ) throws(RequestError) {
    guard baseURL.scheme?.lowercased() == "https" || baseURL.scheme?.lowercased() == "http",
      baseURL.host()?.isEmpty == false, baseURL.query() == nil, baseURL.fragment() == nil
    else { throw .invalidBaseURL }
    let base = baseURL.absoluteString
    let query = parameters.compactMap { $0?.text }.joined(separator: "&")
    let target = (base.hasSuffix("/") ? String(base.dropLast()) : base) + path + (query.isEmpty ? "" : "?" + query)
    guard let url = URL(string: target) else { throw .invalidBaseURL }
    self.init(url: url)
    httpMethod = method
    setValue(accept, forHTTPHeaderField: "Accept")
  }

  /// The maximum length of the address of a search in bytes. The service and proxies before it accept 8,000 by default;
  /// the links to further pages are longer than the first address.
  static let maximumAddressBytes = 4000

  private static let searchPath = "/locations/search"

  /// Creates a search for places: in the query of an address, or in a body if that address would be too long.
  ///
  /// - Throws: ``RequestError/invalidBaseURL`` or `EncodingError`.
  init(searching baseURL: URL, parameters: [QueryParameter?]) throws {
    try self.init("GET", baseURL, "/locations", parameters: parameters)
    guard let url, url.absoluteString.utf8.count > Self.maximumAddressBytes else { return }
    try self.init("POST", baseURL, Self.searchPath)
    let members = parameters.compactMap { $0.map { ($0.name, $0.value) } }
    setBody(
      try ServiceJSON.data(of: Dictionary(members, uniquingKeysWith: { $1 })), mediaType: "application/json")
  }

  /// A Boolean value that indicates whether the request only reads (RFC 9110, section 9.2.1), a search in a body
  /// included.
  var isRead: Bool {
    switch httpMethod ?? "GET" {
    case "GET", "HEAD", "OPTIONS": true
    case "POST": url?.path().hasSuffix(Self.searchPath) == true
    default: false
    }
  }

  /// A Boolean value that indicates whether the request has a precondition.
  var isConditional: Bool {
    value(forHTTPHeaderField: "If-Match") != nil || value(forHTTPHeaderField: "If-None-Match") != nil
  }

  /// Sets the body and its media type.
  mutating func setBody(_ data: Data, mediaType: String) {
    httpBody = data
    setValue(mediaType, forHTTPHeaderField: "Content-Type")
  }

  /// Returns whether a header's value is visible ASCII of up to the given length, so that it can't end the line.
  static func isToken(_ text: String, maximumLength: Int) -> Bool {
    (1...maximumLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}

/// JSON of requests, with a deterministic encoding.
enum ServiceJSON {
  /// Returns the value as JSON.
  ///
  /// - Throws: `EncodingError`.
  static func data(of value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }
}
