/// Analytics that keep what they are told in memory for a moment, and deal with it on their own time.
public protocol BackgroundAnalytics: Analytics {
  /// How many searches there was no room for, since the start.
  var dropped: Int { get }

  /// Deals with what is told until the task is cancelled, and with what is left then.
  func run() async
}
