import Points
import ServiceLifecycle

/// Sums up and logs the searches until the process is told to stop, and what is left then.
struct AnalyticsService: Service {
  let analytics: LogAnalytics

  func run() async throws {
    await cancelWhenGracefulShutdown { await analytics.run() }
  }
}
