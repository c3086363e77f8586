/// What a server listens on, and what it puts up with.
public struct HTTPServerConfiguration: Sendable {
  /// The name or address to listen on.
  public var host: String

  /// The port to listen on; 0 is any free one.
  public var port: Int

  /// How many connections the system keeps waiting to be accepted.
  public var backlog = 1024

  /// How many threads serve connections; `nil` is one for each core.
  public var threads: Int?

  /// The value of the `Server` header field; `nil` sends none.
  public var serverName: String?

  /// What the `type` of a problem that the server itself answers with begins with.
  public var problemTypePrefix = Problem.defaultTypePrefix

  /// What the server proves itself with; `nil` speaks in the clear.
  public var tls: TLSIdentity?

  /// What is told of each request when its answer has ended.
  public var observer: (any RequestObserver)?

  /// What a client may ask for.
  public var limits = Limits()

  /// How long a client may take.
  public var timeouts = Timeouts()

  /// Creates a configuration.
  public init(host: String = "127.0.0.1", port: Int = 8080) {
    self.host = host
    self.port = port
  }

  /// What a client may ask for.
  public struct Limits: Sendable {
    /// The longest target of a request, in bytes; a longer one is answered with 414 `uri-too-long`.
    public var uriBytes = 8 * 1024

    /// The most bytes that the names and values of a request's header fields may have together; more are answered with
    /// 431 `headers-too-large`.
    public var headerBytes = 16 * 1024

    /// The most header fields of a request; more are answered with 431 `headers-too-large`.
    public var headerCount = 100

    /// The longest body that a request has where its route says nothing, in bytes; a longer one is answered with 413
    /// `body-too-large`. `nil` is any length.
    public var bodyBytes: Int? = 1024 * 1024

    /// How many connections there may be. One more is answered with 503 `overloaded` and closed; where very many more
    /// come at once, or over TLS, they are closed without an answer.
    public var connections = 10_000

    /// How many requests a connection of HTTP/2 may have open at once; the client is told.
    public var concurrentStreams = 100

    /// How many requests a connection of HTTP/2 may break off in ten seconds, and how many it may get wrong; one more
    /// ends the connection with `ENHANCE_YOUR_CALM` (CVE-2023-44487).
    public var streamResets = 200

    /// How many frames a connection of HTTP/2 may send in ten seconds that ask for nothing, such as pings and settings;
    /// one more ends the connection with `ENHANCE_YOUR_CALM`.
    public var controlFrames = 200

    /// From how many bytes of answers on, made and not yet taken by the client, a connection of HTTP/2 lets further
    /// requests wait.
    public var unsentBytes = 1024 * 1024

    /// The number of bytes of responses that all connections together may hold for clients that have not taken them yet.
    /// Above three quarters of it, long responses wait or are answered with 503 `overloaded`, and idle readers are cut;
    /// the rest is for short ones.
    public var bufferedBytes = 256 * 1024 * 1024

    /// The number of requests that may wait for memory before their responses are produced; one more is answered with
    /// 503 `overloaded`.
    public var requestsWaitingForMemory = 256

    /// How many requests may be with the responder at once; one more is answered with 503 `overloaded`.
    public var requestsInFlight = 10_000

    /// What `Retry-After` says to those that are answered with 503, in seconds.
    public var retryAfterSeconds = 1

    /// Creates the defaults.
    public init() {}
  }

  /// How long a client may take.
  public struct Timeouts: Sendable {
    /// From a request's first byte, or from the connection's start, to the end of its header section. Past it the
    /// answer is 408 `request-timeout`, or none where not a byte has come.
    public var header: Duration = .seconds(10)

    /// While a body is awaited, this is how often ``minimumBytesPerPeriod`` must have arrived; else its reader gets
    /// ``HTTPBodyError/timedOut`` and the answer is 408 `request-timeout`.
    public var body: Duration = .seconds(20)

    /// How long a connection may stay open without a request.
    public var idle: Duration = .seconds(60)

    /// While a response is sent, this is how often ``minimumBytesPerPeriod`` must have been acknowledged by the client's
    /// system; else the connection is cut. For each 10 KiB that were acknowledged a client may be silent for a second
    /// longer, in all for five times this: a system with a large receive buffer acknowledges in steps. Over HTTP/2 a response whose own window is shut must go on by a frame, of up
    /// to 8 KiB, as often; else it is broken off.
    public var write: Duration = .seconds(20)

    /// The time in which a client must take something of what it is sent while memory is short (see
    /// ``Limits/bufferedBytes``); else the connection is cut, those that are idle for the longest first.
    public var idleReader: Duration = .seconds(2)

    /// The longest time that a request waits for memory before its response is produced; past it the response is 503
    /// `overloaded`.
    public var share: Duration = .seconds(2)

    /// How long a request is still worked on whose client has sent its last byte. A client that has gone looks the same
    /// as one that only reads on; past this the responder is cancelled.
    public var hangUp: Duration = .seconds(1)

    /// How many bytes are progress; see ``body`` and ``write``.
    public var minimumBytesPerPeriod = 1024

    /// When the server drains, how long handshakes that have begun may take to end; the connections are then accepted.
    public var handshake: Duration = .milliseconds(250)

    /// When the server drains, how long a connection is kept whose first request has not begun.
    public var firstCall: Duration = .seconds(2)

    /// How long an idle connection is kept when the server drains, for the request that may be on its way.
    public var lastCall: Duration = .milliseconds(100)

    /// How long a connection that is done for is kept to throw away what the client still sends, so that it can read
    /// the last answer (RFC 9112, section 9.6). Longer, as long as ``write`` allows, where it still takes that answer.
    public var linger: Duration = .seconds(2)

    /// Creates the defaults.
    public init() {}
  }
}
