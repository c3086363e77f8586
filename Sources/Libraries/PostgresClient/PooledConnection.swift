/// The state machine of one connection in a ``PoolStateMachine``.
///
/// ```
///                     ┌────────────── finished ──────────────┐
///                     ▼                                      │
/// connecting ──▶    idle    ── run ──▶  busy ── cancelled ──▶ cancelling   (a read that no caller waits for)
///      connected      ▲                  │
///                     │                  └─ overdue ─▶ terminating         (a write past its deadline)
///                     │                                  │ ▲
///                     └──── finished ── awaitingStandby ◀┘ │
///                                              └─ overdue ─┘
/// ```
///
/// | event               | connecting | idle   | busy               | cancelling | terminating | awaitingStandby |
/// | ------------------- | ---------- | ------ | ------------------ | ---------- | ----------- | --------------- |
/// | `connected`         | free       | ignore | ignore             | ignore     | ignore      | ignore          |
/// | `failed`            | close      | ignore | ignore             | ignore     | ignore      | ignore          |
/// | `finished`          | ignore     | ignore | free               | free       | close       | free            |
/// | `connectionLost`    | close      | close  | close              | close      | close       | close           |
/// | `overdue`           | close      | ignore | close, terminating | close      | close       | terminating     |
/// | `cancelled`         | ignore     | ignore | cancelling, busy   | ignore     | terminating | ignore          |
/// | `terminationFailed` | ignore     | ignore | ignore             | ignore     | close       | ignore          |
/// | `waitsForCommit`    | ignore     | ignore | ignore             | ignore     | awaiting    | ignore          |
/// | `shutDown`          | close      | close  | close              | close      | close       | close           |
///
/// A busy connection that is overdue is closed, or its backend terminated if it runs a write. Cancellation stops a read,
/// and lets a write continue. When a busy connection is lost, its request is retried or failed.
///
/// `free` means that the connection takes the next request or becomes idle, or is closed if its generation is older
/// than the pool's. A generation begins when a server is found to be read-only, and when a connection leads to another
/// primary than those before it. Every connection that existed at that moment, including those being established, may
/// lead to the old server and never runs another request.
struct PooledConnection {
  typealias Instant = PoolStateMachine.Instant
  typealias Request = PoolStateMachine.Request

  enum State {
    /// The connection is being established.
    case connecting(until: Instant)
    /// The connection has no request.
    case idle
    /// The connection runs a request; `nil` for a write whose caller has gone.
    case busy(Request?, until: Instant)
    /// A read that no caller waits for is being cancelled.
    case cancelling(until: Instant)
    /// The backend is being terminated because its write is past its deadline.
    case terminating(Request?, until: Instant)
    /// The connection runs a write that has committed on the primary and waits for a synchronous standby; no caller
    /// waits for it. It is checked again at the given time.
    case awaitingStandby(until: Instant)
  }

  enum Event {
    case connected
    case failed
    case finished
    case connectionLost(reason: String, StatementOutcome)
    /// The connection is past its deadline. A backend that must be terminated has until the given time.
    case overdue(terminationDeadline: Instant)
    /// The caller has stopped waiting.
    case cancelled
    /// The backend could not be signalled.
    case terminationFailed(reason: String)
    /// The backend was not signalled because its commit waits for a synchronous standby. It is checked again at the
    /// given time.
    case waitsForCommit(until: Instant)
    case shutDown
  }

  /// The effect of an event on a connection.
  enum Reaction {
    /// The event is late or impossible in this state; nothing changes.
    case ignore
    /// The connection can take another request.
    case free
    /// The connection is closed, and its request completes with the given outcome.
    case close(Request?, RequestOutcome)
    /// The connection changes its state, or its request.
    case enter(State)
  }

  /// The outcome for the request of a connection that is closed.
  enum RequestOutcome {
    /// The server no longer has the prepared statement: the request is retried once.
    case retryAny(reason: String)
    /// The server is read-only: the request is retried once.
    case readOnly(reason: String)
    /// A read is retried once. A write fails, and is known not to have been executed.
    case retryRead(reason: String)
    /// A read is retried once. A write may have been executed.
    case unknown(reason: String)
    /// The request fails with a timeout, and has changed nothing.
    case timeout
    /// A write may have been executed, and a read has timed out.
    case overdue(reason: String)
    /// The pool is shut down.
    case shutDown
  }

  var state: State
  /// The pool's generation when the attempt to connect began, or the generation that this connection began.
  var generation: Int
  /// The server that the connection leads to, once it is established.
  var server: ServerIdentity?

