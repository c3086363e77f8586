import HTTPServer
import JSONText

extension CORSPolicy {
  private static let variable = "CORS_ALLOWED_ORIGINS"

  /// Creates the policy that the settings give: pages of every origin, or those of a list of origins, may read responses.
  ///
  /// - Throws: ``ConfigurationError`` for a text that no browser sends as an origin, so that it would never match.
  init(_ settings: Settings) throws(ConfigurationError) {
    let texts = settings.list(Self.variable)
    if texts.contains("*"), texts.count > 1 {
      throw .init(
        variable: Self.variable, value: settings[Self.variable], expectation: "must be * alone or a list without it")
    }
    var origins: Set<ExactText> = []
    for text in texts where text != "*" {
      guard let origin = Self.origin(text) else {
        throw .init(
          variable: Self.variable, value: text,
          expectation: "must be * or origins with commas between: a scheme and a host, and a port where it is not the "
            + "scheme's, without a path, such as https://example.com or http://localhost:3000")
      }
      origins.insert(ExactText(origin))
    }
    self.init(origins: origins.isEmpty ? .any : .list(origins))
  }

  /// Returns the origin as browsers serialise it (RFC 6454, section 6.2): in lower case, without the scheme's own port;
  /// `nil` where the text is no origin.
  private static func origin(_ text: String) -> String? {
    let text = text.lowercased()
    let pattern = /([a-z][a-z0-9+.\-]*):\/\/([a-z0-9_.\-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/
    guard let match = text.wholeMatch(of: pattern) else { return nil }
    guard let digits = match.3 else { return text }
    guard let port = Int(digits), 1...65_535 ~= port else { return nil }
    let isSchemesOwn = (match.1 == "http" && port == 80) || (match.1 == "https" && port == 443)
    return "\(match.1)://\(match.2)\(isSchemesOwn ? "" : ":\(port)")"
  }
}
