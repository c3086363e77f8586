import ArgumentParser
import Basics
import Foundation
import Geo
import PointIndex
import Points
import SyntheticData

/// `waymark-bench duplicates`: the time to find the places that two data sets share.
struct DuplicatesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "duplicates",
    abstract: "Measures the search for places of two data sets that are likely the same.",
    discussion: """
      The second data set has 70 % of the places of the first, moved by up to 60 m and half of them with an edit in the \
      name, and as many new ones as are missing. The places have names of many languages, addresses, telephone numbers \
      and websites. Writes the seconds of the search by two threads, without the building of the index, and the share of \
      the pairs that are right and of the shared places that are found. Exits with 1 where a bound is exceeded.
      """
  )

  @Option(help: "The number of places of each data set.") var places = 1_000_000
  @Option(help: "The number of seconds that the search may take.") var secondsAtMost: Double?

  private static let sharedPercent = 70

  func validate() throws {
    if places < 100 { throw ValidationError("--places must be at least 100, got \(places)") }
  }

  func run() throws {
    var generator = try SyntheticPoints(seed: 11, townCount: 4000, content: .contacts)
    var random = SeededGenerator(seed: 12)
    var buffer = PointBuffer()
    let shared = places * Self.sharedPercent / 100
    var number: UInt64 = 0
    func append(_ draft: PointDraft, _ source: String, _ key: Int) throws {
      number += 1
      let time = Timestamp(microsecondsSinceEpoch: 0)
      let named = try PointDraft(
        name: draft.name, category: draft.category, coordinate: draft.coordinate, tags: draft.tags, source: source,
        sourceID: "\(key)")
      buffer.append(
        PointOfInterest(
          id: PointID(high: 1, low: number), draft: named, version: 1, createdAt: time, updatedAt: time))
    }
    for (key, row) in try generator.rows(count: places).enumerated() {
      try append(row.draft, "a", key)
      if key < shared { try append(try moved(row.draft, using: &random), "b", key) }
    }
    for (key, row) in try generator.rows(count: places - shared).enumerated() {
      try append(row.draft, "b", places + key)
    }
    let snapshot = PointSnapshot(buffer)
    buffer = PointBuffer()

    var pairs: [DuplicatePair] = []
    let duration = try ContinuousClock().measure {
      pairs = try DuplicatePair.pairs(
        among: snapshot.allDuplicates(matching: DuplicateQuery(source: "a", other: "b")), [:])
    }
    let seconds = duration / .seconds(1)
    var right = 0
    for pair in pairs {
      let ids = [pair.candidate.first, pair.candidate.second].map { snapshot.point(id: $0)?.draft.origin?.sourceID }
      if ids[0] == ids[1] { right += 1 }
    }
    print("duplicates: \(places) against \(places) places in \(text(seconds)) s")
    print("places a second: \(Int(2 * Double(places) / seconds))")
    print(
      "pairs: \(pairs.count), right \(text(100 * Double(right) / Double(max(1, pairs.count)))) %, "
        + "found \(text(100 * Double(right) / Double(shared))) %")
    print("resident memory: \(ResidentMemory.now.bytes >> 20) MiB")
    if let secondsAtMost, seconds > secondsAtMost { throw ExitCode.failure }
  }

  private func text(_ number: Double) -> String { String(format: "%.1f", number) }

  /// Returns a place as another data set may have it.
  private func moved(_ draft: PointDraft, using random: inout SeededGenerator) throws -> PointDraft {
    let degrees = 0.00038
    let north = Double.random(in: -degrees...degrees, using: &random)
    let east = Double.random(in: -degrees...degrees, using: &random)
    let (latitude, longitude) = (draft.coordinate.latitude + north, draft.coordinate.longitude + east)
    let isEdited = Bool.random(using: &random)
    let name = isEdited ? draft.name.edited(1, using: &random) : draft.name
    return try PointDraft(
      name: name.allSatisfy(\.isWhitespace) ? draft.name : name, category: draft.category,
      coordinate: Coordinate(latitude: min(90, max(-90, latitude)), longitude: min(180, max(-180, longitude))),
      tags: draft.tags)
  }
}
