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
/// A cancelled load leaves everything as it is, the ``error`` included. Of overlapping loads only the newest one
/// counts, whichever completes first.
@MainActor
@Observable
public final class PointListModel {
  /// The conditions and order of the list. A change has no effect before the next ``reload(after:)`` or ``refresh()``.
  public var filter: PointFilter

  /// The places that have been loaded, in the order of the filter.
  public private(set) var places: [PointOfInterest] = []

  /// A Boolean value that indicates whether some ``places`` come from a cache: while the current ones are being loaded,
  /// and then if the service is unreachable. A view shows it, as of ``receivedAt``, when it is not ``isLoading``.
  public private(set) var isStale = false

  /// The time of the earliest response with ``places``, by the device's clock; `nil` before the first one.
  public private(set) var receivedAt: Date?

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

  /// Loads the first page of a filter from the cache.
  @ObservationIgnored private let loadStored: (@Sendable (PointFilter) async throws -> PointPage)?

  /// The filter that ``places`` match; `nil` before the first response.
  @ObservationIgnored private var shownFilter: PointFilter?
  @ObservationIgnored private let clock: any Clock<Duration>
  @ObservationIgnored private var observation: NotificationObservation?

  package init(
    filter: PointFilter = PointFilter(),
    locationProvider: CurrentLocationProvider? = nil,
    notificationCenter: NotificationCenter = .default,
    clock: any Clock<Duration> = ContinuousClock(),
    stored: (@Sendable (PointFilter) async throws -> PointPage)? = nil,
    refresh: (@Sendable (PointFilter) async throws -> PointPage)? = nil,
    load: @escaping @Sendable (PointFilter) async throws -> PointPage
  ) {
    self.filter = filter
    self.load = load
    loadAgain = refresh ?? load
    loadStored = stored
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

  /// Loads the first page in place of ``places``. If the client has a cache, places that it has stored for another filter
  /// than that of ``places`` are shown at once.
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
      if filter != shownFilter, let page = try? await loadStored?(filter), reload == newestReload, !Task.isCancelled {
        show(page, of: filter)
      }
      let page = try await load(filter)
      guard reload == newestReload else { return }
      show(page, of: filter)
    } catch is CancellationError {
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }

  private func show(_ page: PointPage, of filter: PointFilter) {
    (places, isStale, receivedAt) = (page.response.value, page.response.isStale, page.response.receivedAt)
    (next, error, shownFilter) = (page.next, nil, filter)
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
      receivedAt = min(receivedAt ?? page.response.receivedAt, page.response.receivedAt)
      (self.next, error) = (page.next, nil)
    } catch is CancellationError {
    } catch {
      guard reload == newestReload else { return }
      self.error = error
    }
  }
}

extension PointListModel {
  package convenience init(
    locationProvider: CurrentLocationProvider,
    loader: any APILoading<Coordinate, [PointOfInterest]>,
    notificationCenter: NotificationCenter = .default
  ) {
    self.init(locationProvider: locationProvider, notificationCenter: notificationCenter) { filter in
      guard let center = filter.center else { throw LocationError.noLocation }
      return PointPage(response: try await loader.load(requestData: center))
    }
  }

  /// Creates a model without places.
  ///
  /// ```swift
  /// let model = PointListModel(waymark: waymark, pageSize: 50, locationProvider: provider)
  /// ```
  ///
  /// - Parameters:
  ///   - waymark: the client.
  ///   - filter: the conditions and order of the list.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  ///   - locationProvider: the provider of the device's location, which then is the center of each reload; `nil` for
  ///     the filter's own center. The model also reloads when the app's location authorization changes.
  public convenience init(
    waymark: Waymark, filter: PointFilter = PointFilter(), pageSize: Int? = nil,
    locationProvider: CurrentLocationProvider? = nil
  ) {
    func load(with client: Waymark) -> @Sendable (PointFilter) async throws -> PointPage {
      { filter in try await client.places(filter, pageSize: pageSize).page() }
    }
    var confirming = waymark
    confirming.configuration.offlinePolicy = waymark.configuration.offlinePolicy.confirming
    self.init(
      filter: filter, locationProvider: locationProvider,
      stored: waymark.configuration.storage == nil ? nil : load(with: waymark.stored),
      refresh: load(with: confirming), load: load(with: waymark))
  }
}

/// A page of places, and the function that loads the next one.
package struct PointPage: Sendable {
  /// Loads a page. After an error it can be called again.
  package typealias Load = @Sendable () async throws -> PointPage

  /// The places of the page.
  package var response: APIResponse<[PointOfInterest]>

  /// Loads the next page; `nil` for the last page.
  package var next: Load?

  package init(response: APIResponse<[PointOfInterest]>, next: Load? = nil) {
    self.response = response
    self.next = next
  }
}

extension PointQuery<PointOfInterest> {
  /// Loads the first page, with the function that loads the next one.
  func page() async throws -> PointPage { try await Self.page(of: pages.makeAsyncIterator()) }

  private static func page(of iterator: APIPages<PointOfInterest>.Iterator) async throws -> PointPage {
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
