import ArgumentParser
import Foundation
import Geo
import PointIndex
import Points
import SyntheticData

/// `waymark-bench worst-text`: a search over generated texts for the one whose search is the most work.
struct WorstTextCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "worst-text",
    abstract: "Looks for the texts of 200 characters whose search by name is the most work, by hill climbing.",
    discussion: """
      Starts with misspelt frequent words of the synthetic places, and changes words and letters as long as the search \
      has more steps. Writes the worst text of each start with its steps and the processor time of its search, and of \
      every text of a file where one is given. The same seed gives the same texts, unless the time ends first.
      """
  )

  @Argument(help: "The number of synthetic places.") var places = 1_000_000
  @Option(help: "The seed of the texts.") var seed: UInt64 = 1
  @Option(help: "The number of texts to start with.") var starts = 12
  @Option(help: "The number of changes of each text.") var changes = 150
  @Option(help: "The longest time of all searches, in seconds.") var seconds = 120.0
  @Option(help: "The longest time of a search, in milliseconds: more is an error.") var atMost: Double?
  @Option(help: "The number of words that all names consist of, two to four each; 0 for names of many languages.")
  var words = 0
  @Option(help: "A file of texts to measure first, one on each line.") var file: String?

  private static let vocabulary = """
    museum restaurant cafe street park school church library station pharmacy market bakery theatre hospital hotel bank \
    garden bridge square tower castle palace central royal north south east west green river mountain valley lake beach \
    island harbour airport terminal university college academy institute cathedral monastery chapel temple memorial \
    monument fountain gallery cinema stadium arena playground parking police post office town hall
    """.split(whereSeparator: \.isWhitespace).map(String.init)

  func validate() throws {
    guard (0...Self.vocabulary.count).contains(words) else {
      throw ValidationError("words must be 0 to \(Self.vocabulary.count), got \(words)")
    }
    if places < 1_000 { throw ValidationError("places must be at least 1000, got \(places)") }
  }

  func run() throws {
    let (snapshot, samples) = try TextIndexCommand.snapshot(
      places: places, samples: 2_000, words: Array(Self.vocabulary.prefix(words)))
    let center = samples[0].draft.coordinate
    var worst = Duration.zero
    func report(_ name: String, _ query: TextQuery) {
      let durations = (0..<3).map { _ in ThreadTime.measure { _ = snapshot.matches(of: query) } }.sorted()
      worst = max(worst, durations[1])
      let form = (query.bias == nil ? "" : ", biased") + (query.completesLastWord ? ", autocomplete" : "")
      print("\(name)\(form): \(Int(durations[1] / .microseconds(1))) µs, \(query.text)")
    }
    if let file {
      let lines = try String(contentsOf: URL(filePath: file), encoding: .utf8).split(separator: "\n")
      for line in lines { report("given", TextQuery(text: String(line))) }
    }
    var generator = TextMutator(names: samples.map(\.draft.name), seed: seed)
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    for start in 0..<starts where clock.now < end {
      var best = generator.start(center)
      var cost = Self.cost(best, snapshot)
      for _ in 0..<changes where clock.now < end {
        let next = generator.mutated(best, center)
        let nextCost = Self.cost(next, snapshot)
        if nextCost > cost { (best, cost) = (next, nextCost) }
      }
      report("\(start + 1), \(cost) steps", best)
    }
    print("worst: \(worst / .milliseconds(1)) ms")
    if let atMost, worst > .milliseconds(atMost) { throw ExitCode.failure }
  }

  private static func cost(_ query: TextQuery, _ snapshot: PointSnapshot) -> Int {
    snapshot.steps(of: query)
  }
}

/// A generator of texts of up to 200 characters and of changes of them.
private struct TextMutator {
  private let frequent: [String]
  private let rare: [String]
  private var random: SeededGenerator

  init(names: [String], seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var counts: [String: Int] = [:]
    for name in names {
      for word in name.split(separator: " ") { counts[word.lowercased(), default: 0] += 1 }
    }
    let words = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
    frequent = Array(words.prefix(120))
    rare = Array(words.dropFirst(120))
  }

  /// Returns a text of misspelt frequent words.
  mutating func start(_ center: Coordinate) -> TextQuery {
    let count = Int.random(in: 1...40, using: &random)
    let words = (0..<count).map { _ in word() }
    return query(words, completes: Bool.random(using: &random), center: Bool.random(using: &random) ? center : nil)
  }

  /// Returns a text with one to three changes.
  mutating func mutated(_ query: TextQuery, _ center: Coordinate) -> TextQuery {
    var words = query.text.split(separator: " ").map(String.init)
    var completes = query.completesLastWord
    var bias = query.bias?.center
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let index = words.indices.randomElement(using: &random) ?? 0
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: words.insert(word(), at: index)
      case 2, 3: if !words.isEmpty { words[index] = word() }
      case 4: if words.count > 1 { words.remove(at: index) }
      case 5: if !words.isEmpty { words.append(words[index]) }
      case 6, 7, 8: if !words.isEmpty { words[index] = words[index].edited(1, using: &random) }
      case 9:
        if index + 1 < words.count { words.replaceSubrange(index...index + 1, with: [words[index] + words[index + 1]]) }
      case 10: words.shuffle(using: &random)
      default:
        if Bool.random(using: &random) { completes.toggle() } else { bias = bias == nil ? center : nil }
      }
    }
    return self.query(words, completes: completes, center: bias)
  }

  /// Returns a word with up to two edits.
  private mutating func word() -> String {
    let isRare = Int.random(in: 0..<6, using: &random) == 0
    let word = (isRare ? rare : frequent).randomElement(using: &random) ?? "museum"
    return word.edited(Int.random(in: 0...2, using: &random), using: &random)
  }

  private func query(_ words: [String], completes: Bool, center: Coordinate?) -> TextQuery {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: words.joined(separator: " ").unicodeScalars.prefix(TextQuery.maximumLength))
    return TextQuery(
      text: String(text), completesLastWord: completes, bias: center.map { LocationBias(center: $0) })
  }
}
