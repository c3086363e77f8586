import Points
import ServiceLifecycle

/// Deals with the searches until the process is told to stop, and with what is left then.
struct AnalyticsService: Service {
  let analytics: any BackgroundAnalytics

  func run() async throws {
    await cancelWhenGracefulShutdown { await analytics.run() }
  }
}
