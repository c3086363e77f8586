public import Foundation
public import Observation

/// The places around the device, as a list shows them. It reloads when the user has said whether the app may know where
/// it is.
@MainActor
@Observable
public final class PlaceListModel {
  /// The places, nearest first: those of the last time that there were any.
  public private(set) var places: [PointOfInterest] = []

  /// Whether ``places`` were served by a cache, because the service can't be reached.
  public private(set) var isStale = false

  /// Why the last reload brought nothing; `nil` where it did.
  public private(set) var error: (any Error)?

  /// Whether a reload is under way.
  public var isLoading: Bool { reloads > 0 }

  private var reloads = 0

  /// How many reloads there were. Of those that overlap, the last one counts, whichever is answered first.
  @ObservationIgnored private var newestReload = 0
  @ObservationIgnored private let location: @MainActor () async throws -> Coordinate
  @ObservationIgnored private let loader: any APILoading<Coordinate, [PointOfInterest]>
  @ObservationIgnored private var observation: NotificationObservation?

  /// Creates a model, which has no places yet.
  ///
  /// - Parameters:
  ///   - locationProvider: what tells where the device is.
  ///   - loader: what asks the service, an ``APIRequestLoader`` of ``PointsOfInterestRequest``.
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

  /// Finds out where the device is and what is around it. What goes wrong is ``error`` afterwards; the places stay.
  public func reload() async {
    newestReload += 1
    let reload = newestReload
    reloads += 1
    defer { reloads -= 1 }
    do {
      let answer = try await loader.load(requestData: try await location())
      guard reload == newestReload else { return }
      (places, isStale, error) = (answer.value, answer.isStale, nil)
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }
}
