import Foundation

/// The foldings of text behind `CASEI` and `ACCENTI`.
enum TextFolding {
  /// Returns a text that is the same for all that differ only in case (full case folding; The Unicode Standard, section
  /// 5.18).
  static func withoutCase(_ text: String) -> String {
    guard !isASCII(text) else { return text.lowercased() }
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      // The Turkish dotless i is a letter of its own, though its capital is I.
      guard scalar != "ı" else {
        folded.append(scalar)
        continue
      }
      // Capital sharp s has a small letter but no longer form; small sharp s has only the longer form.
      let upper = scalar.properties.lowercaseMapping.unicodeScalars.flatMap {
        $0.properties.uppercaseMapping.unicodeScalars
      }
      for scalar in upper { folded.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars) }
    }
    return String(folded)
  }

  /// Returns a text without the accents and other nonspacing marks that its canonical decomposition has, composed
  /// again.
  ///
  /// The Japanese voicing marks are kept, which tell words apart.
  static func withoutAccents(_ text: String) -> String {
    guard !isASCII(text) else { return text }
    var stripped = String.UnicodeScalarView()
    for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars {
      let isVoicing = scalar == "\u{3099}" || scalar == "\u{309A}"
      if isVoicing || scalar.properties.generalCategory != .nonspacingMark { stripped.append(scalar) }
    }
    return String(stripped).precomposedStringWithCanonicalMapping
  }

  private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }
}
