public import Foundation

/// Tells where the device is, and whether there is a place.
///
/// It asks for no permission: when to do that is the app's to know.
@MainActor
public final class CurrentLocationProvider: NSObject {
  /// What is posted when the user has said whether the app may know where it is. Its object is the provider.
  public nonisolated static let authChangedNotification = Notification.Name("WaymarkClientAuthChanged")

  let locationFetcher: any LocationFetcher
  private let services: any LocationServices.Type
  private let checker: any APILoading<Coordinate, PlaceCheck>
  private let notificationCenter: NotificationCenter

  /// Who waits for the one location that was asked for.
  private(set) var waiting: [UUID: CheckedContinuation<Coordinate, any Error>] = [:]

  /// Creates a provider.
  ///
  /// - Parameters:
  ///   - locationFetcher: what finds out where the device is.
  ///   - services: what tells whether the device has locations at all.
  ///   - checker: what asks the service, an ``APIRequestLoader`` of ``PlaceCheckRequest``.
  ///   - desiredAccuracyMetres: how close to the truth a location should be.
  ///   - notificationCenter: where ``authChangedNotification`` is posted.
  public init(
    locationFetcher: any LocationFetcher,
    services: any LocationServices.Type,
    checker: any APILoading<Coordinate, PlaceCheck>,
    desiredAccuracyMetres: Double = 10,
    notificationCenter: NotificationCenter = .default
  ) {
    self.locationFetcher = locationFetcher
    self.services = services
    self.checker = checker
    self.notificationCenter = notificationCenter
    super.init()
    self.locationFetcher.desiredAccuracy = desiredAccuracyMetres
    self.locationFetcher.locationFetcherDelegate = self
  }

  /// Where the device is. Who asks while another waits gets the same answer.
  ///
  /// - Throws: ``LocationError``, what the fetcher fails with, or `CancellationError`.
  public func currentLocation() async throws -> Coordinate {
    guard await Self.isEnabled(services) else { throw LocationError.servicesDisabled }
    let id = UUID()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        waiting[id] = continuation
        if waiting.count == 1 { locationFetcher.requestLocation() }
      }
    } onCancel: {
      Task { @MainActor in self.waiting.removeValue(forKey: id)?.resume(throwing: CancellationError()) }
    }
  }

  /// Whether the device is at a place, and which.
  ///
  /// - Throws: what ``currentLocation()`` and ``APILoading/load(requestData:)`` throw.
  public func checkCurrentLocation() async throws -> PlaceCheck {
    try await checker.load(requestData: try await currentLocation()).value
  }

  /// Finds out whether the device is at a place, and hands it over, or the error.
  ///
  /// - Returns: the check, to cancel it by.
  @discardableResult
  public func checkCurrentLocation(
    completion: @escaping @MainActor (Result<PlaceCheck, any Error>) -> Void
  ) -> Task<Void, Never> {
    Task {
      do {
        completion(.success(try await checkCurrentLocation()))
      } catch {
        completion(.failure(error))
      }
    }
  }

  /// Asks the type away from the main thread, which Core Location wants to be spared of it.
  private nonisolated static func isEnabled(_ services: any LocationServices.Type) async -> Bool {
    services.locationServicesEnabled()
  }

  private func finish(_ result: Result<Coordinate, any Error>) {
    let waiting = waiting
    self.waiting = [:]
    for continuation in waiting.values { continuation.resume(with: result) }
  }
}

extension CurrentLocationProvider: LocationFetcherDelegate {
  /// Answers who waits with the newest location.
  public func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate]) {
    finish(locations.last.map { .success($0) } ?? .failure(LocationError.noLocation))
  }

  /// Answers who waits with the error.
  public func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error) {
    finish(.failure(error))
  }

  /// Posts ``authChangedNotification``.
  public func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher) {
    notificationCenter.post(name: Self.authChangedNotification, object: self)
  }
}
