public import Foundation
public import Observation

/// A model for a list of places: around the device, on a map, or of any other ``PointFilter``.
///
/// ```swift
/// let model = PointListModel(waymark: waymark, filter: PointFilter(categories: ["cafe"]))
/// await model.reload()
/// if model.hasMore { await model.loadMore() }
/// print(model.places.count)
/// ```
///
/// A view loads it in a task for each filter, so that SwiftUI cancels a load whose filter has changed, as
/// <doc:ShowingPlacesWithSwiftUI> shows.
///
/// A cancelled load leaves everything as it was, the ``error`` included. Of overlapping loads only the newest one
/// counts, whichever completes first.
@MainActor
@Observable
public final class PointListModel {
  /// The conditions and order of the list. A change has no effect before the next ``reload(after:)`` or ``refresh()``.
  public var filter: PointFilter

  /// The places that have been loaded, in the order of the filter.
  public private(set) var places: [PointOfInterest] = []

  /// A Boolean value that indicates whether some ``places`` come from a cache, because the service is unreachable.
  public private(set) var isStale = false

  /// The error of the last load; `nil` where it succeeded. The places remain after an error.
  public private(set) var error: (any Error)?

  /// A Boolean value that indicates whether a load is in progress.
  public var isLoading: Bool { loads > 0 }

  /// A Boolean value that indicates whether ``loadMore()`` would load another page.
  public var hasMore: Bool { next != nil }

  private var loads = 0

  /// Loads the page after ``places``.
  private var next: PointPage.Load?

  /// The number of the newest reload. Results of earlier ones are ignored.
  @ObservationIgnored private var newestReload = 0
  @ObservationIgnored private let location: (@MainActor () async throws -> Coordinate)?
  @ObservationIgnored private let load: @Sendable (PointFilter) async throws -> PointPage
  @ObservationIgnored private let loadAgain: @Sendable (PointFilter) async throws -> PointPage
  @ObservationIgnored private let clock: any Clock<Duration>
  @ObservationIgnored private var observation: NotificationObservation?

  /// Creates a model without places.
  ///
  /// ```swift
  /// let model = PointListModel { filter in
  ///   PointPage(response: APIResponse([PointOfInterest(name: "A", category: filter.categories.first)]))
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions and order of the list.
  ///   - locationProvider: the provider of the device's location, which then is the center of each reload; `nil` for
  ///     the filter's own center. The model also reloads when the app's location authorization changes.
  ///   - notificationCenter: where ``CurrentLocationProvider/authChangedNotification`` is listened for.
  ///   - clock: the clock for the delay of ``reload(after:)``.
  ///   - refresh: loads the first page of a filter for ``refresh()``; `nil` for `load`.
  ///   - load: loads the first page of a filter.
  public init(
    filter: PointFilter = PointFilter(),
    locationProvider: CurrentLocationProvider? = nil,
    notificationCenter: NotificationCenter = .default,
    clock: any Clock<Duration> = ContinuousClock(),
    refresh: (@Sendable (PointFilter) async throws -> PointPage)? = nil,
    load: @escaping @Sendable (PointFilter) async throws -> PointPage
  ) {
    self.filter = filter
    self.load = load
    loadAgain = refresh ?? load
    self.clock = clock
    guard let locationProvider else {
      location = nil
      return
    }
    location = { try await locationProvider.currentLocation() }
    observation = NotificationObservation(
      of: CurrentLocationProvider.authChangedNotification, in: notificationCenter
    ) { [weak self] in
      Task { @MainActor [weak self] in await self?.reload() }
    }
  }

  /// Loads the first page in place of ``places``.
  ///
  /// ```swift
  /// model.filter.box = box
  /// await model.reload(after: .milliseconds(200))
  /// ```
  ///
  /// - Parameter delay: a time to wait before, for a filter that changes continuously, such as the region of a map
  ///   while it moves. If the task is cancelled meanwhile, nothing is loaded.
  public func reload(after delay: Duration = .zero) async { await reload(after: delay, with: load) }

