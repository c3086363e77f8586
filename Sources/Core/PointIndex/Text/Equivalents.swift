import Points

/// The words that stand for a word of a query, by the table of ``equivalentWords``. Never in two steps: what stands for an
/// equivalent is none.
struct Equivalents: Sendable {
  typealias Word = ContiguousArray<UInt8>

  static let shared = Equivalents(equivalentWords)

  private var words: [Word: ContiguousArray<Word>] = [:]

  /// The endings that have others, by their last bytes, each with these.
  private var endings: ContiguousArray<ContiguousArray<(ending: Word, others: ContiguousArray<Word>)>>

  /// The words that are written together with the one before them, or apart from it.
  private var joinable: Set<Word> = []

  /// The words that may be left out of an address.
  private var omissible: Set<Word> = []

  /// The least number of bytes before an ending of one letter, and before others.
  private static let leastStems = (ofOneLetter: 4, ofOthers: 3)

  /// Creates the equivalents of a table.
  init(_ table: String) {
    endings = ContiguousArray(repeating: [], count: 256)
    for line in table.split(separator: "\n") {
      let marked = line.split(separator: " ")
      // A line of one word without a mark names the language.
      guard marked.count > 1 || marked.first.map({ $0.first == "-" || $0.first == "?" }) ?? false else { continue }
      let marks = "-?".utf8
      let group = ContiguousArray(marked.map { Word($0.utf8.drop { marks.contains($0) }) })
      for (mark, word) in zip(marked, group) {
        let others = ContiguousArray(group.filter { $0 != word })
        if mark.first == "-" {
          if word.count > 1 { joinable.insert(word) }
          endings[Int(word[word.count - 1])].append((word, others))
        } else {
          let known = words[word, default: []]
          words[word] = known + others.filter { !known.contains($0) }
          if mark.first == "?" { omissible.insert(word) }
        }
      }
    }
  }

  /// Returns the words that stand for a word, without itself.
  func words(for word: Word) -> ContiguousArray<Word> {
    var found = words[word] ?? []
    guard let last = word.last else { return found }
    for (ending, others) in endings[Int(last)] where !others.isEmpty && isEnding(ending, of: word) {
      for other in others { found.append(word.dropLast(ending.count) + other) }
    }
    return found
  }

  /// Returns a Boolean value that indicates whether a word is one such as `platz`, which ends other words.
  func isJoinable(_ word: Word) -> Bool { joinable.contains(word) }

  /// Returns a Boolean value that indicates whether a word may be left out of an address.
  func isOmissible(_ word: Word) -> Bool { omissible.contains(word) }

  /// Returns the number of bytes before the longest joinable ending of a word; `nil` if it has none.
  func stem(of word: Word) -> Int? {
    guard let last = word.last else { return nil }
    let lengths = endings[Int(last)].lazy.filter { $0.ending.count > 1 && isEnding($0.ending, of: word) }
      .map(\.ending.count)
    return lengths.max().map { word.count - $0 }
  }

  private func isEnding(_ ending: Word, of word: Word) -> Bool {
    let least = ending.count == 1 ? Self.leastStems.ofOneLetter : Self.leastStems.ofOthers
    return word.count >= ending.count + least && word[(word.count - ending.count)...].elementsEqual(ending)
  }
}

