extension String {
  /// Returns the text with a number of random edits of its letters: insertions, deletions, replacements and
  /// transpositions of neighbours.
  package func edited(_ count: Int, using random: inout some RandomNumberGenerator) -> String {
    var scalars = Array(unicodeScalars)
    let letters = scalars.filter { $0.properties.isAlphabetic }
    for _ in 0..<count where scalars.count > 1 {
      let index = Int.random(in: 0..<scalars.count, using: &random)
      let letter = letters.randomElement(using: &random) ?? "x"
      switch Int.random(in: 0..<4, using: &random) {
      case 0: scalars.insert(letter, at: index)
      case 1: scalars.remove(at: index)
      case 2: scalars[index] = letter
      default: scalars.swapAt(index == 0 ? 1 : index, index == 0 ? 0 : index - 1)
      }
    }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }
}
