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
