import ArgumentParser
import Geo
import PointIndex
import Points
import SearchWords
import SyntheticData

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// `waymark-bench text-index`: the build, the memory and the searches of the index of words.
struct TextIndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "text-index",
    abstract: "Measures searches by name among synthetic places of many languages, in process on one thread.",
    discussion: """
      Writes the duration of the build, the bytes a place of the index of words, and of each kind of text the searches a \
      second with the median, the 99th percentile and the maximum in microseconds, all by the processor time of the \
      thread.
      """
  )

  @Argument(help: "The number of synthetic places.") var places = 1_000_000
  @Option(help: "The number of texts of each kind.") var texts = 2_000

  @Option(help: "A part of the names of the kinds of texts to measure; all by default.") var kind = ""

  @Flag(name: .customLong("verbose"), help: "Write the slowest texts too.") var isVerbose = false

  func validate() throws {
    if places < 1_000 { throw ValidationError("places must be at least 1000, got \(places)") }
  }

  func run() throws {
    let (snapshot, samples) = try Self.snapshot(places: places, samples: texts)
    var random = SeededGenerator(seed: 3)
    for kind in TextKind.allCases where self.kind.isEmpty || kind.rawValue.contains(self.kind) {
      var durations: [Duration] = []
      var matches = 0
      let queries = samples.map { kind.query(for: $0.draft, using: &random) }
      for query in queries {
        durations.append(ThreadTime.measure { matches += snapshot.matches(of: query).matches.count })
      }
      let total = durations.reduce(.zero, +)
      if isVerbose {
        for (query, duration) in zip(queries, durations).sorted(by: { $0.1 > $1.1 }).prefix(15) {
          print("  \(Int(duration / .microseconds(1))) µs: \(query.text)")
        }
      }
      durations.sort()
      let microseconds = { (index: Int) in Int(durations[min(index, durations.count - 1)] / .microseconds(1)) }
      print(
        "\(kind.rawValue): \(Int(Double(queries.count) / (total / .seconds(1)))) a second, median "
          + "\(microseconds(queries.count / 2)), p99 \(microseconds(queries.count * 99 / 100)), "
          + "maximum \(microseconds(queries.count - 1)) µs, \(matches / queries.count) matches")
    }
    for (name, text) in TextKind.worstCases {
      for isBiased in [false, true] {
        let bias = isBiased ? LocationBias(center: samples[0].draft.coordinate) : nil
        for completes in [false, true] {
          let query = TextQuery(text: text, completesLastWord: completes, bias: bias)
          let duration = ThreadTime.measure { _ = snapshot.matches(of: query) }
          print(
            "\(name)\(isBiased ? ", biased" : "")\(completes ? ", autocomplete" : ""): "
              + "\(Int(duration / .microseconds(1))) µs")
        }
      }
    }
  }

  /// Returns synthetic places, and some of them in random order. Writes the time of the build and the bytes of the
  /// words.
  ///
  /// - Parameter words: the words of which each place has two to four as its name; none for names of many languages.
  static func snapshot(
    places: Int, samples count: Int, words: [String] = []
  ) throws -> (snapshot: PointSnapshot, samples: [ImportRow]) {
    var synthetic = try SyntheticPoints(seed: 1, content: .names)
    var random = SeededGenerator(seed: 2)
    var buffer = PointBuffer()
    var samples: [ImportRow] = []
    for start in stride(from: 0, to: places, by: 10_000) {
      var rows = try synthetic.rows(count: min(10_000, places - start))
      if !words.isEmpty {
        for index in rows.indices {
          let count = Int.random(in: 2...4, using: &random)
          let name = (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
          rows[index] = ImportRow(
            number: rows[index].number, id: nil,
            draft: try PointDraft(name: name, coordinate: rows[index].draft.coordinate))
        }
      }
      samples += rows.shuffled(using: &random).prefix(max(1, count * 10_000 / places + 1))
      for row in rows {
        let time = Timestamp(microsecondsSinceEpoch: 1_750_000_000_000_000 + Int64(row.number) * 50)
        buffer.append(
          PointOfInterest(
            id: PointID(at: time, using: &random), draft: row.draft, version: Int64(row.number), createdAt: time,
            updatedAt: time))
      }
    }
    let clock = ContinuousClock()
    let start = clock.now
    let snapshot = PointSnapshot(consume buffer)
    print("build: \((clock.now - start).formattedSeconds) s")
    for part in snapshot.memory where part.name == "words" {
      print("words: \(part.bytes / places) bytes a place")
    }
    samples.shuffle(using: &random)
    return (snapshot, Array(samples.prefix(count)))
  }
}

