import ArgumentParser
import Basics
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
      Starts with misspelt frequent words of the synthetic places, and changes words, letters, conditions (a category, a \
      source, a box) and the order as long as the search has more steps. Writes the worst text of each start with its steps and the processor time of its search, and of \
      every text of a file where one is given. The same seed gives the same texts, unless the time ends first.
      """
  )

  @Argument(help: "The number of synthetic places.") var places = 1_000_000
  @Option(help: "The seed of the texts.") var seed: UInt64 = 1
  @Option(help: "The number of texts to start with.") var starts = 12
  @Option(help: "The number of changes of each text.") var changes = 150
  @Option(help: "The longest time of all searches, in seconds.") var seconds = 120.0
  @Option(help: "The longest time of a search, in milliseconds: more is an error.") var atMost: Double?
  @Option(help: "The maximum number of steps of a search: more is an error.") var stepsAtMost: Int?
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
    // Its index is built once.
    _ = try snapshot.count(matching: PointQuery(source: TextMutator.source))
    var (worst, mostSteps) = (Duration.zero, 0)
    func report(_ name: String, _ query: TextQuery) {
      let durations = (0..<3).map { _ in ThreadTime.measure { _ = snapshot.matches(of: query) } }.sorted()
      worst = max(worst, durations[1])
      mostSteps = max(mostSteps, snapshot.steps(of: query))
      print("\(name)\(query.form): \(Int(durations[1] / .microseconds(1))) µs, \(query.text)")
    }
    if let file {
      let lines = try String(contentsOf: URL(filePath: file), encoding: .utf8).split(separator: "\n")
      for line in lines { report("given", TextQuery(text: String(line))) }
    }
    var generator = TextMutator(samples, seed: seed)
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    for start in 0..<starts where clock.now < end {
      var best = generator.start()
      var cost = snapshot.steps(of: best)
      for _ in 0..<changes where clock.now < end {
        let next = generator.mutated(best)
        let nextCost = snapshot.steps(of: next)
        if nextCost > cost { (best, cost) = (next, nextCost) }
      }
      report("\(start + 1), \(cost) steps", best)
    }
    print("worst: \(worst / .milliseconds(1)) ms, \(mostSteps) steps")
    if let atMost, worst > .milliseconds(atMost) { throw ExitCode.failure }
    if let stepsAtMost, mostSteps > stepsAtMost { throw ExitCode.failure }
  }
}

extension TextQuery {
  /// The conditions and the order of the query.
  fileprivate var form: String {
    var form = ""
    if order == .distance { form += ", by distance" } else if bias != nil { form += ", biased" }
    if completesLastWord { form += ", autocomplete" }
    if let category = filters.categories.first { form += ", category \(category.text)" }
    if let source = filters.source { form += ", source \(source.name.text)" }
    if let box = filters.box { form += ", box \(box.west),\(box.south),\(box.east),\(box.north)" }
    return form
  }
}

/// A generator of searches for texts of up to 200 characters and of changes of them.
private struct TextMutator {
  private let frequent: [String]
  private let rare: [String]
  private let samples: [ImportRow]
  private var random: SeededGenerator

  /// The source of all synthetic places.
  static let source = PointQuery.Source(name: "synthetic")

  init(_ samples: [ImportRow], seed: UInt64) {
    self.samples = samples
    random = SeededGenerator(seed: seed)
    var counts: [String: Int] = [:]
    for sample in samples {
      for word in sample.draft.name.split(separator: " ") { counts[word.lowercased(), default: 0] += 1 }
    }
    let words = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
    frequent = Array(words.prefix(120))
    rare = Array(words.dropFirst(120))
  }

  /// Returns a search for misspelt frequent words.
  mutating func start() -> TextQuery {
    let count = Int.random(in: 1...40, using: &random)
    var query = TextQuery(text: Self.text((0..<count).map { _ in word() }))
    for _ in 0..<Int.random(in: 0...4, using: &random) { changeConditions(of: &query) }
    return query
  }

  /// Returns a search with one to three changes.
  mutating func mutated(_ query: TextQuery) -> TextQuery {
    var query = query
    var words = query.text.split(separator: " ").map(String.init)
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let index = words.indices.randomElement(using: &random) ?? 0
      switch Int.random(in: 0..<14, using: &random) {
      case 0, 1: words.insert(word(), at: index)
      case 2, 3: if !words.isEmpty { words[index] = word() }
      case 4: if words.count > 1 { words.remove(at: index) }
      case 5: if !words.isEmpty { words.append(words[index]) }
      case 6, 7, 8: if !words.isEmpty { words[index] = words[index].edited(1, using: &random) }
      case 9:
        if index + 1 < words.count { words.replaceSubrange(index...index + 1, with: [words[index] + words[index + 1]]) }
      case 10: words.shuffle(using: &random)
      default: changeConditions(of: &query)
      }
    }
    query.text = Self.text(words)
    return query
  }

  /// Sets or removes a condition, or changes the order.
  private mutating func changeConditions(of query: inout TextQuery) {
    guard let sample = samples.randomElement(using: &random)?.draft else { return }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: query.completesLastWord.toggle()
    case 1: query.bias = query.bias == nil ? LocationBias(center: sample.coordinate) : nil
    case 2:
      query.order = query.order == .distance ? .relevance : .distance
      query.bias = LocationBias(center: sample.coordinate)
    case 3:
      let category = sample.category.map { [ExactText($0)] } ?? []
      query.filters.categories = query.filters.categories.isEmpty ? Set(category) : []
    case 4: query.filters.source = query.filters.source == nil ? Self.source : nil
    default: query.filters.box = query.filters.box == nil ? box(around: sample.coordinate) : nil
    }
  }

  /// Returns a box of 0.01 to 100 degrees.
  private mutating func box(around center: Coordinate) -> BoundingBox? {
    let half = 0.005 * Double.random(in: 1...100, using: &random) * Double.random(in: 1...100, using: &random)
    return try? BoundingBox(
      west: max(center.longitude - half, -180), south: max(center.latitude - half, -90),
      east: min(center.longitude + half, 180), north: min(center.latitude + half, 90))
  }

  /// Returns a word with up to two edits.
  private mutating func word() -> String {
    let isRare = Int.random(in: 0..<6, using: &random) == 0
    let word = (isRare ? rare : frequent).randomElement(using: &random) ?? "museum"
    return word.edited(Int.random(in: 0...2, using: &random), using: &random)
  }

  private static func text(_ words: [String]) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: words.joined(separator: " ").unicodeScalars.prefix(TextQuery.maximumLength))
    return String(text)
  }
}
