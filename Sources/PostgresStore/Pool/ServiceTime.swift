/// The recent service time of requests, as an exponentially weighted moving average.
struct ServiceTime {
  /// The weight of the newest observation.
  private static let weight = 1.0 / 8

  private var meanSeconds: Double?

  /// Records the time that a connection took for a batch of requests.
  mutating func observe(_ duration: Duration, requests: Int) {
    let seconds = duration / .seconds(1) / Double(max(1, requests))
    meanSeconds = meanSeconds.map { $0 + (seconds - $0) * Self.weight } ?? seconds
  }

  /// Returns the estimated wait of a new request behind a number of others; zero without observations.
  func wait(behind waiters: Int, connections: Int) -> Duration {
    .seconds((meanSeconds ?? 0) * Double(waiters) / Double(max(1, connections)))
  }
}
