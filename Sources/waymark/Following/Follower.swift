import Hosting
import Points
import ServerFeatures

/// A follower of the places of a server: copies them, then applies what changes. Before the places it copies the data
/// sets that they come from, and the named areas.
///
/// The order of its steps makes each of them repeatable: the ids of new places are kept first, then the places are
/// applied, then the position is.
struct Follower {
  private let server: FollowedServer
  private let copy: any FollowCopy
  private var progress: FollowProgress
  private var areas: AreaFollower
  private var backOff = BackOff()

  /// Creates a follower.
  ///
  /// - Throws: ``FollowError``.
  init(server: FollowedServer, copy: any FollowCopy, progress: FollowProgress) throws(FollowError) {
    self.server = server
    self.copy = copy
    self.progress = progress
    areas = try AreaFollower(server: server, copy: copy, path: progress.areasPath)
  }

  /// Follows until an error that no repetition ends.
  ///
  /// - Parameter once: a Boolean value that indicates whether to return as soon as the copy is up to date.
  mutating func run(once: Bool) async throws {
    var position = progress.position(of: server.query)
    var isChecked = position == nil
    var lastReason: String?
    while true {
      do {
        if !isChecked {
          // A copy that was deleted begins anew.
          if try await copy.isEmpty() { position = nil }
          isChecked = true
        }
        try await areas.follow(anew: position == nil)
        if let present = position {
          let start = ContinuousClock.now
          let page = try await server.changes(after: present, waits: !once)
          let delay = page.pause(after: present, responseTime: ContinuousClock.now - start)
          try await areas.followSources(of: page.changes)
          try await apply(page.changes, upTo: page.position)
          if page.position != present { try await progress.advance(to: page.position, server.query) }
          position = page.position
          if once, !page.hasMore { return }
          if delay > .zero { try await Task.sleep(for: delay) }
        } else {
          position = try await copyAll()
        }
        (backOff, lastReason) = (BackOff(), nil)
      } catch FollowError.expired(let reason) {
        StandardError.warn("\(reason); the copy is made anew")
        position = nil
      } catch FollowError.unavailable(let reason, let retryAfter) {
        let delay = backOff.next(jitter: .random(in: 0...1), retryAfter: retryAfter)
        // An outage is one line.
        if reason != lastReason { StandardError.warn("\(reason); trying again") }
        lastReason = reason
        try await Task.sleep(for: delay)
      }
    }
  }

  /// Copies all places and deletes those that the server no longer has.
  ///
  /// - Returns: the position of the copy.
  private mutating func copyAll() async throws -> String {
    var superfluous = progress.ids
    var count = 0
    let position = try await server.export { places in
      try await areas.followSources(of: places)
      try await apply(places, upTo: nil)
      for place in places { superfluous.remove(place.id) }
      count += places.count
    }
    var rest = Array(superfluous)[...]
    while !rest.isEmpty {
      let ids = rest.prefix(FollowedServer.pageLength)
      rest = rest.dropFirst(ids.count)
      try await apply(ids.map { FollowedChange(id: $0, version: nil, place: nil) }, upTo: nil)
    }
    // A target that is told positions has that of the copy.
    try await copy.apply([], upTo: position, followed: progress.ids)
    try await progress.advance(to: position, server.query)
    let deleted = superfluous.isEmpty ? "" : ", \(superfluous.count) deleted"
    StandardError.write(Array("waymark: \(count) places copied\(deleted)\n".utf8))
    return position
  }

  /// Applies changes of which some may have been applied before. Places that did not come from the server stay.
  private mutating func apply(_ changes: [FollowedChange], upTo position: String?) async throws {
    let removals = changes.filter { $0.place == nil && progress.ids.contains($0.id) }
    let places = changes.filter { $0.place != nil }
    guard !removals.isEmpty || !places.isEmpty else { return }
    try progress.insert(places.map(\.id))
    try await copy.apply(removals + places, upTo: position, followed: progress.ids)
    try progress.remove(removals.map(\.id))
  }
}

/// The delays between attempts: twice as long after each failure, up to a minute, and shortened by up to half at random,
/// so that followers do not come back at once.
struct BackOff: Hashable {
  private static let least = Duration.seconds(1)
  private static let most = Duration.seconds(60)

  private var delay = Self.least

  /// Returns the delay after a failure.
  ///
  /// - Parameters:
  ///   - jitter: a random number from 0 to 1.
  ///   - retryAfter: the delay that the server asks for, if any.
  mutating func next(jitter: Double, retryAfter: Duration? = nil) -> Duration {
    let next = delay * (1 - jitter / 2)
    delay = min(delay * 2, Self.most)
    return max(next, retryAfter ?? .zero)
  }
}
