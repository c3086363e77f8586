import Foundation

/// The decoded body of a response, and the rows that are missing from it because they are invalid.
package struct ParsedResponse<Value> {
  /// The decoded body.
  package var value: Value

  /// The invalid rows of a list.
  package var invalidRows: [InvalidRow]

  /// Creates a decoded body.
  package init(value: Value, invalidRows: [InvalidRow] = []) {
    self.value = value
    self.invalidRows = invalidRows
  }
}

extension ParsedResponse: Sendable where Value: Sendable {}

/// A row of a list that could not be decoded.
///
/// ```swift
/// let invalidRow = InvalidRow(row: 2, detail: "name is missing")
/// ```
public struct InvalidRow: Hashable, Sendable {
  /// The row's number, counted from 1.
  public var row: Int

  /// The reason.
  public var detail: String

  /// Creates an invalid row.
  public init(row: Int, detail: String) {
    self.row = row
    self.detail = detail
  }
}

/// The decoding of JSON arrays of which some rows may be invalid, so that one does not hide the others.
enum LenientList {
  private struct Row<Value: Decodable>: Decodable {
    let result: Result<Value, any Error>

    init(from decoder: any Decoder) throws {
      result = Result { try Value(from: decoder) }
    }
  }

  /// An array of which some rows may be invalid.
  struct Rows<Value: Decodable>: Decodable {
    private let rows: [Row<Value>]

    init(from decoder: any Decoder) throws {
      rows = try [Row<Value>](from: decoder)
    }

    /// Returns the valid rows, and the reasons of the others.
    ///
    /// - Throws: `DecodingError` if all rows are invalid: the error of the first one, because then the service has
    /// another format than this version of the library expects.
    func parsed() throws -> ParsedResponse<[Value]> {
      var parsed = ParsedResponse<[Value]>(value: [])
      parsed.value.reserveCapacity(rows.count)
      for (index, row) in rows.enumerated() {
        switch row.result {
        case .success(let value): parsed.value.append(value)
        case .failure(let error): parsed.invalidRows.append(InvalidRow(row: index + 1, detail: reason(of: error)))
        }
      }
      if parsed.value.isEmpty, case .failure(let error)? = rows.first?.result { throw error }
      return parsed
    }
  }

  /// Decodes an array.
  ///
  /// - Throws: `DecodingError` if the body is no array or all rows are invalid.
  static func parse<Value: Decodable>(_ data: Data) throws -> ParsedResponse<[Value]> {
    try JSONDecoder().decode(Rows<Value>.self, from: data).parsed()
  }

  /// Returns the path of the invalid member and the reason.
  private static func reason(of error: any Error) -> String {
    let context: DecodingError.Context
    switch error as? DecodingError {
    case .typeMismatch(_, let known), .valueNotFound(_, let known), .dataCorrupted(let known): context = known
    case .keyNotFound(let key, _): return "\(key.stringValue) is missing"
    default: return "\(error)"
    }
    // The keys up to the row's index are those of the list.
    let path = context.codingPath.drop { $0.intValue == nil }.dropFirst().map(\.stringValue).joined(separator: ".")
    return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
  }
}
