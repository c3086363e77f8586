import Basics
public import SearchWords

extension LanguagePriorityList {
  /// Returns the name in the most preferred language that there is one in, with the language; `nil` if there is
  /// none. The languages are looked up as RFC 4647 has it (section 3.4): of `zh-hant-tw` also `zh-hant` and `zh`,
  /// before those of the next range.
  ///
  /// - Parameter tags: the tags of a place; its names are in `name:` and a language tag.
  public func name(in tags: [(key: String, value: String)]) -> (name: String, language: String)? {
    let names = tags.compactMap { tag -> (language: Substring, name: String)? in
      guard tag.key.utf8.starts(with: Self.prefix.utf8), !tag.value.isEmpty else { return nil }
      return (tag.key[tag.key.utf8.index(tag.key.startIndex, offsetBy: Self.prefix.utf8.count)...], tag.value)
    }
    guard !names.isEmpty else { return nil }
    return first { language in
      guard let found = names.first(where: { Self.isSame($0.language, language) }) else { return nil }
      // The rules for names are stricter than those for values of tags.
      let name = found.name.trimmingWhiteSpace()
      let isName = !name.isEmpty && name.violation(maximumLength: PointDraft.maximumNameLength) == nil
      return isName ? (name, String(language)) : nil
    }
  }

  private static let prefix = "name:"

  /// Returns a Boolean value that indicates whether a language tag is one in lower case, in whichever case it is.
  private static func isSame(_ tag: Substring, _ lowercase: Substring) -> Bool {
    tag.utf8.count == lowercase.utf8.count
      && zip(tag.utf8, lowercase.utf8).allSatisfy { byte, lower in
        byte == lower || (byte | 0x20 == lower && (97...122).contains(lower))
      }
  }
}

extension FoundPoint {
  /// Replaces the name by the one in the most preferred language that the tags have a name in, and returns the
  /// language; `nil` if they have none. The place's own name is then in the tag ``PointDraft/localNameKey``.
  public mutating func translateName(_ languages: LanguagePriorityList) -> String? {
    guard let (draft, language) = point.draft.translated(languages) else { return nil }
    point = PointOfInterest(
      id: point.id, draft: draft, version: point.version, createdAt: point.createdAt, updatedAt: point.updatedAt)
    return language
  }
}

extension PointDraft {
  /// The key of the tag that has the own name of a place whose name is shown in another language.
  public static let localNameKey = "name:local"

  /// Returns the place with the name in the most preferred language that its tags have a name in, and that language;
  /// `nil` if they have none.
  func translated(_ languages: LanguagePriorityList) -> (draft: PointDraft, language: String)? {
    // The tags of most places need not be parsed.
    guard tags.mayHaveTranslations, let found = languages.name(in: tags.pairs) else { return nil }
    let draft = PointDraft(
      storedName: found.name, category: category, coordinate: coordinate,
      tags: tags.replacingValue(of: Self.localNameKey, with: name), origin: origin)
    return (draft, found.language)
  }
}

extension Tags {
  /// A Boolean value that indicates whether the bytes of a key of a translation are in ``json``.
  fileprivate var mayHaveTranslations: Bool {
    var json = json
    return json.withUTF8 { bytes in
      let key = "\"name:".utf8
      var rest = bytes[...]
      while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
        rest = rest[start...]
        if rest.starts(with: key) { return true }
        rest = rest.dropFirst()
      }
      return false
    }
  }

  /// Returns the tags with a value of a key; their number may be greater by one than that of valid tags.
  fileprivate func replacingValue(of key: String, with value: String) -> Tags {
    var builder = TagsBuilder()
    for (key, value) in pairs { builder.append(key: key, value: value) }
    builder.append(key: key, value: value)
    return builder.buildStored()
  }
}
