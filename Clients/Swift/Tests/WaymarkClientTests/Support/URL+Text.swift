import Foundation

extension URL {
  /// The URL that a text is.
  init(text: String) throws {
    guard let url = URL(string: text) else { throw URLError(.badURL) }
    self = url
  }
}
