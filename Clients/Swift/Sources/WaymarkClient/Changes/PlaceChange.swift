public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An element of the changes of a service, ``Waymark/changes(matching:since:)``.
///
/// ```swift
/// var places: [UUID: PointOfInterest] = [:]
/// for try await change in waymark.changes(matching: filter, since: position) {
///   switch change {
///   case .place(let place): places[place.id] = place
///   case .removed(let id): places[id] = nil
///   case .position(let position): print("store the places with \(position)")
///   case .reset: print("load all places again")
///   }
/// }
/// ```
public enum PlaceChange: Hashable, Sendable {
  /// The present state of a place that matches.
  case place(PointOfInterest)

  /// The id of a place that was deleted or does not match any more. It may never have matched.
  case removed(UUID)

  /// The position after the changes so far. Store it together with them, to continue there later.
  case position(String)

  /// The changes since the last position are not known any more: the places must be loaded again. The changes from here
  /// on follow.
  case reset
}

extension Waymark {
  /// Returns the changes of the places that match a filter: those since a position, and then each as it happens, without
  /// end.
  ///
  /// A lost network, a timeout or an overloaded service delays them: the sequence tries again after some seconds, and
  /// continues at its position. A place may come twice, and none is missing. Nothing is requested before the next
  /// element is asked for, and the sequence ends when its task is cancelled. Use one iterator.
  ///
  /// ```swift
  /// for try await change in waymark.changes(matching: PointFilter(box: box), since: position) { print(change) }
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions; it has no ``PointFilter/route`` and no ``PointFilter/open``, and a radius where it has a
  ///     center.
  ///   - position: the position of an earlier element or of an export, ``APIResponse/position``; `nil` for the present.
  /// - Returns: the changes. They end with ``RequestError`` or ``WaymarkError`` if the service denies the request.
  public func changes(
    matching filter: PointFilter = PointFilter(), since position: String? = nil
  ) -> AsyncThrowingStream<PlaceChange, any Error> {
    let follower = ChangeFollower(waymark: self, filter: filter, position: position)
    return AsyncThrowingStream { try await follower.next() }
  }
}

/// The changes of a service from a position on.
private actor ChangeFollower {
  private let loader: APIRequestLoader<ChangesRequest>
  private let filter: PointFilter
  private var position: String?

  /// The changes that have been received and not returned, the next one last.
  private var received: [PlaceChange] = []
  private var retrying: Retrying
  private let clock: any Clock<Duration>

  init(waymark: Waymark, filter: PointFilter, position: String?) {
    var waymark = waymark
    retrying = Retrying(random: waymark.configuration.random)
    clock = waymark.configuration.clock
    waymark.configuration.cache = nil
    waymark.configuration.retries = .none
    waymark.configuration.minimumPosition = nil
    // Without a byte for longer, the connection is dead.
    waymark.configuration.idleTimeout += TimeInterval(ChangesRequest.waitSeconds)
    waymark.configuration.totalTimeout = waymark.configuration.totalTimeout.map {
      $0 + .seconds(ChangesRequest.waitSeconds)
    }
    loader = waymark.loader(ChangesRequest(baseURL: waymark.baseURL))
    self.filter = filter
    self.position = position
  }

  func next() async throws -> PlaceChange? {
    while received.isEmpty {
      do {
        try await receive()
        retrying.reset()
      } catch is CancellationError {
        return nil
      } catch {
        let delay = try retrying.delay(after: error)
        guard (try? await clock.sleep(for: delay)) != nil else { return nil }
      }
    }
    return received.popLast()
  }

  private func receive() async throws {
    do {
      let page = try await loader.loadAPIRequest(requestData: (filter, position))
      // A page without changes ends a wait, and moves the position on only where others have changed.
      guard page.position != position || !page.changes.isEmpty else { return }
      position = page.position
      received = (page.changes.map(\.change) + [.position(page.position)]).reversed()
    } catch WaymarkError.problem(let problem) where problem.status == 410 && position != nil {
      // The position comes first: places that are loaded afterwards include it.
      let present = try await loader.loadAPIRequest(requestData: (filter, nil))
      position = present.position
      received = [.position(present.position), .reset]
    }
  }
}

/// The repeated attempts of something that goes on until the service denies it.
struct Retrying: Sendable {
  private static let policy = APIRetryPolicy(
    maximumAttempts: .max, baseDelay: .seconds(1), maximumDelay: .seconds(30))

  /// The maximum time in `Retry-After` that is honoured.
  private static let maximumRetryAfter = Duration.seconds(3600)

  /// Returns random numbers from 0 to 1, for the jitter.
  private let random: @Sendable () -> Double
  private var attempts = 0

  init(random: @escaping @Sendable () -> Double) {
    self.random = random
  }

  /// Begins anew after a success.
  mutating func reset() { attempts = 0 }

  /// Returns the delay before the next attempt.
  ///
  /// - Throws: the error, if no later attempt may succeed.
  mutating func delay(after error: any Error) throws -> Duration {
    guard let retryAfter = Self.retryAfter(error) else { throw error }
    attempts += 1
    let delay = Self.policy.delay(afterAttempt: attempts, .noResponse(.timedOut), random: random()) ?? .zero
    return delay + min(retryAfter, Self.maximumRetryAfter)
  }

  /// Returns the time that the service asks to wait; `nil` if no later attempt may succeed.
  private static func retryAfter(_ error: any Error) -> Duration? {
    switch error as? WaymarkError {
    case .unreachable, .notReached: .zero
    case .problem(let problem): isTransient(problem.status) ? problem.retryAfter ?? .zero : nil
    case .unexpectedStatus(let status, _): isTransient(status) ? .zero : nil
    default: nil
    }
  }

  private static func isTransient(_ status: Int) -> Bool { [408, 429, 500, 502, 503, 504].contains(status) }
}
