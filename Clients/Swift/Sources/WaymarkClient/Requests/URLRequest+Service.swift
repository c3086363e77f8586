import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// A request to the service.
  ///
  /// - Parameters:
  ///   - baseURL: the service's address; a path of it stays before the call's.
  ///   - path: the call's, with a leading slash, percent-encoded.
  ///   - parameters: the query's, in this order.
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

  /// Sets what is sent.
  mutating func setBody(_ data: Data, mediaType: String) {
    httpBody = data
    setValue(mediaType, forHTTPHeaderField: "Content-Type")
  }

  /// Whether a header's value is visible ASCII of a length: nothing in it could end the line.
  static func isToken(_ text: String, maximumLength: Int) -> Bool {
    (1...maximumLength).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