/// The processor time of the current thread, which other programs disturb less than a clock's.
enum ThreadTime {
  static func measure(_ body: () -> Void) -> Duration {
    let start = nanoseconds()
    body()
    return .nanoseconds(nanoseconds() - start)
  }

  private static func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension Duration {
  var formattedSeconds: String { String(((self / .seconds(1)) * 100).rounded() / 100) }
}

/// The kinds of texts that are searched.
private enum TextKind: String, CaseIterable {
  case fullNames = "1 to 4 words of a name, biased"
  case fullNamesUnbiased = "1 to 4 words of a name"
  case oneTypo = "a name with one edit, biased"
  case twoTypos = "a name with two edits, biased"
  case threeLetters = "autocomplete at 3 letters"
  case threeLettersBiased = "autocomplete at 3 letters, biased"
  case filtered = "a word in a box"

  static let worstCases: [(String, String)] = [
    ("a", "a"), ("hotel", "hotel"), ("ap", "ap"), ("two frequent beginnings", "h c"),
    ("aaaa", "aaaaaaaa"), ("200 letters", String(repeating: "x", count: 200)),
    ("nonsense", (0..<25).map { "qz\(["vxkw", "jqxy", "wvzk"][$0 % 3])" }.joined(separator: " ")),
    ("200 characters of han", String(repeating: "東京", count: 100)),
    ("200 characters of frequent words", String(repeating: "hotel cafe ", count: 18)),
    ("long word with two edits", "wenchesterfird"),
  ]

  func query(for place: PointDraft, using random: inout SeededGenerator) -> TextQuery {
    let words = Array(place.name.split(separator: " ").prefix(4)).map(String.init)
    let bias = LocationBias(center: place.coordinate)
    switch self {
    case .fullNames: return TextQuery(text: words.joined(separator: " "), bias: bias)
    case .fullNamesUnbiased: return TextQuery(text: words.joined(separator: " "))
    case .oneTypo: return TextQuery(text: place.name.edited(1, using: &random), bias: bias)
    case .twoTypos: return TextQuery(text: place.name.edited(2, using: &random), bias: bias)
    case .threeLetters: return TextQuery(text: String(place.name.prefix(3)), completesLastWord: true, limit: 10)
    case .threeLettersBiased:
      return TextQuery(text: String(place.name.prefix(3)), completesLastWord: true, bias: bias, limit: 10)
    case .filtered:
      let (latitude, longitude) = (place.coordinate.latitude, place.coordinate.longitude)
      let box = try? BoundingBox(
        west: max(-180, longitude - 0.1), south: max(-90, latitude - 0.1), east: min(180, longitude + 0.1),
        north: min(90, latitude + 0.1))
      return TextQuery(text: words[0], filters: PointQuery(box: box))
    }
  }
}

/// `waymark-bench texts`: texts to search for.
struct TextsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "texts",
    abstract: "Writes texts to search for among the places with names: kind, text, latitude and longitude, with tabs."
  )

  @Argument(help: "The number of places.") var places: Int
  @Option(help: "The number of texts of each kind.") var texts = 2_000
  @Option(help: "The seed of the places.") var seed: UInt64 = 1

  func run() throws {
    var synthetic = try SyntheticPoints(seed: seed, content: .names)
    var random = SeededGenerator(seed: seed + 1)
    var samples: [PointDraft] = []
    for start in stride(from: 0, to: places, by: 10_000) {
      let rows = try synthetic.rows(count: min(10_000, places - start))
      samples += rows.shuffled(using: &random).prefix(max(1, texts * 10_000 / places + 1)).map(\.draft)
    }
    samples.shuffle(using: &random)
    let kinds: [(String, TextKind)] = [
      ("name", .fullNames), ("typo", .oneTypo), ("autocomplete", .threeLetters), ("box", .filtered),
    ]
    for (name, kind) in kinds {
      for place in samples.prefix(texts) {
        let text = kind.query(for: place, using: &random).text
        if NormalizedText(text).isEmpty { continue }
        print("\(name)\t\(text)\t\(place.coordinate.latitude)\t\(place.coordinate.longitude)")
      }
    }
  }
}
