import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transfer of one request and its response over a `URLSession`, with a bound on the size of the response, and
/// without following redirects.
struct Transport: Sendable {
  let session: TransportSession
  let maximumResponseBytes: Int

  /// Where the body of a successful response goes; `nil` for memory.
  var download: Download?

  /// Sends a request once and returns the response, whatever its status.
  ///
  /// - Throws: ``WaymarkError``, `CancellationError`, or the error of writing the file.
  func response(to request: URLRequest) async throws -> HTTPResponse {
    try Task.checkCancellation()
    let receiver = ResponseReceiver(maximumBytes: maximumResponseBytes, download: download)
    let requestID = request.value(forHTTPHeaderField: "X-Request-Id")
    do {
      let (body, response) = try await session.transfer(request, to: receiver)
      guard let response = response as? HTTPURLResponse else {
        throw WaymarkError.unexpectedStatus(0, requestID: requestID)
      }
      let received = HTTPResponse(response, body: body)
      guard body.count <= maximumResponseBytes else {
        throw WaymarkError.tooLarge(maximumBytes: maximumResponseBytes, requestID: received.requestID ?? requestID)
      }
      return received
    } catch let error as WaymarkError {
      throw error
    } catch {
      if let error = download?.error { throw error }
      if receiver.isTooLarge {
        throw WaymarkError.tooLarge(maximumBytes: maximumResponseBytes, requestID: receiver.requestID ?? requestID)
      }
      try Task.checkCancellation()
      throw TransportFailure.error(TransportFailure.code(of: error), requestID: receiver.requestID ?? requestID)
    }
  }
}

/// The reasons for which transfers fail.
enum TransportFailure {
  /// Returns the error of a failed transfer.
  static func error(_ code: URLError.Code, requestID: String?) -> WaymarkError {
    switch code {
    case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
      .serverCertificateHasUnknownRoot:
      .notReached(
        reason: "its certificate is not valid for the service (URLError \(code.rawValue))", requestID: requestID)
    default: .unreachable(code, requestID: requestID)
    }
  }

  /// Returns the code of an error of `URLSession`.
  static func code(of error: any Error) -> URLError.Code {
    guard let error = error as? URLError else { return .unknown }
    return code(error.code, description: error.userInfo[NSLocalizedDescriptionKey] as? String ?? "")
  }

  /// Returns the code by which Apple's Foundation reports a failure.
  ///
  /// Foundation on Linux reports most failures of libcurl as `unknown`, and an empty response as `badServerResponse`.
  /// Only the description, which is libcurl's, tells a certificate from a dropped connection.
  static func code(_ code: URLError.Code, description: String) -> URLError.Code {
    switch code {
    case .badServerResponse: description.localizedCaseInsensitiveContains("empty reply") ? .networkConnectionLost : code
    case .unknown:
      if ["SSL_read", "SSL_write", "unexpected eof"].contains(where: description.contains) {
        .networkConnectionLost
      } else if description.localizedCaseInsensitiveContains("certificate") {
        .serverCertificateUntrusted
      } else if ["SSL", "TLS"].contains(where: description.contains) {
        .secureConnectionFailed
      } else if [
        "Recv failure", "Send failure", "transfer closed", "Connection died", "Connection reset", "Broken pipe",
      ]
      .contains(where: description.contains) {
        .networkConnectionLost
      } else {
        code
      }
    default: code
    }
  }
}
