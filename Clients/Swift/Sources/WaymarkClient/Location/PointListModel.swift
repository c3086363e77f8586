public import Foundation
public import Observation

/// A model for a list of the places around the device. It reloads when the app's location authorization changes.
@MainActor
@Observable
public final class PointListModel {
  /// The places of the last successful reload, nearest first.
  public private(set) var places: [PointOfInterest] = []

  /// A Boolean value that indicates whether ``places`` come from a cache, because the service is unreachable.
  public private(set) var isStale = false

  /// The error of the last reload; `nil` if it succeeded.
  public private(set) var error: (any Error)?

  /// A Boolean value that indicates whether a reload is in progress.
  public var isLoading: Bool { reloads > 0 }

  private var reloads = 0

  /// The number of the newest reload. Of overlapping reloads only the newest one counts, whichever completes first.
  @ObservationIgnored private var newestReload = 0
  @ObservationIgnored private let location: @MainActor () async throws -> Coordinate
  @ObservationIgnored private let loader: any APILoading<Coordinate, [PointOfInterest]>
  @ObservationIgnored private var observation: NotificationObservation?

  /// Creates a model, which has no places yet.
  ///
  /// - Parameters:
  ///   - locationProvider: the provider of the device's location.
  ///   - loader: the loader, an ``APIRequestLoader`` of ``PointsOfInterestRequest``.
  ///   - notificationCenter: where ``CurrentLocationProvider/authChangedNotification`` is listened for.
  public init(
    locationProvider: CurrentLocationProvider,
    loader: any APILoading<Coordinate, [PointOfInterest]>,
    notificationCenter: NotificationCenter = .default
  ) {
    location = { try await locationProvider.currentLocation() }
    self.loader = loader
    observation = NotificationObservation(
      of: CurrentLocationProvider.authChangedNotification, in: notificationCenter
    ) { [weak self] in
      Task { @MainActor [weak self] in await self?.reload() }
    }
  }

  /// Requests the device's location and loads the places around it. A failure is stored in ``error``; the places stay.
  public func reload() async {
    newestReload += 1
    let reload = newestReload
    reloads += 1
    defer { reloads -= 1 }
    do {
      let response = try await loader.load(requestData: try await location())
      guard reload == newestReload else { return }
      (places, isStale, error) = (response.value, response.isStale, nil)
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }
}

/// An observation of a notification center that ends with this object's lifetime.
final class NotificationObservation {
  private let center: NotificationCenter
  private let token: any NSObjectProtocol

  /// Creates an observation whose handler is called on the posting thread.
  init(of name: Notification.Name, in center: NotificationCenter, handler: @escaping @Sendable () -> Void) {
    self.center = center
    token = center.addObserver(forName: name, object: nil, queue: nil) { _ in handler() }
  }

  deinit {
    center.removeObserver(token)
  }
}
