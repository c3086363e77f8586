import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct CandidateHeapTests {
  private static func candidate(_ distance: Double, _ id: UInt64) -> Candidate {
    Candidate(distance: distance, id: .sample(id), part: 0, slot: UInt32(id))
  }

  @Test(arguments: [1, 2, 3, 10, 99, 100, 101])
  func firstCandidatesAreKeptForEveryOrderOfOffers(capacity: Int) {
    var generator = SeededGenerator(seed: UInt64(capacity))
    // Every distance twice, so that ids decide too.
    let candidates = (0..<100).map { Self.candidate(Double($0 / 2), UInt64($0)) }
    var heap = CandidateHeap(capacity: capacity)

    for candidate in candidates.shuffled(using: &generator) { heap.offer(candidate) }

    let (isFull, last) = (heap.isFull, heap.last)
    let kept = heap.removeAllSorted()
    #expect(isFull == (capacity <= 100))
    #expect(last.slot == UInt32(min(capacity, 100) - 1))
    #expect(kept.map(\.slot) == candidates.prefix(capacity).map(\.slot))
  }

  @Test func offerReturnsWhetherTheCandidateIsAmongTheFirst() {
    var heap = CandidateHeap(capacity: 2)

    let distancesAndIDs: [(Double, UInt64)] = [(5, 1), (3, 2), (5, 1), (5, 9), (5, 0), (1, 9)]
    var results: [Bool] = []
    for (distance, id) in distancesAndIDs { results.append(heap.offer(Self.candidate(distance, id))) }

    #expect(results == [true, true, false, false, true, true])
  }
}
