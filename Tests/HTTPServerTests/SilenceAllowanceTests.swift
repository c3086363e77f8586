import NIOCore
import Testing

@testable import HTTPServer

@Suite struct SilenceAllowanceTests {
  private let start = NIODeadline.uptimeNanoseconds(0)

  private var allowance: SilenceAllowance {
    var timeouts = HTTPServerConfiguration.Timeouts()
    timeouts.write = .seconds(20)
    return SilenceAllowance(timeouts, at: start)
  }

  @Test func clientWithoutAcknowledgementsHasEarnedNoTime() {
    var allowance = allowance

    #expect(allowance.remaining(acknowledgedBytes: 0, at: start) == .zero)
    #expect(allowance.remaining(acknowledgedBytes: 0, at: start + .hours(1)) == .zero)
  }

  @Test func acknowledgedBytesEarnTimeThatElapses() {
    var allowance = allowance

    let left = [0, 10, 39, 40, 41].map { second in
      allowance.remaining(acknowledgedBytes: 400 * 1024, at: start + .seconds(second)).nanoseconds / 1_000_000_000
    }

    #expect(left == [40, 30, 1, 0, 0])
  }

  @Test(arguments: [1024 * 1024, 1 << 40, .max])
  func earnedTimeIsCappedAtFivePeriods(bytes: Int) {
    var allowance = allowance

    #expect(allowance.remaining(acknowledgedBytes: bytes, at: start) == .seconds(100))
    #expect(allowance.remaining(acknowledgedBytes: bytes, at: start + .seconds(100)) == .zero)
  }

  /// A reader at the least rate whose system acknowledges in steps of one size, or of varying ones, looked at now and
  /// then.
  @Test(arguments: [[390_000], [800_000], [1_000_000], [60_000, 800_000, 100, 390_000]], [1, 7, 20])
  func steadyReaderNeverTimesOutBetweenSteps(steps: [Int], interval: Int) {
    var allowance = allowance
    var acknowledged = 4 << 20
    var read = 0
    var pending = steps[0]
    var index = 0
    var isLate = false
    for second in 0..<100_000 {
      read += SilenceAllowance.bytesPerSecond
      while read >= pending {
        acknowledged += steps[index % steps.count]
        index += 1
        pending += steps[index % steps.count]
      }
      if second % interval == 0 {
        let left = allowance.remaining(
          acknowledgedBytes: acknowledged, at: start + .seconds(Int64(second)))
        if left == .zero { isLate = true }
      }
    }

    #expect(!isLate)
  }
}
