import Dispatch
import Synchronization
import Testing

@testable import Basics

/// Tests of work that is divided between processors.
@Suite struct ParallelTests {
  @Test(arguments: [true, false])
  func resultsAreThoseOfTheirClosures(isWorthIt: Bool) {
    for number in 0..<200 {
      let (first, second) = Parallel.both(where: isWorthIt) {
        number
      } and: {
        "\(number)"
      }

      #expect(first == number)
      #expect(second == "\(number)")
    }
  }

  @Test func workThatIsDividedAgainEndsWithEachPartDoneOnce() {
    let counts = Mutex([Int](repeating: 0, count: 1_000))

    divide(0..<1_000) { number in counts.withLock { $0[number] += 1 } }

    #expect(counts.withLock { $0 }.allSatisfy { $0 == 1 })
  }

  private func divide(_ range: Range<Int>, _ body: @escaping @Sendable (Int) -> Void) {
    guard range.count > 1 else { return range.forEach(body) }
    let middle = range.lowerBound + range.count / 2
    _ = Parallel.both(where: true) {
      divide(range.lowerBound..<middle, body)
    } and: {
      divide(middle..<range.upperBound, body)
    }
  }

  @Test func partsOfDividedWorkRunAtTheSameTime() {
    let (outerResult, _) = Parallel.both(where: true) {
      // Each waits for the other one.
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      return Parallel.both(where: true) {
        first.signal()
        return second.wait(timeout: .now() + 120)
      } and: {
        second.signal()
        return first.wait(timeout: .now() + 120)
      }
    } and: {
      0
    }

    #expect(outerResult == (.success, .success))
  }
}
