import Foundation

/// The credentials of a user of the service: an API key or a token, sent as `Authorization: Bearer` (RFC 6750).
///
/// They are sent only to the server in the base URL. A redirect to another server is followed without them.
///
/// ```swift
/// let waymark = Waymark(baseURL: baseURL, credentials: .apiKey("wm_…"))
/// ```
///
/// A token that expires comes from a provider. When the service responds with 401, the provider is called again with
/// the rejected token, once for all requests that wait for it, and each of these is sent again.
///
/// ```swift
/// let credentials = Credentials(user: account.id) { rejected in
///   try await account.accessToken(replacing: rejected)
/// }
/// ```
public struct Credentials: Sendable {
  /// A stable identifier of the user, which keeps the cached responses of different users apart.
  public let user: String

  let store: CredentialStore

  /// Creates credentials from a provider.
  ///
  /// ```swift
  /// let credentials = Credentials(user: account.id) { rejected in
  ///   try await account.accessToken(replacing: rejected)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - user: a stable identifier of the user. It is not sent.
  ///   - provider: returns the key or token; `nil` sends the request without one. Its argument is the value that the
  ///   service has rejected, `nil` at the first call. To give up, it returns the rejected value or throws an error,
  ///   which the request then fails with, unless a stored response can be used.
  public init(user: String, provider: @escaping @Sendable (_ rejected: String?) async throws -> String?) {
    self.user = user
    store = CredentialStore(provider: provider)
  }

  /// Returns the credentials of an API key.
  ///
  /// ```swift
  /// let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
  /// ```
  public static func apiKey(_ key: String) -> Credentials { fixed(key) }

  /// Returns the credentials of a token that does not expire while the app runs.
  ///
  /// ```swift
  /// let waymark = Waymark(baseURL: baseURL, credentials: .token(token))
  /// ```
  public static func token(_ token: String) -> Credentials { fixed(token) }

  private static func fixed(_ secret: String) -> Credentials {
    // The hash has too few bits to reveal a key of the service, which has 128 random ones at least.
    Credentials(user: String(FNV1a.hash(secret.utf8), radix: 16)) { _ in secret }
  }
}

/// The current secret of ``Credentials``, and the only call of its provider.
actor CredentialStore {
  private struct Flight {
    let number: Int
    let task: Task<Void, Never>
    var waiting: [Int: CheckedContinuation<String?, any Error>] = [:]
  }

  private let provider: @Sendable (String?) async throws -> String?

  /// The result of the last successful call of the provider; `nil` before it.
  private var known: String??
  private var flight: Flight?
  private var lastNumber = 0

  init(provider: @escaping @Sendable (String?) async throws -> String?) {
    self.provider = provider
  }

  /// Returns the current secret, from the provider if there is none yet or it was rejected. Concurrent callers share
  /// one call of the provider, which is cancelled when all of them are.
  ///
  /// - Throws: the provider's errors, or `CancellationError`.
  func secret(rejected: String? = nil) async throws -> String? {
    if let known, rejected == nil || known != rejected { return known }
    lastNumber += 1
    let number = lastNumber
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
        if flight == nil { flight = start(number, rejected: rejected) }
        flight?.waiting[number] = continuation
      }
    } onCancel: {
      Task { await self.stopWaiting(number) }
    }
  }

  private func start(_ number: Int, rejected: String?) -> Flight {
    let provider = provider
    let task = Task {
      do {
        finish(number, .success(try await provider(rejected)))
      } catch {
        finish(number, .failure(error))
      }
    }
    return Flight(number: number, task: task)
  }

  private func finish(_ number: Int, _ result: Result<String?, any Error>) {
    guard let finished = flight, finished.number == number else { return }
    flight = nil
    if case .success(let secret) = result { known = .some(secret) }
    for continuation in finished.waiting.values { continuation.resume(with: result) }
  }

  private func stopWaiting(_ number: Int) {
    guard let continuation = flight?.waiting.removeValue(forKey: number) else { return }
    continuation.resume(throwing: CancellationError())
    if flight?.waiting.isEmpty == true {
      flight?.task.cancel()
      flight = nil
    }
  }
}
