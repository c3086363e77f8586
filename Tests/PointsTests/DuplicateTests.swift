import Basics
import TestSupport
import Testing

@testable import Points

@Suite struct DuplicateTests {
  private static func id(_ number: UInt64) -> PointID { PointID(high: 0, low: number) }

  private static func candidate(_ first: UInt64, _ second: UInt64, name: Int) throws -> DuplicateCandidate {
    try #require(
      DuplicateCandidate(
        first: id(first), second: id(second), distanceMetres: 0,
        score: DuplicateScore(distance: 1000, name: name, category: nil)))
  }

  @Test func pairIsTheSameInEitherOrderAndReadsItsOwnText() throws {
    let (low, high) = (PointID(high: 1, low: 2), PointID(high: 1, low: 3))
    let pair = try #require(PlacePair(high, low))
    let text = "00000000-0000-0001-0000-000000000002.00000000-0000-0001-0000-000000000003"

    #expect(pair == PlacePair(low, high))
    #expect(pair.description == text)
    #expect(PlacePair(text) == pair)
    #expect(PlacePair(low, low) == nil)
  }

  @Test(arguments: [
    "", ".", "x.y", "00000000-0000-0001-0000-000000000003.00000000-0000-0001-0000-000000000002",
    "00000000-0000-0001-0000-000000000002.00000000-0000-0001-0000-000000000002",
    "00000000-0000-0001-0000-000000000002",
    "00000000-0000-0001-0000-000000000002.00000000-0000-0001-0000-000000000003.",
  ])
  func otherTextsAreNoPairs(text: String) {
    #expect(PlacePair(text) == nil)
  }

  @Test func scoreIsTheWeightedMeanOfTheKnownParts() {
    // (35 · 800 + 50 · 600) / 85 = 682.35
    #expect(DuplicateScore(distance: 800, name: 600, category: nil).total == 682)
    // (35 · 800 + 50 · 600 + 15 · 1000) / 100 = 730
    #expect(DuplicateScore(distance: 800, name: 600, category: 1000).total == 730)
    // (28,000 + 30,000 + 15,000 + 40 · 1000 + 30 · 500 + 20 · 0) / 190 = 673.68
    let all = DuplicateScore(distance: 800, name: 600, category: 1000, phone: 1000, website: 500, address: 0)
    #expect(all.total == 673)
  }

  @Test func eachPlaceIsInItsBestPair() throws {
    let candidates = try [
      Self.candidate(1, 11, name: 700), Self.candidate(1, 12, name: 900), Self.candidate(2, 12, name: 950),
      Self.candidate(2, 11, name: 600), Self.candidate(3, 13, name: 950),
    ]

    let pairs = try DuplicatePair.pairs(among: candidates.shuffled(), [:])

    // Of equal scores the pair with the lesser ids is first.
    #expect(pairs.map(\.candidate) == [candidates[2], candidates[4], candidates[0]])
    #expect(pairs.allSatisfy { $0.state == .open })
  }

  @Test func refutedPairFreesItsPlacesAndConfirmedOneKeepsThem() throws {
    let best = try Self.candidate(1, 11, name: 900)
    let (left, right) = (try Self.candidate(1, 12, name: 800), try Self.candidate(2, 11, name: 700))
    let candidates = [best, left, right]
    func pairs(_ decisions: [PlacePair: DuplicateState], _ states: Set<DuplicateState> = [.open, .confirmed])
      throws -> [DuplicatePair]
    {
      try DuplicatePair.pairs(among: candidates, decisions, in: states)
    }

    #expect(try pairs([:]).map(\.candidate) == [best])
    #expect(try pairs([best.pair: .refuted]).map(\.candidate) == [left, right])
    #expect(try pairs([best.pair: .refuted], [.refuted]).map(\.candidate) == [best])
    #expect(
      try pairs([best.pair: .refuted], Set(DuplicateState.allCases)).map(\.state) == [.refuted, .open, .open])
    #expect(try pairs([left.pair: .confirmed]).map(\.candidate) == [left, right])
    #expect(try pairs([left.pair: .confirmed]).map(\.state) == [.confirmed, .open])
    #expect(try pairs([left.pair: .confirmed], [.open]).map(\.candidate) == [right])
    // A confirmed pair keeps its places where they are no candidates any more.
    let elsewhere = try #require(PlacePair(right.first, PointID(high: 1, low: 99)))
    #expect(try pairs([best.pair: .refuted, elsewhere: .confirmed]).map(\.candidate) == [left])
  }

  @Test func choiceOfPairsEndsAtTheDeadlineOfItsComputation() throws {
    // More comparisons than are made between two looks at the time, in whatever order.
    let candidates = try (1...20_000).map { try Self.candidate($0, 100_000 + $0, name: 900) }

    #expect(throws: PointStoreError.filterTimeout) {
      try ComputationDeadline.$current.withValue(.now) { try DuplicatePair.pairs(among: candidates, [:]) }
    }
    #expect(try DuplicatePair.pairs(among: candidates, [:]).count == 20_000)
  }
}
