import Foundation

/// JSON that the service is sent: the same bytes for the same value.
enum ServiceJSON {
  /// The value as JSON.
  ///
  /// - Throws: `EncodingError`.
  static func data(of value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }
}
