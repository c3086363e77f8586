#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A thread for blocking work, which must not run on Swift's cooperative pool.
enum DetachedThread {
  /// Starts a thread that runs the body and then ends.
  ///
  /// - Returns: `false` if the system could not create a thread.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
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
