public import Foundation

/// The error of a request without a usable response.
public enum WaymarkError: Error, Hashable, Sendable {
  /// The service rejected the request or failed, with problem details.
  case problem(ProblemDetails)

  /// The status is an error without problem details, for example from a proxy.
  case unexpectedStatus(Int)

  /// The body of the response could not be decoded.
  case unreadable(status: Int, reason: String)

  /// The link to the next page leads to another server, or back to the same page.
  case untrustedLink(String)

  /// No response arrived.
  case unreachable(URLError.Code)
}

extension WaymarkError: CustomStringConvertible {
  /// The message for the user.
  public var description: String {
    switch self {
    case .problem(let problem): problem.description
    case .unexpectedStatus(let status): "the service responded with status \(status)"
    case .unreadable: "the service's response could not be decoded"
    case .untrustedLink: "the service's link to the next page is invalid"
    case .unreachable(.timedOut): "the service timed out"
    case .unreachable(.notConnectedToInternet): "there is no connection to the network"
    case .unreachable: "the service could not be reached"
    }
  }
}