/// The Latin letters that Cyrillic and Greek ones are written with. The language of a word is not known, so that a letter
/// has those of several.
struct LatinLetters: @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the initialization, and never freed.

  /// Letters in UTF-8, and Latin ones that they are written with.
  private struct Form: BitwiseCopyable {
    let letters: UnsafeBufferPointer<UInt8>
    let prefix: WordDictionary.Prefix
    let latin: UnsafeBufferPointer<UInt8>
  }

  static let shared = LatinLetters()

  /// The forms, by the first Latin letter; at last those of letters that are left out.
  private let forms: UnsafeMutableBufferPointer<Form>

  /// The start of the forms of each Latin letter from `a`, of those of letters that are left out, and their end.
  private let starts: UnsafeMutableBufferPointer<Int>

  /// The index of ``starts`` of the letters that are left out.
  private static let omittedLetters = 26

  /// The maximum number of nodes of the dictionary that are visited for a word: some three times as many as the words of
  /// a gazetteer need. For a restricted query it must not be reached, since words that it may not know would decide.
  private static let maximumSteps = 2_000
  private static let maximumStepsOfRestricted = 100_000

  /// The maximum number of ranges of words that stand for one that is being typed.
  private static let maximumRanges = 64

  /// The number of steps of a search for a node.
  private static let stepsPerNode = 40

  /// The least number of letters of a word that is looked for.
  private static let leastLetters = 3

  /// Romanizations of BGN/PCGN, ISO 9, passports and Serbian, and usual ones. Letters are in the form of
  /// ``Points/NormalizedText``: `ё`, `й` and the Serbian `ћ` are `е`, `и` and `т`, so that `ć` does not find `ћ`.
  private static let table = """
    а a ya;б b;в v w f;г g h gh gj;д d dj;е e ye je ie yo;ж zh j z;з z s;и i y j yi;к k kj;л l lj;м m;н n nj
    о o;п p;р r;с s ss;т t;у u w ou v;ф f ph;х kh h ch;ц ts tz c cz;ч ch c tch;ш sh s sch;щ shch sht sch s
    ъ a u;ы y i;ь y j;э e;ю yu iu ju u;я ya ia ja;кс x;ии y i;ыи y i;ые yye
    і i y yi ji;є ye ie je e;ј j y;љ lj;њ nj;џ dz dzh j;ѕ dz
    α a;β v b;γ g y gh;δ d dh;ε e ai;ζ z;η i e y;θ th;ι i y;κ k c;λ l;μ m;ν n;ξ x ks;ο o;π p;ρ r rh;σ s ss;τ t;υ y i u v f
    φ f ph;χ ch h kh;ψ ps;ω o;ου ou u;αι ai e ae;ει ei i;οι oi i e;αυ av af au;ευ ev ef eu;μπ b mp;ντ d nt nd;γκ g gk ng
    γγ ng gg;γχ nch nkh;τζ tz;τσ ts;ιο io yo;σσ ss s;λλ ll l;ββ v;ππ pp p;ρρ rr r;νν nn n;μμ mm m;κκ kk k
    """

  /// The letters that are left out.
  private static let omitted = "ьъ"

  private init() {
    func kept(_ text: some Collection<UInt8>) -> UnsafeBufferPointer<UInt8> {
      let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
      _ = memory.initialize(from: text)
      return UnsafeBufferPointer(memory)
    }
    func form(_ letters: some StringProtocol, _ latin: some StringProtocol) -> Form {
      let letters = kept(letters.utf8)
      return Form(letters: letters, prefix: .init(letters), latin: kept(latin.utf8))
    }
    var found = Array(repeating: [Form](), count: Self.omittedLetters + 1)
    for entry in Self.table.split(whereSeparator: { $0 == ";" || $0 == "\n" }) {
      let parts = entry.split(separator: " ")
      for latin in parts.dropFirst() {
        let form = form(parts[0], latin)
        found[Int(form.latin[0] - UInt8(ascii: "a"))].append(form)
      }
    }
    for letter in Self.omitted { found[Self.omittedLetters].append(form(String(letter), "")) }
    let all = found.flatMap { $0 }
    forms = .allocate(capacity: all.count)
    _ = forms.initialize(from: all)
    starts = .allocate(capacity: found.count + 1)
    _ = starts.initialize(from: found.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) })
  }

  /// Returns the words of a dictionary that begin with Greek and Cyrillic letters, whose first bytes are 0xCE to 0xD3.
  static func words(in dictionary: WordDictionary) -> Range<Int> {
    dictionary.words(beginningWith: [0xCE]).lowerBound..<dictionary.words(beginningWith: [0xD4]).lowerBound
  }

  /// Returns a Boolean value that indicates whether a word is looked for in other letters.
  static func isLatin(_ word: ContiguousArray<UInt8>) -> Bool {
    word.count >= leastLetters && word.allSatisfy { $0 &- UInt8(ascii: "a") < 26 }
  }

  /// Returns the words of Cyrillic and Greek letters that are written with the letters of a Latin word, or begin with
  /// them if it is being typed.
  ///
  /// - Parameters:
  ///   - range: the words of the dictionary that begin with Cyrillic and Greek letters.
  ///   - isRestricted: a Boolean value that indicates whether words must not decide on others.
  func words(
    for word: ContiguousArray<UInt8>, isBeginning: Bool, in range: Range<Int>, of dictionary: WordDictionary,
    isRestricted: Bool, _ limit: SearchLimit
  ) -> ContiguousArray<Range<Int>> {
    guard !range.isEmpty, Self.isLatin(word) else { return [] }
    return word.withUnsafeBufferPointer { word in
      var walk = Walk(
        dictionary: dictionary, forms: UnsafeBufferPointer(forms), starts: UnsafeBufferPointer(starts), word: word,
        isBeginning: isBeginning, maximumSteps: isRestricted ? Self.maximumStepsOfRestricted : Self.maximumSteps)
      walk.visit(range, depth: 0, index: 0)
      limit.spend(Self.stepsPerNode * walk.steps)
      return walk.found
    }
  }

  /// Returns a Boolean value that indicates whether a word of other letters is written with those of a Latin word.
  ///
  /// - Parameter isBeginning: a Boolean value that indicates whether the Latin word may be the beginning of one.
  /// - Complexity: the number of letters of one word times that of the other.
  func isForm(
    _ latin: ContiguousArray<UInt8>, of word: UnsafeBufferPointer<UInt8>, isBeginning: Bool = false
  ) -> Bool {
    guard Self.isLatin(latin), latin.count < UInt64.bitWidth, let first = word.first, 0xCE...0xD3 ~= first else {
      return false
    }
    // The numbers of Latin letters that the first bytes of the word are written with, as bits, by the number of bytes.
    var reached = ContiguousArray<UInt64>(repeating: 0, count: word.count + 1)
    reached[0] = 1
    for depth in word.indices where reached[depth] != 0 {
      func follow(_ numbers: Range<Int>, from index: Int) {
        for form in forms[numbers]
        where latin[index...].starts(with: form.latin) && word[depth...].starts(with: form.letters) {
          reached[depth + form.letters.count] |= 1 << UInt64(index + form.latin.count)
        }
      }
      for index in 0...latin.count where reached[depth] & 1 << UInt64(index) != 0 {
        if index < latin.count {
          let letter = Int(latin[index] - UInt8(ascii: "a"))
          follow(starts[letter]..<starts[letter + 1], from: index)
        }
        if depth > 0 { follow(starts[Self.omittedLetters]..<starts[Self.omittedLetters + 1], from: index) }
      }
    }
    let end: UInt64 = 1 << UInt64(latin.count)
    return isBeginning ? reached.contains { $0 & end != 0 } : reached[word.count] & end != 0
  }

  /// A walk through the words of a dictionary with common beginnings.
  private struct Walk {
    let dictionary: WordDictionary
    let forms: UnsafeBufferPointer<Form>
    let starts: UnsafeBufferPointer<Int>
    let word: UnsafeBufferPointer<UInt8>
    let isBeginning: Bool
    let maximumSteps: Int
    var steps = 0
    var found: ContiguousArray<Range<Int>> = []

    /// Visits the words of a range, which have their first bytes in common.
    ///
    /// - Parameters:
    ///   - depth: the number of common bytes.
    ///   - index: the number of Latin letters that they are written with.
    mutating func visit(_ range: Range<Int>, depth: Int, index: Int) {
      if index < word.count {
        let letter = Int(word[index] - UInt8(ascii: "a"))
        follow(starts[letter]..<starts[letter + 1], range, depth: depth, index: index)
      } else if isBeginning {
        return add(range)
      } else if dictionary.word(range.lowerBound).count == depth {
        add(range.lowerBound..<range.lowerBound + 1)
      }
      if depth > 0 {
        follow(
          starts[LatinLetters.omittedLetters]..<starts[LatinLetters.omittedLetters + 1], range, depth: depth,
          index: index)
      }
    }

    private mutating func follow(_ numbers: Range<Int>, _ range: Range<Int>, depth: Int, index: Int) {
      for number in numbers where begins(forms[number].latin, at: index) && steps < maximumSteps {
        steps += 1
        let words = dictionary.words(in: range, after: depth, beginningWith: forms[number].prefix)
        if words.isEmpty { continue }
        visit(words, depth: depth + forms[number].letters.count, index: index + forms[number].latin.count)
      }
    }

    private func begins(_ latin: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
      guard index + latin.count <= word.count else { return false }
      for offset in latin.indices where latin[offset] != word[index + offset] { return false }
      return true
    }

    private mutating func add(_ words: Range<Int>) {
      if found.count < LatinLetters.maximumRanges, !found.contains(words) { found.append(words) }
    }
  }
}
