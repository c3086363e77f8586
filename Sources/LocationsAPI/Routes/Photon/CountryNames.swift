import Foundation
import Basics
import Synchronization

/// The names of countries, kept once they were looked up, since that is slow.
final class CountryNames: Sendable {
  private struct Key: Hashable {
    let code: ExactText
    let language: ExactText
  }

  static let shared = CountryNames()

  /// The maximum number of names that are kept; clients choose the languages.
  private static let capacity = 5000

  /// The languages that have names of countries. A locale of any other language is never created, since the library
  /// keeps each one for ever.
  private static let languages = Set(Locale.availableIdentifiers.lazy.map { ExactText(key($0)) })

  private let names = Mutex<[Key: ExactText]>([:])

  /// Returns the name of a country in a language, or in English.
  ///
  /// - Parameters:
  ///   - code: the ISO 3166-1 alpha-2 code.
  ///   - language: a language range in ASCII.
  func name(ofCountry code: String, language: String?) -> String? {
    let key = Key(code: ExactText(code), language: Self.available(language))
    if let known = names.withLock({ $0[key] }) { return known.text.isEmpty ? nil : known.text }
    let name = Locale(identifier: key.language.text).localizedString(forRegionCode: code)
    names.withLock { names in
      if names.count >= Self.capacity { names.removeAll(keepingCapacity: true) }
      names[key] = ExactText(name ?? "")
    }
    return name
  }

  /// Returns the language of a range, with its region or script where such names are there; English where there are
  /// none.
  private static func available(_ range: String?) -> ExactText {
    var subtags = (range ?? "").split(separator: "-")
    while !subtags.isEmpty {
      let language = ExactText(key(subtags.joined(separator: "_")))
      if languages.contains(language) { return language }
      subtags.removeLast()
    }
    return ExactText("en")
  }

  private static func key(_ identifier: String) -> String {
    identifier.lowercased()
  }
}
