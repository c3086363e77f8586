/// What there is to say of a metric that its name does not.
public struct MetricDescription: Hashable, Sendable {
  /// Upper bounds in seconds for what may take from 100 µs to 10 s, about two and a half times apart.
  public static let latencyBuckets: [Double] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]

  /// The metric's name, unit included, as handles are labelled with it.
  public let name: String

  /// What it is, in a sentence for operators.
  public let help: String

  /// A histogram's upper bounds, ascending and finite; the one beyond all bounds comes by itself.
  public let buckets: [Double]

  /// Creates a description.
  public init(_ name: String, _ help: String, buckets: [Double] = Self.latencyBuckets) {
    precondition(
      buckets.allSatisfy(\.isFinite) && zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 },
      "the bounds of \(name) must be finite and ascend")
    self.name = name
    self.help = help
    self.buckets = buckets
  }
}
