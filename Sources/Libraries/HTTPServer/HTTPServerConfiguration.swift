/// The address, the limits and the timeouts of a server.
package struct HTTPServerConfiguration: Sendable {
  /// The name or address to listen on.
  package var host: String

  /// The port to listen on; 0 is any free one.
  package var port: Int

  /// The number of connections that the system keeps waiting to be accepted.
  package var backlog = 1024

  /// The number of threads that serve connections; `nil` is one for each core.
  package var threads: Int?

  /// The value of the `Server` header field; `nil` sends none.
  package var serverName: String?

  /// The beginning of the `type` of problems that the server itself creates.
  package var problemTypePrefix = Problem.defaultTypePrefix

  /// The certificate and key for TLS; `nil` serves in the clear.
  package var tls: TLSIdentity?

  /// The limits of what a client may send or hold.
  package var limits = Limits()

  /// The timeouts of clients.
  package var timeouts = Timeouts()

  /// Returns the sender of a request, among which processor time is divided fairly.
  package var sender: @Sendable (HTTPRequest) -> RequestSender = { .address(TrustedProxies().client(of: $0)) }

  package init(host: String = "127.0.0.1", port: Int = 8080) {
    self.host = host
    self.port = port
  }

  /// The limits of what a client may send or hold.
  package struct Limits: Sendable {
    /// The maximum length of a request's target in bytes; a longer one is 414 `uri-too-long`.
    package var uriBytes = 8 * 1024

    /// The maximum length in bytes of the names and values of a request's header fields together; more is 431
    /// `headers-too-large`.
    package var headerBytes = 16 * 1024

    /// The maximum number of a request's header fields; more are 431 `headers-too-large`.
    package var headerCount = 100

    /// The maximum length in bytes of a request's body where its route declares no other; a longer one is 413
    /// `body-too-large`. `nil` is any length.
    package var bodyBytes: Int? = 1024 * 1024

    /// The maximum number of connections. One more is 503 `overloaded` and closed; where very many more come at once,
    /// or over TLS, they are closed without a response.
    package var connections = 10_000

    /// The maximum number of concurrent requests of an HTTP/2 connection, announced in SETTINGS.
    package var concurrentStreams = 100

    /// The maximum number of streams of an HTTP/2 connection that are reset in ten seconds, and of those with errors;
    /// one more ends the connection with `ENHANCE_YOUR_CALM` (CVE-2023-44487).
    package var streamResets = 200

    /// The maximum number of frames without a request, such as pings and settings, of an HTTP/2 connection in ten
    /// seconds; one more ends the connection with `ENHANCE_YOUR_CALM`.
    package var controlFrames = 200

    /// The number of unsent bytes of responses on an HTTP/2 connection above which its further requests wait.
    package var unsentBytes = 1024 * 1024

    /// The number of bytes of responses that all connections together may hold for clients that have not taken them
    /// yet. Above three quarters of it, long responses wait or are replaced by 503 `overloaded`, and idle readers are
    /// cut, as are slow ones of a client that holds much; the rest is for short ones.
    package var bufferedBytes = 256 * 1024 * 1024

    /// The maximum number of requests that wait for memory before their responses are produced; one more is 503
    /// `overloaded`.
    package var requestsWaitingForMemory = 256

    /// The maximum number of requests that the responder works on at once; one more is 503 `overloaded`.
    package var requestsInFlight = 10_000

    /// The maximum number of computations at once, each of which may take long; `nil` is one less than there are cores,
    /// and at least one.
    package var computations: Int?

    /// The number of places in the queue of computations. A client may take as many as are free; a request whose
    /// computation finds none is 503 `overloaded`.
    package var waitingComputations = 256

    /// The value of `Retry-After` with 503, in seconds.
    package var retryAfterSeconds = 1

    package init() {}
  }

  /// The timeouts of clients.
  package struct Timeouts: Sendable {
    /// The time from a request's first byte, or from the connection's start, to the end of its header section. After
    /// that the response is 408 `request-timeout`, or none if no byte has arrived.
    package var header: Duration = .seconds(10)

    /// The period in which ``minimumBytesPerPeriod`` of a body must arrive; else its reader gets
    /// ``HTTPBodyError/timedOut`` and the response is 408 `request-timeout`.
    package var body: Duration = .seconds(20)

    /// The time for which a connection may stay open without a request.
    package var idle: Duration = .seconds(60)

    /// The period in which the client's system must acknowledge ``minimumBytesPerPeriod`` of a response; else the
    /// connection is cut. For each 10 KiB that were acknowledged a client may be silent for a second longer, in all for
    /// five times this: a system with a large receive buffer acknowledges in steps. Over HTTP/2 a response whose own
    /// window is shut must proceed by a frame, of up to 8 KiB, as often; else it is broken off.
    package var write: Duration = .seconds(20)

    /// The time in which a client must take something of what it is sent while memory is short (see
    /// ``Limits/bufferedBytes``); else the connection is cut, those that are idle for the longest first. The rates of
    /// slow readers are measured over it.
    package var idleReader: Duration = .seconds(2)

    /// The maximum time for which a request waits for memory before its response is produced; past it the response is
    /// 503 `overloaded`.
    package var share: Duration = .seconds(2)

    /// The maximum time for which a computation waits for a thread and runs; past it the response is 503 `overloaded`
    /// where it has not started, and searches end.
    package var computation: Duration = .seconds(1)

    /// The time for which the responder continues after the client has sent its last byte. A client that has
    /// disconnected looks the same as one that only reads; after this time the responder is cancelled.
    package var hangUp: Duration = .seconds(1)

    /// The number of bytes that count as progress; see ``body`` and ``write``.
    package var minimumBytesPerPeriod = 1024

    /// The time for which a connection without a request yet is kept when the server drains.
    package var firstRequest: Duration = .seconds(2)

    /// The time for which an idle connection is kept when the server drains, for the request that may be on its way.
    package var lastRequest: Duration = .milliseconds(100)

    /// The time for which a connection that ends discards what the client still sends, so that it can read the last
    /// response (RFC 9112, section 9.6). It is longer, as long as ``write`` allows, where the client still takes that
    /// response.
    package var linger: Duration = .seconds(2)

    package init() {}
  }
}