  /// Returns the effect of an event on the connection.
  func reaction(to event: Event) -> Reaction {
    switch (state, event) {
    case (.connecting, .connected): .free
    case (.connecting, .failed), (.connecting, .connectionLost), (.connecting, .overdue), (.connecting, .shutDown):
      .close(nil, .timeout)
    case (.connecting, .finished), (.connecting, .cancelled), (.connecting, .terminationFailed),
      (.connecting, .waitsForCommit):
      .ignore

    case (.idle, .connectionLost), (.idle, .shutDown): .close(nil, .timeout)
    case (.idle, .connected), (.idle, .failed), (.idle, .finished), (.idle, .overdue), (.idle, .cancelled),
      (.idle, .terminationFailed), (.idle, .waitsForCommit):
      .ignore

    case (.busy, .finished): .free
    case (.busy(let request, _), .connectionLost(let reason, let outcome)):
      .close(request, Self.requestOutcome(reason, outcome))
    case (.busy(let request, _), .overdue(let until)):
      Self.isWrite(request) ? .enter(.terminating(request, until: until)) : .close(request, .timeout)
    // A write is never cancelled: PostgreSQL keeps a commit whose wait for a standby is cancelled, and the standby may
    // lack it.
    case (.busy(let request, let until), .cancelled):
      .enter(Self.isWrite(request) ? .busy(nil, until: until) : .cancelling(until: until))
    case (.busy(let request, _), .shutDown): .close(request, .shutDown)
    case (.busy, .connected), (.busy, .failed), (.busy, .terminationFailed), (.busy, .waitsForCommit): .ignore

    case (.cancelling, .finished): .free
    case (.cancelling, .connectionLost), (.cancelling, .overdue), (.cancelling, .shutDown): .close(nil, .timeout)
    case (.cancelling, .connected), (.cancelling, .failed), (.cancelling, .cancelled),
      (.cancelling, .terminationFailed),
      (.cancelling, .waitsForCommit):
      .ignore

    // The request has its result, but the signal may still reach the backend.
    case (.terminating, .finished): .close(nil, .timeout)
    case (.terminating(let request, _), .connectionLost(let reason, .unknown)):
      .close(request, .overdue(reason: reason))
    case (.terminating(let request, _), .connectionLost(_, .rolledBack)),
      (.terminating(let request, _), .connectionLost(_, .rejected)),
      (.terminating(let request, _), .connectionLost(_, .readOnly)):
      .close(request, .timeout)
    case (.terminating(let request, _), .overdue):
      .close(request, .overdue(reason: "the statement timed out, and the server did not terminate it in time"))
    case (.terminating(let request, _), .terminationFailed(let reason)): .close(request, .overdue(reason: reason))
    case (.terminating(_, let until), .cancelled): .enter(.terminating(nil, until: until))
    case (.terminating, .waitsForCommit(let until)): .enter(.awaitingStandby(until: until))
    case (.terminating(let request, _), .shutDown): .close(request, .shutDown)
    case (.terminating, .connected), (.terminating, .failed): .ignore

    case (.awaitingStandby, .finished): .free
    case (.awaitingStandby, .overdue(let until)): .enter(.terminating(nil, until: until))
    case (.awaitingStandby, .connectionLost), (.awaitingStandby, .shutDown): .close(nil, .timeout)
    case (.awaitingStandby, .connected), (.awaitingStandby, .failed), (.awaitingStandby, .cancelled),
      (.awaitingStandby, .terminationFailed), (.awaitingStandby, .waitsForCommit):
      .ignore
    }
  }

  /// A write continues without its caller.
  private static func isWrite(_ request: Request?) -> Bool { request?.isRetryable != true }

  private static func requestOutcome(_ reason: String, _ outcome: StatementOutcome) -> RequestOutcome {
    switch outcome {
    case .rejected: .retryAny(reason: reason)
    case .readOnly: .readOnly(reason: reason)
    case .rolledBack: .retryRead(reason: reason)
    case .unknown: .unknown(reason: reason)
    }
  }

  /// The request that waits for the connection's result.
  var request: Request? {
    switch state {
    case .busy(let request, _), .terminating(let request, _): request
    case .connecting, .idle, .cancelling, .awaitingStandby: nil
    }
  }

  /// The time of ``Event/overdue``.
  var deadline: Instant? {
    switch state {
    case .connecting(let until), .busy(_, let until), .cancelling(let until), .terminating(_, let until),
      .awaitingStandby(let until):
      until
    case .idle: nil
    }
  }

  var isConnecting: Bool { if case .connecting = state { true } else { false } }

  /// A Boolean value that indicates whether a write without a caller holds the connection and waits for a standby, as
  /// far as is known; also while its backend is checked again.
  var isAwaitingStandby: Bool {
    switch state {
    case .awaitingStandby: true
    case .terminating(let request, _): request == nil
    case .connecting, .idle, .busy, .cancelling: false
    }
  }

  /// A Boolean value that indicates whether the connection is established and may take another request soon.
  var isServing: Bool {
    switch state {
    case .idle, .busy, .cancelling: true
    case .connecting, .terminating, .awaitingStandby: false
    }
  }
}

extension PooledConnection.RequestOutcome {
  /// Returns whether a request that has not been retried may be.
  func mayRetry(_ request: PoolStateMachine.Request) -> Bool {
    switch self {
    case .retryAny, .readOnly: true
    case .retryRead, .unknown: request.isRetryable
    case .timeout, .overdue, .shutDown: false
    }
  }

  /// Returns the error of a request that is not retried.
  func error(for request: PoolStateMachine.Request) -> DatabaseError {
    switch self {
    case .retryAny(let reason), .retryRead(let reason): .unavailable(reason: reason)
    case .readOnly(let reason): .readOnly(reason: reason)
    case .unknown(let reason): request.isRetryable ? .unavailable(reason: reason) : .outcomeUnknown(reason: reason)
    case .timeout: .timeout
    case .overdue(let reason): request.isRetryable ? .timeout : .outcomeUnknown(reason: reason)
    case .shutDown:
      request.isRetryable
        ? .unavailable(reason: PoolStateMachine.shutDownReason)
        : .outcomeUnknown(reason: PoolStateMachine.shutDownReason)
    }
  }
}

/// The outcome of the statement that was in progress when a connection ended.
enum StatementOutcome: Hashable, Sendable {
  /// The server did nothing, and never would on this connection: it no longer has the prepared statement.
  case rejected
  /// The server did nothing, because it is read-only.
  case readOnly
  /// The statement was not executed, or was rolled back.
  case rolledBack
  /// The statement may have been committed, or may still be.
  case unknown
}
