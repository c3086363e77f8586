/// An observer of the calls of a store: of their number, their durations and their errors.
public protocol StoreObserver: Sendable {
  /// Notes the end of a call, in its task.
  ///
  /// - Parameters:
  ///   - error: the error of the call; `nil` for a call that succeeded.
  ///   - isWrite: a Boolean value that indicates whether the call writes where it succeeds.
  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool)

  /// The reason for which the last write was refused, for clients; `nil` if it was not, and if readiness checks find
  /// that by themselves.
  var refusalOfWrites: String? { get }
}

/// An operation of a store. Metrics have the names of the cases.
public enum StoreOperation: Int, CaseIterable, Sendable {
  case page, matches, count, point, shuffled, categories, sources, version, readiness
  case tile, clusters, facets
  case create, put, delete, deletions, `import`, export

  public var isWrite: Bool {
    switch self {
    case .create, .put, .delete, .deletions, .import: true
    case .page, .matches, .count, .point, .shuffled, .categories, .sources, .version, .readiness, .tile,
      .clusters, .facets, .export:
      false
    }
  }
}

extension [any StoreObserver] {
  /// Has all observers note the end of a call.
  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool) {
    for observer in self { observer.note(operation, error: error, took: duration, isWrite: isWrite) }
  }

  /// Calls a store, and has the observers note the end of the call.
  ///
  /// - Parameters:
  ///   - isWrite: a Boolean value that indicates whether the call writes; `nil` if the operation tells.
  ///   - uptime: a monotonic time.
  ///   - onSuccess: receives the result and the duration of a call that succeeded.
  public func observe<Value, Failure: Error>(
    _ operation: StoreOperation, isWrite: Bool? = nil, uptime: () -> Duration = monotonicTime,
    _ call: () async throws(Failure) -> Value, onSuccess: (Value, Duration) -> Void = { _, _ in }
  ) async throws(Failure) -> Value {
    let start = uptime()
    do {
      let value = try await call()
      let duration = uptime() - start
      note(operation, error: nil, took: duration, isWrite: isWrite ?? operation.isWrite)
      onSuccess(value, duration)
      return value
    } catch {
      note(operation, error: error, took: uptime() - start, isWrite: isWrite ?? operation.isWrite)
      throw error
    }
  }
}
