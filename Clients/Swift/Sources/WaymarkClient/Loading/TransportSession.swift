import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A `URLSession` that passes each response to a ``ResponseReceiver``.
///
/// Foundation on Linux passes the data of a response to the delegate of the session only, not to that of the task.
/// There, the requests are sent by another session with the configuration of the given one, until this object is
/// deallocated.
final class TransportSession: Sendable {
  /// The session of the app.
  let urlSession: URLSession

  #if canImport(FoundationNetworking)
    private let router = ReceiverRouter()
    private let routed = Locked<URLSession?>(nil)
  #endif

  init(_ urlSession: URLSession) {
    self.urlSession = urlSession
  }

  #if canImport(FoundationNetworking)
    deinit {
      routed.withLock { $0 }?.finishTasksAndInvalidate()
    }
  #endif

  /// Sends a request and returns the body and head of its response.
  ///
  /// - Throws: `URLError`.
  func transfer(_ request: URLRequest, to receiver: ResponseReceiver) async throws -> (Data, URLResponse) {
    let task = task(for: request, receiver)
    return try await withTaskCancellationHandler {
      try await receiver.response { task.resume() }
    } onCancel: {
      task.cancel()
      receiver.finish(throwing: URLError(.cancelled))
    }
  }

  #if canImport(FoundationNetworking)
    private func task(for request: URLRequest, _ receiver: ResponseReceiver) -> URLSessionDataTask {
      let session = routed.withLock { session in
        if let session { return session }
        let configuration = urlSession.configuration
        configuration.urlCredentialStorage = nil
        let created = URLSession(configuration: configuration, delegate: router, delegateQueue: ImmediateQueue())
        session = created
        return created
      }
      let task = session.dataTask(with: request)
      router.add(receiver, for: task)
      return task
    }
  #else
    private func task(for request: URLRequest, _ receiver: ResponseReceiver) -> URLSessionDataTask {
      let task = urlSession.dataTask(with: request)
      task.delegate = receiver
      return task
    }
  #endif
}

/// The receiver of one response. It bounds the response's size and does not follow redirects.
///
/// It is `Sendable` because its properties are constant and `Sendable` themselves.
final class ResponseReceiver: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var body = Data()
    var response: URLResponse?
    var isDownload = false
    var isTooLarge = false
    var waiting: CheckedContinuation<(Data, URLResponse), any Error>?
    var result: Result<(Data, URLResponse), any Error>?
  }

  private let maximumBytes: Int
  private let download: Download?
  private let state = Locked(State())

  /// Creates a receiver.
  ///
  /// - Parameters:
  ///   - maximumBytes: the maximum size of the body in memory.
  ///   - download: where the body of a successful response goes instead; `nil` for memory.
  init(maximumBytes: Int, download: Download? = nil) {
    self.maximumBytes = maximumBytes
    self.download = download
  }

  /// A Boolean value that indicates whether the transfer was cancelled because of its size.
  var isTooLarge: Bool { state.withLock { $0.isTooLarge } }

  /// The identifier of the request, from the response.
  var requestID: String? {
    (state.withLock { $0.response } as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Request-Id")
  }

  /// Calls a function that starts the transfer, and returns the response at its end.
  func response(start: () -> Void) async throws -> (Data, URLResponse) {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state in
        if state.result == nil { state.waiting = continuation }
        return state.result
      }
      if let result { continuation.resume(with: result) } else { start() }
    }
  }

  /// Ends the transfer with an error; `nil` for the response that was received. Later calls have no effect.
  func finish(throwing error: (any Error)?) {
    let (waiting, result) = state.withLock { state in
      let received = state.response.map { (state.body, $0) }
      let result: Result<(Data, URLResponse), any Error> =
        if let received, error == nil { .success(received) } else { .failure(error ?? URLError(.badServerResponse)) }
      if state.result == nil { state.result = result }
      defer { state.waiting = nil }
      return (state.waiting, result)
    }
    waiting?.resume(with: result)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let isDownload = download != nil && (response as? HTTPURLResponse).map { (200...299) ~= $0.statusCode } ?? false
    if isDownload { download?.begin() }
    let isTooLarge = !isDownload && response.expectedContentLength > Int64(maximumBytes)
    state.withLock { state in
      state.response = response
      state.isDownload = isDownload
      state.isTooLarge = isTooLarge
    }
    completionHandler(isTooLarge ? .cancel : .allow)
    // Foundation on Linux ignores the disposition.
    if isTooLarge { dataTask.stop() }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if let download, state.withLock({ $0.isDownload }) {
      guard !download.append(data) else { return }
      dataTask.stop()
      return finish(throwing: URLError(.cannotWriteToFile))
    }
    let exceedsTheMaximum = state.withLock { state in
      guard !state.isTooLarge else { return false }
      guard data.count <= maximumBytes - state.body.count else {
        state.isTooLarge = true
        state.body = Data()
        return true
      }
      state.body.append(data)
      return false
    }
    guard exceedsTheMaximum else { return }
    dataTask.stop()
    finish(throwing: URLError(.dataLengthExceedsMaximum))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    state.withLock { $0.response = response }
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    finish(throwing: error)
  }
}

extension URLSessionTask {
  /// Cancels the task. On Linux that waits for the queue on which the delegate runs, so it happens on another one.
  fileprivate func stop() {
    #if canImport(FoundationNetworking)
      DispatchQueue.global().async { self.cancel() }
    #else
      cancel()
    #endif
  }
}

#if canImport(FoundationNetworking)
  /// The queue of a session's delegate, which runs each block at once on the thread that adds it.
  ///
  /// Foundation on Linux does not wait for the delegate while it decompresses a body. On another thread, the delegate
  /// would notice that a body is too large only after most of it, perhaps gigabytes, is in the queue.
  ///
  /// It is `Sendable` because it has no state of its own.
  private final class ImmediateQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @Sendable @escaping () -> Void) { block() }
  }

  /// The delegate of a session, which passes the messages of each task to its receiver.
  ///
  /// It is `Sendable` because its only property is constant and `Sendable` itself.
  private final class ReceiverRouter: NSObject, URLSessionDataDelegate, Sendable {
    private let receivers = Locked<[Int: ResponseReceiver]>([:])

    /// Sets the receiver of a task that has not been started.
    func add(_ receiver: ResponseReceiver, for task: URLSessionTask) {
      receivers.withLock { $0[task.taskIdentifier] = receiver }
    }

    private func receiver(of task: URLSessionTask) -> ResponseReceiver? {
      receivers.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      receiver(of: dataTask)?
        .urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      receiver(of: dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      receiver(of: task)?.urlSession(
        session, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }

    /// Ends the transfer with the response whose status is 401. By default, Foundation would wait for ever for a
    /// credential of the scheme `Basic`.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      receiver(of: task)?.finish(throwing: nil)
      DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let receiver = receivers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
      receiver?.finish(throwing: error)
    }
  }
#endif
