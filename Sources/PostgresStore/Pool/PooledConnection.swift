import Points

/// One connection of a ``PoolStateMachine``: where it is in its life, and what each event does to it.
///
/// ```
///                     ┌────────────── finished ──────────────┐
///                     ▼                                      │
/// connecting ──▶    idle    ── run ──▶  busy ── cancelled ──▶ cancelling   (a read that no caller waits for)
///      connected      ▲                  │
///                     │                  └─ overdue ─▶ ending              (a write past its deadline)
///                     │                                  │ ▲
///                     └──── finished ── awaitingStandby ◀┘ │
///                                              └─ overdue ─┘
/// ```
///
/// | event            | connecting | idle   | busy                      | cancelling | ending              | awaitingStandby |
/// | ---------------- | ---------- | ------ | ------------------------- | ---------- | ------------------- | --------------- |
/// | `connected`      | free       | ignore | ignore                    | ignore     | ignore              | ignore          |
/// | `failed`         | close      | ignore | ignore                    | ignore     | ignore              | ignore          |
/// | `finished`       | ignore     | ignore | free                      | free       | close               | free            |
/// | `lost`           | close      | close  | close, repeat or fail     | close      | close, fail         | close           |
/// | `overdue`        | close      | ignore | close, or ending if write | close      | close, fail         | ending          |
/// | `cancelled`      | ignore     | ignore | cancelling if read        | ignore     | stay                | ignore          |
/// | `mayNotEnd`      | ignore     | ignore | ignore                    | ignore     | close, fail         | ignore          |
/// | `waitsForCommit` | ignore     | ignore | ignore                    | ignore     | awaitingStandby     | ignore          |
/// | `shutDown`       | close      | close  | close, fail               | close      | close, fail         | close           |
///
/// `free` means: it takes the next request or becomes idle, or, where its generation is older than the pool's, is
/// closed. A generation begins when a server is found read-only, and when a connection leads to another server that
/// takes writes than those before it. Every connection that existed at that moment, one in the making included, may lead
/// to the old server: none of them ever runs another request.
struct PooledConnection {
  typealias Instant = PoolStateMachine.Instant
  typealias Request = PoolStateMachine.Request

  enum State {
    /// Being established.
    case connecting(until: Instant)
    /// Established and without a request.
    case idle
    /// Running requests: one, several reads of a group, or none where it is a write whose caller has gone.
    case busy([Request], until: Instant)
    /// Being asked to stop a read that no caller waits for any more.
    case cancelling(until: Instant)
    /// Running a write that is past its deadline, and whose backend is being terminated.
    case ending([Request], until: Instant)
    /// Running a write that has committed on the primary and waits for a synchronous standby; no caller waits for it.
    /// It is looked at again at that time.
    case awaitingStandby(until: Instant)
  }

  enum Event {
    case connected
    case failed
    case finished
    case lost(reason: String, StatementFate)
    /// Its deadline has passed; where a backend is to be terminated, it has until then.
    case overdue(endUntil: Instant)
    case cancelled(PoolStateMachine.RequestID)
    /// The backend could not be told to end.
    case mayNotEnd(reason: String)
    /// The backend was left alone because its commit waits for a synchronous standby; it is looked at again then.
    case waitsForCommit(until: Instant)
    case shutDown
  }

  /// What becomes of a connection.
  enum Reaction {
    /// The event is late or can't happen in this state; nothing changes.
    case ignore
    /// It can take another request.
    case free
    /// It is closed; these requests end so.
    case close([Request], Ending)
    /// It goes on in another state, or the same one with other requests.
    case enter(State)
  }

  /// How the requests of a connection that is closed end.
  enum Ending {
    /// The server takes no writes or has lost the statement: each request is repeated once.
    case repeatAll(reason: String)
    /// Reads are repeated once; a write fails, which is known not to have been made.
    case repeatReads(reason: String)
    /// Reads are repeated once; a write may have been made.
    case unknown(reason: String)
    /// All fail by their deadline, and none has changed anything.
    case timeout
    /// A write may have been made or not, and a read has taken too long.
    case overdue(reason: String)
    /// The pool is shut down.
    case shutDown
  }

  var state: State
  /// The pool's generation when the connection was begun, or the one that it has begun.
  var generation: Int
  /// The server that it leads to, once it is established.
  var server: ServerIdentity?

