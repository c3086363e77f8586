import ArgumentParser
import Geo
import PointIndex
import Points
import SearchWords
import SyntheticData

/// `waymark-bench search-recall`: whether places are found by names with edits.
struct SearchRecallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "search-recall",
    abstract: "Searches places by their names with random edits, and writes the ranks at which they are found.",
    discussion: """
      Reads a place a line from standard input: its name, latitude, longitude and alternative names, separated by tabs. \
      Writes a line for each text: the number of edits, the line of the place from 0, the rank without and with its \
      location as bias (0 where it is not among the first five), the name, the text, and the first five names without \
      bias.
      """
  )

  @Option(help: "The number of names that are drawn.") var names = 2_000
  @Option(help: "The same seed gives the same edits.") var seed: UInt64 = 1

  func run() throws {
    var drafts: [PointDraft] = []
    while let line = readLine() {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard fields.count > 2, let latitude = Double(fields[1]), let longitude = Double(fields[2]) else {
        throw ValidationError("a line must have a name, a latitude and a longitude, got '\(line.prefix(100))'")
      }
      let tags = fields.dropFirst(3).enumerated().map { (key: "name:\($0)", value: $1) }
      drafts.append(
        try PointDraft(
          name: fields[0], coordinate: try Coordinate(latitude: latitude, longitude: longitude), tags: try Tags(tags)))
    }
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let snapshot = PointSnapshot(
      ContiguousArray(
        drafts.enumerated().map { index, draft in
          PointOfInterest(
            id: PointID(high: 0, low: UInt64(index)), draft: draft, version: 1, createdAt: time, updatedAt: time)
        }))
    var random = SeededGenerator(seed: seed)
    for edits in [1, 2] {
      for _ in 0..<names {
        guard
          let index = drafts.indices.filter({ edits == 1 || drafts[$0].name.count >= 8 })
            .randomElement(using: &random)
        else { continue }
        let draft = drafts[index]
        let text = draft.name.edited(edits, using: &random)
        if NormalizedText(text).isEmpty { continue }
        let plain = snapshot.matches(of: TextQuery(text: text, limit: 5)).matches
        let biased = snapshot.matches(
          of: TextQuery(text: text, bias: LocationBias(center: draft.coordinate), limit: 5)
        ).matches
        func rank(_ matches: [TextMatch]) -> Int {
          (matches.firstIndex { $0.point.id.low == UInt64(index) } ?? -1) + 1
        }
        let found = plain.map(\.point.draft.name).joined(separator: "\t")
        print("\(edits)\t\(index)\t\(rank(plain))\t\(rank(biased))\t\(draft.name)\t\(text)\t\(found)")
      }
    }
  }
}