  private func reload(
    after delay: Duration, with load: @Sendable (PointFilter) async throws -> PointPage
  ) async {
    newestReload += 1
    let reload = newestReload
    loads += 1
    defer { loads -= 1 }
    do {
      if delay > .zero { try await clock.sleep(for: delay) }
      var filter = filter
      if let location { filter.center = try await location() }
      let page = try await load(filter)
      guard reload == newestReload else { return }
      (places, isStale, next, error) = (page.response.value, page.response.isStale, page.next, nil)
    } catch is CancellationError {
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }

  /// Loads the first page in place of ``places``, from the network even if the client's ``OfflinePolicy`` would use a
  /// stored response first.
  ///
  /// It goes on if the current task is cancelled, because SwiftUI cancels the task of `refreshable` when the view is
  /// updated, for example because ``isLoading`` changes.
  ///
  /// ```swift
  /// await model.refresh()
  /// if let error = model.error { print(error.localizedDescription) }
  /// ```
  public func refresh() async {
    await Task { await reload(after: .zero, with: loadAgain) }.value
  }

  /// Loads the page after ``places``, and appends it. A view calls it when the last place appears. It does nothing
  /// while another load is in progress, and may be called again after an error.
  public func loadMore() async {
    guard let next, loads == 0 else { return }
    let reload = newestReload
    loads += 1
    defer { loads -= 1 }
    do {
      let page = try await next()
      guard reload == newestReload else { return }
      let known = Set(places.map(\.id))
      places += page.response.value.filter { !known.contains($0.id) }
      isStale = isStale || page.response.isStale
      (self.next, error) = (page.next, nil)
    } catch is CancellationError {
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }
}

extension PointListModel {
  /// Creates a model of the places that a loader returns around the device.
  ///
  /// ```swift
  /// let loader = waymark.loader(PointsOfInterestRequest(baseURL: baseURL, radiusMetres: 500))
  /// let model = PointListModel(locationProvider: provider, loader: loader)
  /// ```
  ///
  /// - Parameters:
  ///   - locationProvider: the provider of the device's location.
  ///   - loader: the loader, an ``APIRequestLoader`` of ``PointsOfInterestRequest``.
  ///   - notificationCenter: where ``CurrentLocationProvider/authChangedNotification`` is listened for.
  public convenience init(
    locationProvider: CurrentLocationProvider,
    loader: any APILoading<Coordinate, [PointOfInterest]>,
    notificationCenter: NotificationCenter = .default
  ) {
    self.init(locationProvider: locationProvider, notificationCenter: notificationCenter) { filter in
      guard let center = filter.center else { throw LocationError.noLocation }
      return PointPage(response: try await loader.load(requestData: center))
    }
  }

  /// Creates a model of the places that a client finds.
  ///
  /// ```swift
  /// let model = PointListModel(waymark: waymark, limit: 50, locationProvider: provider)
  /// ```
  ///
  /// - Parameters:
  ///   - waymark: the client.
  ///   - filter: the conditions and order of the list.
  ///   - limit: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  ///   - locationProvider: the provider of the device's location, which then is the center of each reload; `nil` for
  ///     the filter's own center.
  public convenience init(
    waymark: Waymark, filter: PointFilter = PointFilter(), limit: Int? = nil,
    locationProvider: CurrentLocationProvider? = nil
  ) {
    var confirming = waymark
    confirming.configuration.offlinePolicy = waymark.configuration.offlinePolicy.confirming
    self.init(
      filter: filter, locationProvider: locationProvider,
      refresh: { [confirming] in try await confirming.query($0, limit: limit).page() },
      load: { try await waymark.query($0, limit: limit).page() })
  }
}

/// A page of places, and the function that loads the next one.
///
/// ```swift
/// let last = PointPage(response: APIResponse([PointOfInterest(name: "B")]))
/// let first = PointPage(response: APIResponse([PointOfInterest(name: "A")]), next: { last })
/// ```
public struct PointPage: Sendable {
  /// Loads a page. After an error it can be called again.
  public typealias Load = @Sendable () async throws -> PointPage

  /// The places of the page.
  public var response: APIResponse<[PointOfInterest]>

  /// Loads the next page; `nil` for the last page.
  public var next: Load?

  /// Creates a page.
  public init(response: APIResponse<[PointOfInterest]>, next: Load? = nil) {
    self.response = response
    self.next = next
  }
}

extension PointQuery {
  /// Loads the first page, with the function that loads the next one.
  func page() async throws -> PointPage { try await Self.page(of: pages.makeAsyncIterator()) }

  private static func page(of iterator: APIPages<PointsRequest>.Iterator) async throws -> PointPage {
    // An iterator is a value, so that the function can be called again with the same one.
    var iterator = iterator
    guard let response = try await iterator.next() else { throw CancellationError() }
    guard response.nextPage != nil else { return PointPage(response: response) }
    return PointPage(response: response) { [iterator] in try await page(of: iterator) }
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
