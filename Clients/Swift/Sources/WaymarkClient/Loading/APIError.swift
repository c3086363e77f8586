public import Foundation

/// Why a call has no answer that can be used.
public enum APIError: Error, Hashable, Sendable {
  /// The service refused or failed, and says why.
  case problem(ProblemDetails)

  /// The answer's status is neither one of success nor one with a reason, as when a proxy answered.
  case unexpectedStatus(Int)

  /// The answer of that status can't be read as what it should be.
  case unreadable(status: Int, reason: String)

  /// The link to the next page leads to another server, or back to the same page.
  case untrustedLink(String)

  /// No answer came.
  case unreachable(URLError.Code)
}

extension APIError: CustomStringConvertible {
  /// What a user is told.
  public var description: String {
    switch self {
    case .problem(let problem): problem.description
    case .unexpectedStatus(let status): "the service answered with status \(status)"
    case .unreadable: "the service's answer could not be read"
    case .untrustedLink: "the service's link to the next page leads astray"
    case .unreachable(.timedOut): "the service took too long to answer"
    case .unreachable(.notConnectedToInternet): "there is no connection to the network"
    case .unreachable: "the service could not be reached"
    }
  }
}
