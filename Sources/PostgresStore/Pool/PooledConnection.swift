import Points

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
/// A busy connection that is overdue is closed, or its backend terminated if it runs a write. Cancellation stops a read
/// that has no other caller, and lets a write continue. When a busy connection is lost, its requests are retried or
/// failed.
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
    /// The connection runs one request, several reads of a group, or a write whose caller has gone.
    case busy([Request], until: Instant)
    /// A read that no caller waits for is being cancelled.
    case cancelling(until: Instant)
    /// The backend is being terminated because its write is past its deadline.
    case terminating([Request], until: Instant)
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
    case cancelled(PoolStateMachine.RequestID)
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
    /// The connection is closed, and its requests complete with the given outcome.
    case close([Request], RequestOutcome)
    /// The connection changes its state, or its requests.
    case enter(State)
  }

  /// The outcome for the requests of a connection that is closed.
  enum RequestOutcome {
    /// The server no longer has the prepared statement: each request is retried once.
    case retryAll(reason: String)
    /// The server is read-only: each request is retried once.
    case readOnly(reason: String)
    /// Reads are retried once. A write fails, and is known not to have been executed.
    case retryReads(reason: String)
    /// Reads are retried once. A write may have been executed.
    case unknown(reason: String)
    /// All requests fail with a timeout, and none has changed anything.
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
      .close([], .timeout)
    case (.connecting, .finished), (.connecting, .cancelled), (.connecting, .terminationFailed),
      (.connecting, .waitsForCommit):
      .ignore

    case (.idle, .connectionLost), (.idle, .shutDown): .close([], .timeout)
    case (.idle, .connected), (.idle, .failed), (.idle, .finished), (.idle, .overdue), (.idle, .cancelled),
      (.idle, .terminationFailed), (.idle, .waitsForCommit):
      .ignore

    case (.busy, .finished): .free
    case (.busy(let requests, _), .connectionLost(let reason, let outcome)):
      .close(requests, Self.requestOutcome(reason, outcome))
    case (.busy(let requests, _), .overdue(let until)):
      Self.isWrite(requests) ? .enter(.terminating(requests, until: until)) : .close(requests, .timeout)
    case (.busy(let requests, let until), .cancelled(let id)):
      .enter(Self.busy(requests, without: id, until: until))
    case (.busy(let requests, _), .shutDown): .close(requests, .shutDown)
    case (.busy, .connected), (.busy, .failed), (.busy, .terminationFailed), (.busy, .waitsForCommit): .ignore

    case (.cancelling, .finished): .free
    case (.cancelling, .connectionLost), (.cancelling, .overdue), (.cancelling, .shutDown): .close([], .timeout)
    case (.cancelling, .connected), (.cancelling, .failed), (.cancelling, .cancelled),
      (.cancelling, .terminationFailed),
      (.cancelling, .waitsForCommit):
      .ignore

    // The request has its result, but the signal may still reach the backend.
    case (.terminating, .finished): .close([], .timeout)
    case (.terminating(let requests, _), .connectionLost(let reason, .unknown)):
      .close(requests, .overdue(reason: reason))
    case (.terminating(let requests, _), .connectionLost(_, .rolledBack)),
      (.terminating(let requests, _), .connectionLost(_, .rejected)),
      (.terminating(let requests, _), .connectionLost(_, .readOnly)):
      .close(requests, .timeout)
    case (.terminating(let requests, _), .overdue):
      .close(requests, .overdue(reason: "the statement timed out, and the server did not terminate it in time"))
    case (.terminating(let requests, _), .terminationFailed(let reason)): .close(requests, .overdue(reason: reason))
    case (.terminating(let requests, let until), .cancelled(let id)):
      .enter(.terminating(requests.filter { $0.id != id }, until: until))
    case (.terminating, .waitsForCommit(let until)): .enter(.awaitingStandby(until: until))
    case (.terminating(let requests, _), .shutDown): .close(requests, .shutDown)
    case (.terminating, .connected), (.terminating, .failed): .ignore

    case (.awaitingStandby, .finished): .free
    case (.awaitingStandby, .overdue(let until)): .enter(.terminating([], until: until))
    case (.awaitingStandby, .connectionLost), (.awaitingStandby, .shutDown): .close([], .timeout)
    case (.awaitingStandby, .connected), (.awaitingStandby, .failed), (.awaitingStandby, .cancelled),
      (.awaitingStandby, .terminationFailed), (.awaitingStandby, .waitsForCommit):
      .ignore
    }
  }

  /// A write is never cancelled: PostgreSQL keeps a commit whose wait for a standby is cancelled, and the standby may
  /// lack it.
  private static func busy(
    _ requests: [Request], without id: PoolStateMachine.RequestID, until: Instant
  ) -> State {
    let others = requests.filter { $0.id != id }
    return others.isEmpty && !isWrite(requests) ? .cancelling(until: until) : .busy(others, until: until)
  }

  /// A write is the only request of its connection, and continues without its caller.
  private static func isWrite(_ requests: [Request]) -> Bool { requests.allSatisfy { !$0.isRetryable } }

  private static func requestOutcome(_ reason: String, _ outcome: StatementOutcome) -> RequestOutcome {
    switch outcome {
    case .rejected: .retryAll(reason: reason)
    case .readOnly: .readOnly(reason: reason)
    case .rolledBack: .retryReads(reason: reason)
    case .unknown: .unknown(reason: reason)
    }
  }

  /// The requests that wait for the connection's result.
  var requests: [Request] {
    switch state {
    case .busy(let requests, _), .terminating(let requests, _): requests
    case .connecting, .idle, .cancelling, .awaitingStandby: []
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
    case .terminating(let requests, _): requests.isEmpty
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
    case .retryAll, .readOnly: true
    case .retryReads, .unknown: request.isRetryable
    case .timeout, .overdue, .shutDown: false
    }
  }

  /// Returns the error of a request that is not retried.
  func error(for request: PoolStateMachine.Request) -> PointStoreError {
    switch self {
    case .retryAll(let reason), .retryReads(let reason): .unavailable(reason: reason)
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
