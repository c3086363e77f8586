import Testing

@testable import Points

@Suite struct FeaturedPlaceTests {
  @Test(arguments: [(0, 0), (9_999_999, 0), (10_000_000, 1), (-1, -1), (-10_000_000, -1), (-10_000_001, -2)])
  func slotsAreTenSecondsLongFromTheEpochOnBothSides(microseconds: Int64, index: Int64) {
    let slot = FeaturedPlace.Slot(at: Timestamp(microsecondsSinceEpoch: microseconds))

    #expect(slot.index == index)
  }

  @Test(arguments: [(0, 10), (1, 10), (1_000_000, 9), (8_999_999, 2), (9_000_000, 1), (9_999_999, 1), (-1, 1)])
  func remainingTimeIsRoundedUpToSeconds(microseconds: Int64, remaining: Int64) {
    let time = Timestamp(microsecondsSinceEpoch: microseconds)

    #expect(FeaturedPlace.Slot(at: time).remainingSeconds(at: time) == remaining)
  }

  @Test func consecutiveSlotsChooseFarApart() {
    let choices = (0..<1000).map { second in
      FeaturedPlace.choice(at: .init(at: Timestamp(microsecondsSinceEpoch: second * 10_000_000)))
    }

    let quarters = Dictionary(grouping: choices) { $0 >> 62 }.mapValues(\.count)

    #expect(Set(choices).count == 1000)
    #expect(quarters.values.allSatisfy { (200...300).contains($0) })
  }
}
