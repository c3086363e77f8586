import WaymarkClient

/// A condition that one part of a test waits for and another opens, in place of a delay.
///
/// ```swift
/// let (isLoading, mayEnd) = (Gate(), Gate())
/// let model = AutocompleteModel<String> { _ in
///   isLoading.open()
///   await mayEnd.pass()
///   return ["Museum"]
/// }
/// ```
public final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Creates a closed gate.
  public init() {}

  /// Resumes all waiting tasks and lets later ones pass.
  public func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns when the gate is open. It ignores the cancellation of the current task.
  public func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
