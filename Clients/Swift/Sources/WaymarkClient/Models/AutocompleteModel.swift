public import Foundation
public import Observation

/// A model for suggestions while the user types, from a service or from any search function.
///
/// ```swift
/// let model = AutocompleteModel(waymark: waymark, near: { try? await provider.currentLocation() })
/// model.text = "mus"
/// await model.search()
/// print(model.suggestions.map(\.title))
/// ```
///
/// A view searches in a task for each text, so that SwiftUI cancels a search whose text has changed, as
/// <doc:ShowingPlacesWithSwiftUI> shows. A search waits until the user has paused. A cancelled one leaves everything as
/// it was, the ``error`` included.
@MainActor
@Observable
public final class AutocompleteModel<Suggestion: Sendable> {
  /// The text that the user has typed.
  public var text = ""

  /// The suggestions of the last search.
  public private(set) var suggestions: [Suggestion] = []

  /// A Boolean value that indicates whether the ``suggestions`` come from a cache, because the service is unreachable.
  public private(set) var isStale = false

  /// The time of the response with the ``suggestions``, by the device's clock; `nil` if they are not a service's.
  public private(set) var receivedAt: Date?

  /// The text of the last search, trimmed: ``suggestions`` belong to it.
  public private(set) var searchedText = ""

  /// The error of the last search; `nil` where it succeeded. The suggestions before it remain.
  public private(set) var error: (any Error)?

  /// A Boolean value that indicates whether a search is in progress.
  public var isSearching: Bool { searches > 0 }

  private var searches = 0

  /// The number of the newest search. Results of earlier ones are ignored.
  @ObservationIgnored private var newestSearch = 0
  @ObservationIgnored private let minimumLength: Int
  @ObservationIgnored private let pause: Duration
  @ObservationIgnored private let clock: any Clock<Duration>
  @ObservationIgnored private let find: @Sendable (String) async throws -> Found

  /// The suggestions for a text.
  private struct Found {
    var suggestions: [Suggestion] = []
    var isStale = false
    var receivedAt: Date?
  }

  /// Creates a model without text.
  ///
  /// ```swift
  /// let model = AutocompleteModel<String>(minimumLength: 1) { text in
  ///   ["Museum", "Theatre"].filter { $0.hasPrefix(text) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - minimumLength: the number of characters from which on a text is searched for.
  ///   - pause: the time without typing before a search.
  ///   - clock: the clock for the pause.
  ///   - search: returns the suggestions for a text, which has no spaces at its ends.
  public convenience init(
    minimumLength: Int = 2,
    pause: Duration = .milliseconds(250),
    clock: any Clock<Duration> = ContinuousClock(),
    search: @escaping @Sendable (String) async throws -> [Suggestion]
  ) {
    self.init(minimumLength: minimumLength, pause: pause, clock: clock) { text in
      Found(suggestions: try await search(text))
    }
  }

  private init(
    minimumLength: Int, pause: Duration, clock: any Clock<Duration>,
    find: @escaping @Sendable (String) async throws -> Found
  ) {
    self.minimumLength = minimumLength
    self.pause = pause
    self.clock = clock
    self.find = find
  }

  /// Searches for the current text after a pause. A text that is too short has no suggestions, and one that the last
  /// search was for keeps them.
  public func search() async {
    newestSearch += 1
    let search = newestSearch
    let text = text.trimmed
    guard text.count >= minimumLength else {
      return show(Found(), for: "")
    }
    guard text != searchedText || error != nil else { return }
    searches += 1
    defer { searches -= 1 }
    do {
      try await clock.sleep(for: pause)
      guard search == newestSearch else { return }
      let found = try await find(text)
      guard search == newestSearch else { return }
      show(found, for: text)
    } catch is CancellationError {
    } catch {
      guard search == newestSearch, !Task.isCancelled else { return }
      self.error = error
    }
  }

  private func show(_ found: Found, for text: String) {
    (suggestions, isStale, receivedAt) = (found.suggestions, found.isStale, found.receivedAt)
    (searchedText, error) = (text, nil)
  }
}

extension AutocompleteModel where Suggestion == SearchSuggestion {
  /// Creates a model of the categories and places that a service suggests.
  ///
  /// A search whose text has changed is cancelled, and with it its request.
  ///
  /// ```swift
  /// let model = AutocompleteModel(waymark: waymark, limit: 5, languages: ["en"])
  /// ```
  ///
  /// - Parameters:
  ///   - waymark: the client.
  ///   - filter: the conditions, without tags and ``PointFilter/condition``.
  ///   - limit: the maximum number of suggestions, 1 to 50; `nil` for the service's default, 10.
  ///   - languages: the languages of the names, as in
  ///   ``Waymark/search(_:near:filter:order:isIncomplete:languages:pageSize:)``.
  ///   - clock: the clock for the pause.
  ///   - center: returns the coordinate near which places rank higher, when a search begins; `nil` for none.
  public convenience init(
    waymark: Waymark, filter: PointFilter = PointFilter(), limit: Int? = nil, languages: [String] = [],
    clock: any Clock<Duration> = ContinuousClock(),
    near center: @escaping @Sendable () async -> Coordinate? = { nil }
  ) {
    self.init(minimumLength: 2, pause: .milliseconds(250), clock: clock) { text in
      let response = try await waymark.responses.suggestions(
        for: text, near: await center(), filter: filter, limit: limit, languages: languages)
      return Found(suggestions: response.value, isStale: response.isStale, receivedAt: response.receivedAt)
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
