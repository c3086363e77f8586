/// Runs an operation, and throws when a time is over. It does not wait for an operation that ignores its cancellation.
///
/// - Parameters:
///   - timeout: the time; `nil` for any.
///   - clock: the clock of the time.
///   - error: the error when the time is over.
/// - Throws: the operation's errors, the given error, or `CancellationError` if the current task is cancelled.
func withTimeout<Value: Sendable>(
  _ timeout: Duration?, clock: any Clock<Duration>, error: any Error,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try Task.checkCancellation()
  let race = Race<Value>()
  let work = Task {
    do {
      race.finish(.success(try await operation()))
    } catch {
      race.finish(.failure(error))
    }
  }
  let timer = timeout.map { timeout in
    Task {
      try await clock.sleep(for: timeout)
      race.finish(.failure(error))
      work.cancel()
    }
  }
  defer { timer?.cancel() }
  return try await withTaskCancellationHandler {
    try await race.value()
  } onCancel: {
    race.finish(.failure(CancellationError()))
    work.cancel()
  }
}

/// The first of several results, for one waiting task.
private final class Race<Value: Sendable>: Sendable {
  private enum State {
    case open
    case waiting(CheckedContinuation<Value, any Error>)
    case finished(Result<Value, any Error>)
  }

  private let state = Locked(State.open)

  /// Sets the result, unless there is one.
  func finish(_ result: Result<Value, any Error>) {
    let waiting: CheckedContinuation<Value, any Error>? = state.withLock { state in
      switch state {
      case .open:
        state = .finished(result)
        return nil
      case .waiting(let continuation):
        state = .finished(result)
        return continuation
      case .finished: return nil
      }
    }
    waiting?.resume(with: result)
  }

  /// Waits for the result. It must be called once.
  func value() async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let result: Result<Value, any Error>? = state.withLock { state in
        if case .finished(let result) = state { return result }
        state = .waiting(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}
