import Synchronization

/// A wake-up of one waiter, which is kept until the waiter comes.
final class Signal: Sendable {
  private enum State {
    case idle
    case sent
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.idle)

  /// Wakes up the waiter, or the next one.
  func send() {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      if case .waiting(let waiter) = state {
        state = .idle
        return waiter
      }
      state = .sent
      return nil
    }
    waiter?.resume()
  }

  /// Waits until a signal is sent or the task is cancelled; returns at once if one was sent since the last call.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isSent = state.withLock { state in
          if case .sent = state {
            state = .idle
            return true
          }
          state = .waiting(waiter)
          return false
        }
        if isSent { waiter.resume() }
      }
    } onCancel: {
      send()
    }
  }
}
