public import Foundation

/// The error of a request without a usable response.
///
/// A cancelled task gets `CancellationError`, and invalid input ``RequestError``. All other failures are of this type,
/// except the errors that an app's own ``Credentials`` or ``APIInterceptor`` throws.
///
/// ```swift
/// do {
///   _ = try await waymark.place(id)
/// } catch WaymarkError.problem(let problem) where problem.code == .notFound {
///   print("The place was deleted.")
/// } catch let error as WaymarkError {
///   print(error.localizedDescription, error.requestID ?? "")
/// }
/// ```
public enum WaymarkError: Error, Hashable, Sendable {
  /// The service rejected the request or failed, with problem details.
  case problem(ProblemDetails)

  /// The status is an error without problem details, for example from a proxy.
  case unexpectedStatus(Int, requestID: String? = nil)

  /// The body of the response could not be decoded.
  case unreadable(status: Int, reason: String, requestID: String? = nil)

  /// The body of the response exceeds ``LoaderConfiguration/maximumResponseBytes``.
  case tooLarge(maximumBytes: Int, requestID: String? = nil)

  /// The link to the next page leads elsewhere.
  case untrustedLink(String)

  /// The link to the next page leads to a page that has been loaded before.
  case repeatedPage(String)

  /// The service redirects to an address that must not be requested: from `https` to `http`, or a write to another
  /// server.
  case untrustedRedirect(String, requestID: String? = nil)

  /// No response arrived: the service could not be reached, or not in time.
  case unreachable(URLError.Code, requestID: String? = nil)

  /// Something else responded in place of the service, usually the sign-in page of a network: with HTML, a certificate
  /// of its own, or status 407 or 511. The reason is for logs.
  case notReached(reason: String, requestID: String? = nil)
}

extension WaymarkError {
  /// The identifier of the request, by which the service's operator finds it in the logs; `nil` where no response
  /// arrived and no interceptor set `X-Request-Id`.
  public var requestID: String? {
    switch self {
    case .problem(let problem): problem.requestID
    case .unexpectedStatus(_, let id), .unreadable(_, _, let id), .tooLarge(_, let id), .untrustedRedirect(_, let id),
      .unreachable(_, let id), .notReached(_, let id):
      id
    case .untrustedLink, .repeatedPage: nil
    }
  }
}

extension WaymarkError {
  /// A Boolean value that indicates whether no response arrived.
  var isUnreachable: Bool {
    if case .unreachable = self { true } else { false }
  }
}

extension WaymarkError: CustomStringConvertible {
  /// The technical description, without the request's identifier.
  public var description: String {
    switch self {
    case .problem(let problem): problem.description
    case .unexpectedStatus(let status, _): "the service responded with status \(status)"
    case .unreadable(let status, let reason, _):
      "the service's response with status \(status) could not be decoded: \(reason)"
    case .tooLarge(let maximumBytes, _): "the service's response exceeds \(maximumBytes) bytes"
    case .untrustedLink: "the service's link to the next page is invalid"
    case .repeatedPage: "the service's links lead to the same page again"
    case .untrustedRedirect: "the service redirects to an address that is not trusted"
    case .unreachable(let code, _): code.failureDescription
    case .notReached(let reason, _): "something else responded in place of the service: \(reason)"
    }
  }
}

extension WaymarkError: LocalizedError {
  /// The message for the user, in the language of the app.
  public var errorDescription: String? { message.text }

  /// The technical description for logs, with the request's identifier.
  public var failureReason: String? { description.sentence(requestID: requestID) }

  /// The message for the user.
  var message: Message {
    switch self {
    case .problem(let problem): problem.message
    case .unexpectedStatus(let status, _): Message(status: status)
    case .unreadable: .unreadable
    case .tooLarge: .tooLarge
    case .untrustedLink, .repeatedPage, .untrustedRedirect: .failed
    case .unreachable(let code, _): code.message
    case .notReached: .notReached
    }
  }
}

extension ProblemDetails {
  /// The message for the user.
  var message: Message {
    switch code {
    case .versionMismatch, .ifMatchRequired: .versionMismatch
    case .filterTimeout: .filterTimeout
    case .outcomeUnknown: .outcomeUnknown
    default: Message(status: status)
    }
  }
}

extension Message {
  /// Creates the message for an error of the service with a status.
  init(status: Int) {
    switch status {
    case 401: self = .unauthenticated
    case 403: self = .forbidden
    case 404, 410: self = .notFound
    case 409: self = .conflict
    case 412, 428: self = .versionMismatch
    case 429: self = .rateLimited
    case 501: self = .unsupported
    case 503: self = .busy
    case 408, 504: self = .timedOut
    case 400..<500: self = .invalid
    default: self = .failed
    }
  }
}

extension URLError.Code {
  fileprivate var message: Message {
    switch self {
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive, .resourceUnavailable:
      .offline
    case .timedOut: .timedOut
    case .secureConnectionFailed: .insecure
    case .cancelled: .cancelled
    default: .unreachable
    }
  }

  fileprivate var failureDescription: String {
    switch self {
    case .timedOut: "the service timed out"
    case .notConnectedToInternet: "there is no connection to the network"
    case .secureConnectionFailed: "there is no secure connection to the service"
    case .cancelled: "the request was cancelled before a response arrived"
    case .httpTooManyRedirects: "the service redirects too often"
    case .resourceUnavailable: "no response is stored"
    default: "the service could not be reached (URLError \(rawValue))"
    }
  }
}
