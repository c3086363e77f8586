/// How long connections take over requests, as they did of late: a mean in which what is older counts less and less
/// (exponentially weighted).
struct ServiceTime {
  /// What the newest observation weighs.
  private static let weight = 1.0 / 8

  private var meanSeconds: Double?

  /// A connection took so long over so many requests, which it was sent together.
  mutating func observe(_ duration: Duration, requests: Int) {
    let seconds = duration / .seconds(1) / Double(max(1, requests))
    meanSeconds = meanSeconds.map { $0 + (seconds - $0) * Self.weight } ?? seconds
  }

  /// How long who comes now is going to wait behind so many others for one of so many connections; nothing where
  /// nothing was observed.
  func wait(behind waiters: Int, connections: Int) -> Duration {
    .seconds((meanSeconds ?? 0) * Double(waiters) / Double(max(1, connections)))
  }
}
