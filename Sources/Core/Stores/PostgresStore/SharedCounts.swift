import Points
import PostgresClient

/// The reads that count places and so read a large part of the table: few statements at a time, for all callers.
///
/// A count of all categories takes a second with ten million places. Callers with a statement each would take all
/// connections and the server's processors from the other reads.
///
/// - Equal reads share a statement. A caller gets the result of one that began after the call, so that it contains what
///   was committed before.
/// - A read that finds no free statement waits, up to a limit. A statement that all of its callers have left is not
///   run, or cancelled.
actor SharedCounts<Key: Hashable & Sendable, Value: Sendable> {
  private typealias Continuation = CheckedContinuation<Result<Value, PointStoreError>, Never>
  typealias Read = @Sendable () async throws(PointStoreError) -> Value

  /// A statement with its callers.
  private final class Count {
    let key: Key
    let read: Read
    var callers: [Int: Continuation] = [:]
    var task: Task<Void, Never>?

    init(_ key: Key, _ read: @escaping Read) {
      self.key = key
      self.read = read
    }
  }

  private let maximumRunning: Int
  private let maximumWaiting: Int
  private let waitTimeout: Duration
  private var running: [Count] = []
  private var waiting: [Count] = []
  private var lastCaller = 0

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - maximumRunning: the maximum number of statements at a time.
  ///   - maximumWaiting: the maximum number of different statements that wait.
  ///   - waitTimeout: the longest wait for the begin of a statement.
  init(maximumRunning: Int = 2, maximumWaiting: Int = 32, waitTimeout: Duration) {
    self.maximumRunning = maximumRunning
    self.maximumWaiting = maximumWaiting
    self.waitTimeout = waitTimeout
  }

  /// The number of callers that wait for a statement or its end.
  var callerCount: Int { (waiting + running).reduce(0) { $0 + $1.callers.count } }

  /// Returns the value of a statement that begins after the call.
  ///
  /// - Throws: the error of `read`; `.overloaded` where the statement did not begin in time or too many wait, and
  ///   `.timeout` for a cancelled task.
  func value(for key: Key, _ read: @escaping Read) async throws(PointStoreError) -> Value {
    lastCaller += 1
    let caller = lastCaller
    let expiry = Task { [waitTimeout] in
      try await Task.sleep(for: waitTimeout)
      expire(caller)
    }
    defer { expiry.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: Continuation) in
        if Task.isCancelled { return continuation.resume(returning: .failure(.timeout)) }
        if let count = waiting.first(where: { $0.key == key }) {
          count.callers[caller] = continuation
        } else if waiting.count < maximumWaiting {
          let count = Count(key, read)
          count.callers[caller] = continuation
          waiting.append(count)
          startNext()
        } else {
          continuation.resume(returning: .failure(.overloaded))
        }
      }
    } onCancel: {
      Task { await self.cancel(caller) }
    }
    return try result.get()
  }

  /// Starts the statements that have waited longest, each after an equal one has ended.
  private func startNext() {
    while running.count < maximumRunning,
      let index = waiting.firstIndex(where: { count in !running.contains { $0.key == count.key } })
    {
      let count = waiting.remove(at: index)
      running.append(count)
      count.task = Task { [read = count.read] in
        let result: Result<Value, PointStoreError>
        do throws(PointStoreError) {
          result = .success(try await read())
        } catch {
          result = .failure(error)
        }
        end(count, result)
      }
    }
  }

  private func end(_ count: Count, _ result: Result<Value, PointStoreError>) {
    running.removeAll { $0 === count }
    for continuation in count.callers.values { continuation.resume(returning: result) }
    startNext()
  }

  private func expire(_ caller: Int) {
    guard let count = waiting.first(where: { $0.callers[caller] != nil }) else { return }
    leave(count, caller, .overloaded)
  }

  private func cancel(_ caller: Int) {
    guard let count = (waiting + running).first(where: { $0.callers[caller] != nil }) else { return }
    leave(count, caller, .timeout)
  }

  private func leave(_ count: Count, _ caller: Int, _ error: PointStoreError) {
    count.callers.removeValue(forKey: caller)?.resume(returning: .failure(error))
    guard count.callers.isEmpty else { return }
    waiting.removeAll { $0 === count }
    count.task?.cancel()
  }
}

extension PostgresStore {
  /// A statement and its values.
  struct CountKey: Hashable, Sendable {
    let sql: String
    let parameters: Parameters
  }

  /// Runs a read-only statement that counts, together with the equal ones of other callers.
  ///
  /// - Throws: as ``read(_:)``, and `.overloaded` where too many other counts run.
  func readCount(_ query: (statement: Statement, parameters: Parameters)) async throws(PointStoreError) -> QueryResult {
    let key = CountKey(sql: query.statement.sql, parameters: query.parameters)
    return try await sharedCounts.value(for: key) { [self] () async throws(PointStoreError) in
      try await read(query.statement, query.parameters)
    }
  }
}
