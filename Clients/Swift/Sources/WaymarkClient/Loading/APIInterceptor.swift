#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// An observer of requests that may change them, for example for additional header fields, logs or traces.
///
/// Interceptors see each attempt of a request, without its credential. A redirect to another server does not carry the
/// header fields that they add.
///
/// ```swift
/// struct RequestIDs: APIInterceptor {
///   func prepare(_ request: URLRequest) async throws -> URLRequest {
///     var request = request
///     request.setValue(UUID().uuidString, forHTTPHeaderField: "X-Request-Id")
///     return request
///   }
/// }
/// ```
public protocol APIInterceptor: Sendable {
  /// Returns the request to send in place of the given one.
  ///
  /// - Throws: an error, with which the request fails without being sent.
  func prepare(_ request: URLRequest) async throws -> URLRequest

  /// Observes the outcome of an attempt.
  ///
  /// ```swift
  /// struct RequestLog: APIInterceptor {
  ///   func didComplete(_ exchange: APIExchange) async {
  ///     print(exchange.request.url?.path() ?? "", exchange.attempt, exchange.status ?? 0)
  ///   }
  /// }
  /// var waymark = Waymark(baseURL: baseURL)
  /// waymark.configuration.interceptors = [RequestLog()]
  /// ```
  func didComplete(_ exchange: APIExchange) async
}

extension APIInterceptor {
  /// Returns the request unchanged.
  public func prepare(_ request: URLRequest) async throws -> URLRequest { request }

  /// Does nothing.
  public func didComplete(_ exchange: APIExchange) async {}
}

/// An attempt to send a request, and its outcome.
///
/// ```swift
/// struct FailureCount: APIInterceptor {
///   let increment: @Sendable () -> Void
///
///   func didComplete(_ exchange: APIExchange) async {
///     if exchange.error != nil { increment() }
///   }
/// }
/// ```
public struct APIExchange: Sendable {
  /// The request, without its credential.
  public let request: URLRequest

  /// The number of the attempt, counted from 1.
  public let attempt: Int

  /// The status of the response; `nil` where there was none.
  public let status: Int?

  /// The identifier of the request, from the response.
  public let requestID: String?

  /// The error, if there was no response.
  public let error: WaymarkError?
}
