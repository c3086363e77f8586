#if os(iOS)
  import CoreLocation
  import WaymarkClient

  /// The regions that Core Location monitors, also while the app is in the background: those of places, and the circle
  /// around the user that they have been selected for.
  actor RegionMonitor {
    enum Event: Sendable {
      case arrived(UUID)
      /// The user has left the circle.
      case left
    }

    static let shared = RegionMonitor()

    private static let circle = "circle"
    private static let placeRadiusMetres = 100.0

    /// There may be one monitor of a name at a time.
    private var monitor: CLMonitor?

    /// Monitors the regions in place of those before, until the sequence ends with its task.
    func events(of monitored: MonitoredPlaces, around center: Coordinate) async -> AsyncStream<Event> {
      let monitor = await open()
      for identifier in await monitor.identifiers { await monitor.remove(identifier) }
      await monitor.add(
        Self.condition(center, radiusMetres: monitored.radiusMetres), identifier: Self.circle, assuming: .satisfied)
      for place in monitored.places {
        guard let coordinate = place.coordinate else { continue }
        await monitor.add(
          Self.condition(coordinate, radiusMetres: Self.placeRadiusMetres), identifier: place.id.uuidString,
          assuming: .unsatisfied)
      }
      return AsyncStream { continuation in
        let task = Task {
          for try await event in await monitor.events {
            switch (event.identifier, event.state) {
            case (Self.circle, .unsatisfied): continuation.yield(.left)
            case (let identifier, .satisfied): UUID(uuidString: identifier).map { _ = continuation.yield(.arrived($0)) }
            default: break
            }
          }
          continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
      }
    }

    private func open() async -> CLMonitor {
      if let monitor { return monitor }
      let new = await CLMonitor("Waymark")
      monitor = monitor ?? new
      return monitor ?? new
    }

    private static func condition(
      _ center: Coordinate, radiusMetres: Double
    ) -> CLMonitor.CircularGeographicCondition {
      .init(center: CLLocationCoordinate2D(center), radius: radiusMetres)
    }
  }
#endif