  /// Returns what an event does to the connection.
  func reaction(to event: Event) -> Reaction {
    switch (state, event) {
    case (.connecting, .connected): .free
    case (.connecting, .failed), (.connecting, .lost), (.connecting, .overdue), (.connecting, .shutDown):
      .close([], .timeout)
    case (.connecting, .finished), (.connecting, .cancelled), (.connecting, .mayNotEnd), (.connecting, .waitsForCommit):
      .ignore

    case (.idle, .lost), (.idle, .shutDown): .close([], .timeout)
    case (.idle, .connected), (.idle, .failed), (.idle, .finished), (.idle, .overdue), (.idle, .cancelled),
      (.idle, .mayNotEnd), (.idle, .waitsForCommit):
      .ignore

    case (.busy, .finished): .free
    case (.busy(let requests, _), .lost(let reason, let fate)): .close(requests, Self.ending(reason, fate))
    case (.busy(let requests, _), .overdue(let until)):
      Self.isWrite(requests) ? .enter(.ending(requests, until: until)) : .close(requests, .timeout)
    case (.busy(let requests, let until), .cancelled(let id)):
      .enter(Self.busy(requests, without: id, until: until))
    case (.busy(let requests, _), .shutDown): .close(requests, .shutDown)
    case (.busy, .connected), (.busy, .failed), (.busy, .mayNotEnd), (.busy, .waitsForCommit): .ignore

    case (.cancelling, .finished): .free
    case (.cancelling, .lost), (.cancelling, .overdue), (.cancelling, .shutDown): .close([], .timeout)
    case (.cancelling, .connected), (.cancelling, .failed), (.cancelling, .cancelled), (.cancelling, .mayNotEnd),
      (.cancelling, .waitsForCommit):
      .ignore

    // The request has its result; the signal to end may still reach the backend.
    case (.ending, .finished): .close([], .timeout)
    case (.ending(let requests, _), .lost(let reason, .unknown)): .close(requests, .overdue(reason: reason))
    case (.ending(let requests, _), .lost(_, .undone)), (.ending(let requests, _), .lost(_, .refused)):
      .close(requests, .timeout)
    case (.ending(let requests, _), .overdue):
      .close(requests, .overdue(reason: "the server took too long, and did not end the statement in time"))
    case (.ending(let requests, _), .mayNotEnd(let reason)): .close(requests, .overdue(reason: reason))
    case (.ending(let requests, let until), .cancelled(let id)):
      .enter(.ending(requests.filter { $0.id != id }, until: until))
    case (.ending, .waitsForCommit(let until)): .enter(.awaitingStandby(until: until))
    case (.ending(let requests, _), .shutDown): .close(requests, .shutDown)
    case (.ending, .connected), (.ending, .failed): .ignore

    case (.awaitingStandby, .finished): .free
    case (.awaitingStandby, .overdue(let until)): .enter(.ending([], until: until))
    case (.awaitingStandby, .lost), (.awaitingStandby, .shutDown): .close([], .timeout)
    case (.awaitingStandby, .connected), (.awaitingStandby, .failed), (.awaitingStandby, .cancelled),
      (.awaitingStandby, .mayNotEnd), (.awaitingStandby, .waitsForCommit):
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

  /// A write runs alone, and goes on without its caller.
  private static func isWrite(_ requests: [Request]) -> Bool { requests.allSatisfy { !$0.mayBeRepeated } }

  private static func ending(_ reason: String, _ fate: StatementFate) -> Ending {
    switch fate {
    case .refused: .repeatAll(reason: reason)
    case .undone: .repeatReads(reason: reason)
    case .unknown: .unknown(reason: reason)
    }
  }

  /// The requests that wait for the connection's result.
  var requests: [Request] {
    switch state {
    case .busy(let requests, _), .ending(let requests, _): requests
    case .connecting, .idle, .cancelling, .awaitingStandby: []
    }
  }

  /// The time at which ``Event/overdue`` comes.
  var deadline: Instant? {
    switch state {
    case .connecting(let until), .busy(_, let until), .cancelling(let until), .ending(_, let until),
      .awaitingStandby(let until):
      until
    case .idle: nil
    }
  }

  var isConnecting: Bool { if case .connecting = state { true } else { false } }

  /// A Boolean value that indicates whether a write without a caller holds the connection, and waits for a standby as far
  /// as is known: also while its backend is being looked at again.
  var isAwaitingStandby: Bool {
    switch state {
    case .awaitingStandby: true
    case .ending(let requests, _): requests.isEmpty
    case .connecting, .idle, .busy, .cancelling: false
    }
  }

  /// A Boolean value that indicates whether the connection is established and may take another request soon.
  var isServing: Bool {
    switch state {
    case .idle, .busy, .cancelling: true
    case .connecting, .ending, .awaitingStandby: false
    }
  }
}

extension PooledConnection.Ending {
  /// Returns whether a request that has not been repeated may be.
  func mayRepeat(_ request: PoolStateMachine.Request) -> Bool {
    switch self {
    case .repeatAll: true
    case .repeatReads, .unknown: request.mayBeRepeated
    case .timeout, .overdue, .shutDown: false
    }
  }

  /// Returns the error of a request that is not repeated.
  func error(for request: PoolStateMachine.Request) -> PointStoreError {
    switch self {
    case .repeatAll(let reason), .repeatReads(let reason): .unavailable(reason: reason)
    case .unknown(let reason): request.mayBeRepeated ? .unavailable(reason: reason) : .outcomeUnknown(reason: reason)
    case .timeout: .timeout
    case .overdue(let reason): request.mayBeRepeated ? .timeout : .outcomeUnknown(reason: reason)
    case .shutDown:
      request.mayBeRepeated
        ? .unavailable(reason: PoolStateMachine.shutDownReason)
        : .outcomeUnknown(reason: PoolStateMachine.shutDownReason)
    }
  }
}

/// What became of the statement that was in progress when a connection ended.
enum StatementFate: Hashable, Sendable {
  /// The server did nothing and would do nothing on this connection: it takes no writes, or has lost the statement.
  case refused
  /// The statement was not run, or was rolled back.
  case undone
  /// The statement may have been committed, and may be yet.
  case unknown
}
