import Geo
import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// The arguments that only a search for a text has.
struct TextArguments: Hashable {
  /// The orders of the matches, by the values of `sort`.
  enum Sort: String, CaseIterable {
    case relevance
    case distance
  }

  /// The text, with at least one word.
  let text: ExactText

  /// A Boolean value that indicates whether the text is still being typed.
  let isIncomplete: Bool

  let sort: Sort

  /// The position near which matches rank higher.
  let bias: LocationBias?

  /// The end of the page before.
  let after: TextQuery.Position?

  /// Returns the query with the conditions and the limit of a list.
  ///
  /// - Parameter includesMatchedNames: a Boolean value that indicates whether the matched names are needed.
  func query(_ filters: PointQuery, includesMatchedNames: Bool = false) -> TextQuery {
    TextQuery(
      text: text.text, completesLastWord: isIncomplete, bias: bias, filters: filters,
      order: sort == .distance ? .distance : .relevance, limit: filters.limit, after: after,
      includesMatchedNames: includesMatchedNames)
  }
}

extension ParameterValues {
  /// Returns the text of `q`; `nil` where it is not given or invalid.
  mutating func text() -> ExactText? {
    guard let text = self[.text] else { return nil }
    let length = text.unicodeScalars.count
    guard (1...TextQuery.maximumLength).contains(length) else {
      note(.invalid, "q", "must have 1 to \(TextQuery.maximumLength) characters, got \(length)")
      return nil
    }
    guard !NormalizedText(text).isEmpty else {
      note(.invalid, "q", "must have a letter or a digit, got '\(text.prefix(50))'")
      return nil
    }
    return ExactText(text)
  }

  /// Returns the arguments of a search for a text; `nil` where `q` is not given, or something is invalid.
  ///
  /// - Parameter filters: the conditions. A centre without a radius is only a bias, and is removed.
  mutating func textArguments(_ filters: inout PointQuery) -> TextArguments? {
    guard has(.text) else {
      for parameter in [Parameter.autocomplete, .sort] where has(parameter) {
        note(.missing, "q", "must be given where \(parameter.name) is")
      }
      return nil
    }
    let text = text()
    let isIncomplete = flag(.autocomplete)
    let sort = choice(.sort, default: TextArguments.Sort.relevance)
    let center = filters.proximity?.center
    if filters.proximity?.radiusMetres == nil { filters.proximity = nil }
    if sort == .distance, !has(.latitude), !has(.longitude) {
      for name in ["lat", "long"] { note(.missing, name, "must be given for sort=distance") }
    }
    guard let text else { return nil }
    let arguments = TextArguments(
      text: text, isIncomplete: isIncomplete, sort: sort, bias: center.map { LocationBias(center: $0) }, after: nil)
    guard let cursor = self[.cursor] else { return arguments }
    let after = Cursor.position(from: cursor, in: arguments.query(filters))
    if after == nil { noteInvalidCursor() }
    return TextArguments(
      text: text, isIncomplete: isIncomplete, sort: sort, bias: arguments.bias, after: after)
  }
}

extension PointsService {
  /// Returns a page of the places that match a text, with attributions where the fields have them.
  ///
  /// - Throws: `Problem` 501 where texts can't be searched for, or that of the store's error.
  func matches(
    of query: TextQuery, _ fields: FieldSet, isRecorded: Bool = true, for request: HTTPRequest
  ) async throws(Problem) -> (points: [FoundPoint], next: TextQuery.Position?) {
    guard let names = textStore, names.supportsTextSearch else { throw .noTextSearch }
    return try await request.reportingStoreErrors { () throws(PointStoreError) in
      let page = try await matches(of: query, in: names, isRecorded: isRecorded)
      var points = page.matches.map { FoundPoint($0) }
      if fields.contains(.attribution) { try await addAttribution(to: &points) }
      return (points, page.next)
    }
  }
}

extension [FoundPoint] {
  /// Adds the label of each place where the fields have labels. The names must be in the languages of the request.
  mutating func addLabels(in fields: FieldSet) {
    guard fields.contains(.label) else { return }
    for index in indices { self[index].label = self[index].point.draft.label }
  }
}

extension Problem {
  /// 501 where no index searches for texts.
  static let noTextSearch = Problem(
    .notImplemented, code: "not-implemented",
    detail: "places are found by name only with an index; this server has none because POINT_INDEX is off, or auto and "
      + "the places need more memory than there is")
}
