import NIOCore

/// Where a streamed body is written.
public struct HTTPResponseWriter: Sendable {
  private let send: @Sendable (ByteBuffer) async throws -> Void

  /// Creates a writer that passes each buffer on, for answers made in process.
  public init(_ send: @escaping @Sendable (ByteBuffer) async throws -> Void) {
    self.send = send
  }

  /// Sends the bytes, and returns when the connection takes more: a client that reads slowly slows the writer down.
  ///
  /// - Throws: ``HTTPConnectionClosed`` when the client has gone or the server has cut the connection.
  public func write(_ bytes: ByteBuffer) async throws {
    try await send(bytes)
  }
}

/// The connection ended before everything was written.
public struct HTTPConnectionClosed: Error, Hashable, Sendable {
  /// Creates the error.
  public init() {}
}
