public import Foundation

/// A provider of the device's location, which also checks whether it is at a place.
///
/// It doesn't request authorization, because only the app knows the right time for that.
///
/// ```swift
/// let fetcher = MockLocationFetcher()
/// fetcher.handleRequestLocation = { try Coordinate(latitude: 37.3293, longitude: -121.8893) }
/// let provider = CurrentLocationProvider(
///   locationFetcher: fetcher, services: LocationsOn.self, waymark: waymark)
/// let places = try await waymark.places(near: provider.currentLocation()).firstPage()
/// ```
@MainActor
public final class CurrentLocationProvider: NSObject {
  /// The notification of a change of the app's location authorization. Its object is the provider.
  public nonisolated static let authChangedNotification = Notification.Name("WaymarkClientAuthChanged")

  let locationFetcher: any LocationFetcher
  private let services: any LocationServices.Type
  private let checker: any APILoading<Coordinate, PointCheck>
  private let notificationCenter: NotificationCenter

  /// The callers that wait for the requested location.
  private(set) var waiting: [UUID: CheckedContinuation<Coordinate, any Error>] = [:]

  /// Creates a provider.
  ///
  /// - Parameters:
  ///   - locationFetcher: the source of the device's location.
  ///   - services: the type that indicates whether location services are enabled.
  ///   - waymark: the client that finds the place at the location.
  ///   - desiredAccuracyMetres: the desired accuracy in metres.
  ///   - notificationCenter: the center to which ``authChangedNotification`` is posted.
  public convenience init(
    locationFetcher: any LocationFetcher, services: any LocationServices.Type, waymark: Waymark,
    desiredAccuracyMetres: Double = 10, notificationCenter: NotificationCenter = .default
  ) {
    self.init(
      locationFetcher: locationFetcher, services: services,
      checker: waymark.loader(PointCheckRequest(baseURL: waymark.baseURL)),
      desiredAccuracyMetres: desiredAccuracyMetres, notificationCenter: notificationCenter)
  }

  package init(
    locationFetcher: any LocationFetcher, services: any LocationServices.Type,
    checker: any APILoading<Coordinate, PointCheck>, desiredAccuracyMetres: Double = 10,
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

  /// Returns the device's location. Concurrent callers share one request.
  ///
  /// - Throws: ``LocationError``, the fetcher's error, or `CancellationError`.
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

  /// Returns whether the device is at a place, and the place.
  ///
  /// ```swift
  /// if try await provider.checkCurrentLocation().isPointOfInterest { print("You have arrived.") }
  /// ```
  ///
  /// - Throws: the errors of ``currentLocation()`` and ``Waymark``.
  public func checkCurrentLocation() async throws -> PointCheck {
    try await checker.load(requestData: try await currentLocation()).value
  }

  /// Checks whether the device is at a place, and passes the result or the error to a handler.
  ///
  /// ```swift
  /// let task = provider.checkCurrentLocation { result in
  ///   if case .success(let check) = result { print(check.place?.name ?? "") }
  /// }
  /// task.cancel()
  /// ```
  ///
  /// - Returns: the task, for cancellation.
  @discardableResult
  public func checkCurrentLocation(
    completion: @escaping @MainActor (Result<PointCheck, any Error>) -> Void
  ) -> Task<Void, Never> {
    Task {
      do {
        completion(.success(try await checkCurrentLocation()))
      } catch {
        completion(.failure(error))
      }
    }
  }

  /// Queries the type away from the main thread, because Core Location may block.
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
  /// Passes the newest location to the waiting callers.
  public func locationFetcher(_ fetcher: any LocationFetcher, didUpdateLocations locations: [Coordinate]) {
    finish(locations.last.map { .success($0) } ?? .failure(LocationError.noLocation))
  }

  /// Passes the error to the waiting callers.
  public func locationFetcher(_ fetcher: any LocationFetcher, didFailWithError error: any Error) {
    finish(.failure(error))
  }

  /// Posts ``authChangedNotification``.
  public func locationFetcherDidChangeAuthorization(_ fetcher: any LocationFetcher) {
    notificationCenter.post(name: Self.authChangedNotification, object: self)
  }
}

/// The error of a missing location.
///
/// ```swift
/// do {
///   _ = try await provider.currentLocation()
/// } catch LocationError.servicesDisabled {
///   print("Turn location services on in the settings.")
/// }
/// ```
public enum LocationError: Error, Hashable, Sendable {
  /// Location services are disabled.
  case servicesDisabled

  /// No valid location was found.
  case noLocation
}

extension LocationError: CustomStringConvertible {
  /// The technical description.
  public var description: String {
    switch self {
    case .servicesDisabled: "location services are disabled"
    case .noLocation: "no location is available"
    }
  }
}

extension LocationError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs.
  public var failureReason: String? { description.sentence() }

  /// The message for the user.
  var message: Message {
    switch self {
    case .servicesDisabled: .servicesDisabled
    case .noLocation: .noLocation
    }
  }
}
