import Basics
package import HTTPServer
import NIOHTTP1
package import Points
package import SearchWords

/// The languages that a request prefers for names, and their origin.
package struct LanguageNegotiation: Hashable {
  /// The languages; `nil` if places keep their own names.
  package let languages: LanguagePriorityList?

  /// A Boolean value that indicates whether the response depends on `Accept-Language`.
  let isByHeader: Bool

  /// No languages, for calls that have no `lang`.
  package static let none = LanguageNegotiation(parameter: nil)

  /// Creates the languages of a call that takes them from its parameter alone.
  package init(parameter: LanguagePriorityList?) {
    self.init(parameter.flatMap { $0.isEmpty ? nil : $0 }, isByHeader: false)
  }

  /// Creates the languages of a call that takes them from its parameter or else from `Accept-Language` (RFC 9110,
  /// section 12.5.4).
  package init(parameter: LanguagePriorityList?, headers: RequestFields) {
    guard parameter == nil else {
      self.init(parameter: parameter)
      return
    }
    self.init(LanguagePriorityList(acceptLanguage: headers), isByHeader: true)
  }

  private init(_ languages: LanguagePriorityList?, isByHeader: Bool) {
    self.languages = languages
    self.isByHeader = isByHeader
  }

  /// The suffix that distinguishes the entity tags of languages that share an address; empty where none do.
  var etagSuffix: String {
    guard isByHeader, let languages else { return "" }
    var hash = FNV1a()
    for range in languages.ranges {
      hash.combine(bytes: range.text.utf8)
      hash.combine(1)
    }
    return ".l" + String(hash.value & 0xFFFF_FFFF, radix: 36)
  }

  /// Replaces the names of places by those in the preferred languages.
  ///
  /// - Returns: the value of `Content-Language`, the languages of the names that were replaced; `nil` if none were.
  package func translate(_ points: inout [FoundPoint]) -> String? {
    guard let languages else { return nil }
    var used: [ExactText] = []
    for index in points.indices {
      guard let language = points[index].translateName(languages).map({ ExactText($0) }) else { continue }
      if !used.contains(language) { used.append(language) }
    }
    return used.isEmpty ? nil : used.map(\.text).joined(separator: ", ")
  }
}

extension HTTPResponse {
  /// Adds `Content-Language` (RFC 9110, section 8.5).
  package mutating func addContentLanguage(_ languages: String?) {
    if let languages { headers.add(name: "content-language", value: languages) }
  }
}

extension LanguagePriorityList {
  /// The number of elements of `Accept-Language` that are read at most.
  private static let maximumElements = 50

  /// Creates the list of `Accept-Language` (RFC 9110, section 12.5.4), the ranges of the greatest weight first and
  /// those of equal weight in their order; `nil` if there is none. Malformed elements and those with a weight of 0
  /// are left out.
  package init?(acceptLanguage headers: RequestFields) {
    var weighted: [(range: Substring, weight: Int)] = []
    let elements = headers[canonicalForm: "accept-language"].lazy.flatMap { $0.split(separator: ",") }
    for element in elements.prefix(Self.maximumElements) {
      let parts = element.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
      let range = parts[0].trimmingBlanks
      guard Self.isWellFormed(range) else { continue }
      let weight = parts.count == 1 ? 1000 : Self.weight(parts[1].trimmingBlanks)
      if let weight, weight > 0 { weighted.append((range, weight)) }
    }
    // Sorting is stable by the index.
    let sorted = weighted.enumerated().sorted { left, right in
      (right.element.weight, left.offset) < (left.element.weight, right.offset)
    }
    let ranges = sorted.map(\.element.range)
    // Behind `*` any language is as good as another, and the own name is one of them.
    let preferred = ranges.prefix { $0 != "*" }.prefix(Self.maximumCount)
    guard !preferred.isEmpty else { return nil }
    self.init(preferred)
  }

  /// Returns a weight in thousandths; `nil` if it is malformed.
  private static func weight(_ text: Substring) -> Int? {
    guard let match = text.wholeMatch(of: /[qQ]=(?:(0)(?:\.([0-9]{0,3}))?|1(?:\.0{0,3})?)/) else { return nil }
    guard match.1 != nil else { return 1000 }
    let digits = match.2 ?? ""
    return Int(digits + String(repeating: "0", count: 3 - digits.count))
  }
}
