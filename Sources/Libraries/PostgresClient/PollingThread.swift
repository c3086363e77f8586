import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A thread that polls sockets and timers, and serves as an executor of actors.
///
/// An actor with this executor may own connections: the compiler then ensures that no other code accesses them. Sockets
/// and timers are registered on that thread only.
///
/// It uses `poll(2)`: for the number of sockets in a connection pool that is no slower than `epoll`, and it is
/// portable.
package final class PollingThread: SerialExecutor {
  /// The events that a socket is polled for.
  struct Readiness: OptionSet, Sendable {
    let rawValue: UInt8

    /// The socket can be read, or the peer has closed it.
    static let readable = Readiness(rawValue: 1)
    /// The socket can be written.
    static let writable = Readiness(rawValue: 2)
  }

  struct TimerID: Hashable, Sendable {
    fileprivate let number: Int
  }

  private enum Message {
    case job(UnownedJob)
    case work(@Sendable () -> Void)
  }

  private struct Inbox {
    var messages: [Message] = []
    var isAsleep = false
    var isStopping = false
    var timers = 0
  }

  private struct Watch {
    var interest: Readiness
    let handler: @Sendable (Readiness) -> Void
  }

  private struct Timer {
    let deadline: ContinuousClock.Instant
    let handler: @Sendable () -> Void
  }

  private let inbox = Mutex(Inbox())
  private let threadID = Atomic<UInt>(0)
  private let bell: (readEnd: Int32, writeEnd: Int32)

  // Accessed on the thread only: `watch`, `setTimer` and similar methods check that, and `run` calls the rest.
  private nonisolated(unsafe) var watches: [Int32: Watch] = [:]
  private nonisolated(unsafe) var timers: [TimerID: Timer] = [:]
  private nonisolated(unsafe) var polled: [pollfd] = []
  private nonisolated(unsafe) var watchesChanged = true

  /// Creates and starts a thread; `nil` when the system can't create a thread or a pipe.
  package init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    bell = (ends[0], ends[1])
    guard DetachedThread.start({ self.run() }) else { return nil }
  }

  deinit {
    close(bell.readEnd)
    close(bell.writeEnd)
  }

  // MARK: From any thread

  package func enqueue(_ job: consuming ExecutorJob) {
    post(.job(UnownedJob(job)))
  }

  /// Submits work to the thread, which runs it in order of submission.
  package func submit(_ work: @escaping @Sendable () -> Void) {
    post(.work(work))
  }

  /// Lets the thread end once no work is left. Only the last owner may call it: work that is submitted later is
  /// dropped.
  package func stop() {
    post(.work { self.inbox.withLock { $0.isStopping = true } })
  }

  package func checkIsolated() {
    precondition(isCurrent, "this may only be accessed on its polling thread")
  }

  package func isIsolatingCurrentContext() -> Bool? { isCurrent }

  func makeTimerID() -> TimerID {
    inbox.withLock { inbox in
      inbox.timers += 1
      return TimerID(number: inbox.timers)
    }
  }

  private var isCurrent: Bool { threadID.load(ordering: .relaxed) == DetachedThread.currentID }

  private func post(_ message: Message) {
    let wasAsleep = inbox.withLock { inbox in
      inbox.messages.append(message)
      defer { inbox.isAsleep = false }
      return inbox.isAsleep
    }
    guard wasAsleep else { return }
    var byte: UInt8 = 1
    // If the pipe is full the thread wakes up anyway, so a failure here does no harm.
    _ = write(bell.writeEnd, &byte, 1)
  }

  // MARK: On the thread

  /// Registers a handler that is called whenever the socket is ready, until ``unwatch(_:)``.
  func watch(_ socket: Int32, for interest: Readiness, handler: @escaping @Sendable (Readiness) -> Void) {
    checkIsolated()
    watches[socket] = Watch(interest: interest, handler: handler)
    watchesChanged = true
  }

  /// Changes the events that a registered socket is polled for.
  func setInterest(_ interest: Readiness, of socket: Int32) {
    checkIsolated()
    guard let watch = watches[socket], watch.interest != interest else { return }
    watches[socket]?.interest = interest
    watchesChanged = true
  }

  /// Removes a socket. It must be called before the socket is closed.
  func unwatch(_ socket: Int32) {
    checkIsolated()
    watches[socket] = nil
    watchesChanged = true
  }

  /// Calls the handler once, at the deadline; `nil` cancels the timer.
  func setTimer(_ id: TimerID, at deadline: ContinuousClock.Instant?, handler: @escaping @Sendable () -> Void) {
    checkIsolated()
    timers[id] = deadline.map { Timer(deadline: $0, handler: handler) }
  }

  private func run() {
    threadID.store(DetachedThread.currentID, ordering: .relaxed)
    while true {
      let messages = inbox.withLock { inbox in
        defer { inbox.messages = [] }
        return inbox.messages
      }
      for message in messages {
        switch message {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .work(let work): work()
        }
      }
      let (isAsleep, isStopping) = inbox.withLock { inbox in
        inbox.isAsleep = inbox.messages.isEmpty && !inbox.isStopping
        return (inbox.isAsleep, inbox.isStopping && inbox.messages.isEmpty)
      }
      if isStopping { break }
      wait(isAsleep: isAsleep)
    }
    threadID.store(0, ordering: .relaxed)
  }

  private func wait(isAsleep: Bool) {
    if watchesChanged { gatherPolled() }
    var milliseconds: Int32 = 0
    if isAsleep {
      let deadline = timers.values.lazy.map(\.deadline).min()
      milliseconds = deadline.map { max(0, Int32(clamping: Int((($0 - .now) / .milliseconds(1)).rounded(.up)))) } ?? -1
    }
    let count = poll(&polled, nfds_t(polled.count), milliseconds)
    if isAsleep { inbox.withLock { $0.isAsleep = false } }
    if count > 0 { callHandlers() }
    fireTimers()
  }

  private func gatherPolled() {
    polled = [pollfd(fd: bell.readEnd, events: Int16(POLLIN), revents: 0)]
    for (socket, watch) in watches {
      var events: Int32 = 0
      if watch.interest.contains(.readable) { events |= Int32(POLLIN) }
      if watch.interest.contains(.writable) { events |= Int32(POLLOUT) }
      polled.append(pollfd(fd: socket, events: Int16(events), revents: 0))
    }
    watchesChanged = false
  }

  private func callHandlers() {
    if polled[0].revents != 0 {
      var drained = (UInt64(0), UInt64(0))
      while read(bell.readEnd, &drained, 16) == 16 {}
    }
    for entry in polled.dropFirst() where entry.revents != 0 {
      // An earlier handler may have removed this socket.
      guard let watch = watches[entry.fd] else { continue }
      let events = Int32(entry.revents)
      var readiness: Readiness = []
      if events & ~Int32(POLLOUT) != 0 { readiness.insert(.readable) }
      if events & Int32(POLLOUT) != 0 { readiness.insert(.writable) }
      watch.handler(readiness)
    }
  }

  private func fireTimers() {
    guard !timers.isEmpty else { return }
    let now = ContinuousClock.now
    for (id, timer) in timers where timer.deadline <= now {
      timers[id] = nil
      timer.handler()
    }
  }
}

/// A thread for blocking work, which must not run on Swift's cooperative pool.
package enum DetachedThread {
  /// Starts a thread that runs the body and then ends.
  ///
  /// - Returns: `false` if the system could not create a thread.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let argument = Unmanaged.passRetained(Body(run: body))
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let status = pthread_create(&thread, nil, threadMain, argument.toOpaque())
    guard status == 0 else {
      argument.release()
      return false
    }
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
    return true
  }

  /// An identifier of the calling thread, unique among the live threads.
  static var currentID: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  fileprivate final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }
}

#if canImport(Darwin)
  private func threadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<DetachedThread.Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
  }
#else
  private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    Unmanaged<DetachedThread.Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
  }
#endif
