import Basics
import Testing

@Suite struct DurationTests {
  @Test(
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.milliseconds(15_000), 15_000_000_000),
      (.seconds(3600), 3_600_000_000_000), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
      (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
      (Duration(secondsComponent: 20, attosecondsComponent: 1_999_999_999), 20_000_000_001),
    ] as [(Duration, Int64)])
  func wholeNanosecondsAreRoundedTowardsZero(duration: Duration, expected: Int64) {
    #expect(duration.wholeNanoseconds == expected)
  }
}
