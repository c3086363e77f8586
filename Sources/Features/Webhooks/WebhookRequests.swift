import AsyncHTTPClient
import Basics
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import NIOSSL
import ServerFeatures

/// The networks whose addresses webhooks may have.
struct WebhookNetworks: Sendable {
  /// The networks of the Internet's hosts of IPv6. All others are reserved (RFC 4291, section 2.4).
  private static let globalV6 = network("2000::/3")

  /// The networks that are not the Internet's hosts (RFC 6890 and IANA's registries of special-purpose addresses), those
  /// of IPv6 within 2000::/3.
  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].map(network)

  private static func network(_ text: String) -> IPNetwork {
    guard let network = IPNetwork(text) else { preconditionFailure("\(text) is no network") }
    return network
  }

  private static let mappedV4 = network("0.0.0.0/0")

  /// The networks that the operator allows.
  let allowed: [IPNetwork]

  /// Returns a Boolean value that indicates whether a request may be sent to an address.
  ///
  /// - Parameter isEncrypted: a Boolean value that indicates whether the request is sent over TLS, without which only
  ///   allowed networks are reached.
  func admits(_ address: SocketAddress, isEncrypted: Bool) -> Bool {
    guard let address = IPAddress(address) else { return false }
    if allowed.contains(where: { $0.contains(address) }) { return true }
    let isGlobal = Self.mappedV4.contains(address) || Self.globalV6.contains(address)
    return isEncrypted && isGlobal && !Self.special.contains { $0.contains(address) }
  }
}

/// The HTTP requests of webhooks.
///
/// The name in an address is looked up for each request, all of its addresses are checked, and the connection is made to
/// the one that was checked, whatever the name stands for by then. A response's body is not read, so that nobody
/// learns from a webhook what another service responds. Each request has a client of its own: no connection outlives the
/// check of its address.
struct WebhookRequests: WebhookTransport {
  /// Returns the addresses of a name, after any time; it may block its thread.
  typealias Resolver = @Sendable (_ host: String) throws -> [SocketAddress]

  /// The timeout of a whole request, with the look-up of the name.
  static let timeLimit = Duration.seconds(15)

  /// The timeout of the look-up of a name.
  static let lookupTimeLimit = Duration.seconds(10)

  private let networks: WebhookNetworks
  private let authorities: AuthorityFile?
  private let timeLimit: Duration

  /// The look-ups of messages. Each webhook has one at a time, and a few more if its address was changed meanwhile.
  private let messageLookups: NameLookups

  /// The look-ups of addresses that are registered, which delay no message.
  private let registrationLookups: NameLookups

  /// Creates the requests.
  ///
  /// - Parameter authorities: the file of the authorities that may have signed the endpoints' certificates; `nil` for
  ///   those that the system trusts.
  init(
    networks: WebhookNetworks, authorities: AuthorityFile?, timeLimit: Duration = Self.timeLimit,
    lookupTimeLimit: Duration = Self.lookupTimeLimit, resolve: @escaping Resolver = Self.systemAddresses
  ) {
    self.networks = networks
    self.authorities = authorities
    self.timeLimit = timeLimit
    messageLookups = NameLookups(
      maximumThreads: Webhook.maximumCount + 28, timeLimit: lookupTimeLimit, resolve: resolve)
    registrationLookups = NameLookups(maximumThreads: 32, timeLimit: lookupTimeLimit, resolve: resolve)
  }

  /// Looks a name up as the system does. Blocks the thread.
  ///
  /// - Returns: none if the name is not known.
  @Sendable
  static func systemAddresses(of host: String) -> [SocketAddress] {
    var (hints, result) = (addrinfo(), UnsafeMutablePointer<addrinfo>?.none)
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG
    guard getaddrinfo(host, nil, &hints, &result) == 0 else { return [] }
    defer { freeaddrinfo(result) }
    var addresses: [SocketAddress] = []
    var next = result
    while let info = next {
      if let address = info.pointee.ai_addr.flatMap(Self.address) { addresses.append(address) }
      next = info.pointee.ai_next
    }
    return addresses
  }

  private static func address(_ address: UnsafeMutablePointer<sockaddr>) -> SocketAddress? {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee, host: "") }
    case AF_INET6:
      address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee, host: "") }
    default: nil
    }
  }

  // MARK: Addresses

  /// An error in words that continue from "url".
  private struct Rejection: Error {
    let reason: String
    /// A Boolean value that indicates whether it is no fault of the address.
    var isOverload = false
  }

  /// The address of an endpoint, and the IP address that its requests are sent to.
  private struct Target {
    let url: String
    let host: String
    let address: String
  }

  private static func parts(of text: String) throws(Rejection) -> (host: String, isEncrypted: Bool) {
    let pattern = #/https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([\/?][^#\\<>"{}|^`]*)?/#
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), text.wholeMatch(of: pattern) != nil,
      let url = URL(string: text), let host = url.host, (url.port ?? 443) <= 65_535
    else {
      throw Rejection(
        reason: "must be an address such as https://partner.example.com/hook, without a user and a fragment")
    }
    // As the client sees it.
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return (bare, url.scheme == "https")
  }

  private func target(of url: String, by lookups: NameLookups) async throws(Rejection) -> Target {
    let (host, isEncrypted) = try Self.parts(of: url)
    guard isEncrypted || !networks.allowed.isEmpty else { throw Rejection(reason: "must begin with https://") }
    let addresses: [SocketAddress]
    if let address = try? SocketAddress(ipAddress: host, port: 0) {
      addresses = [address]
    } else {
      do {
        addresses = try await lookups.addresses(of: host)
      } catch NameLookups.Failure.timeout {
        throw Rejection(reason: "names the host '\(host)', whose look-up took too long")
      } catch NameLookups.Failure.overloaded {
        throw Rejection(
          reason: "names the host '\(host)', and too many names are being looked up; try again later", isOverload: true)
      } catch {
        addresses = []
      }
    }
    guard let first = addresses.first?.ipAddress else {
      throw Rejection(reason: "names the host '\(host)', which is not known")
    }
    guard addresses.allSatisfy({ networks.admits($0, isEncrypted: isEncrypted) }) else {
      throw Rejection(
        reason: isEncrypted
          ? "must be of a host of the Internet, or of a network that WEBHOOK_ALLOWED_NETWORKS names"
          : "must begin with https://, except for a host of a network that WEBHOOK_ALLOWED_NETWORKS names")
    }
    return Target(url: url, host: host, address: first)
  }

  func rejection(of url: String) async throws(WebhookCheckOverload) -> String? {
    do throws(Rejection) {
      _ = try await target(of: url, by: registrationLookups)
      return nil
    } catch {
      if error.isOverload { throw WebhookCheckOverload() }
      return error.reason
    }
  }

  // MARK: Requests

  func send(_ body: String, headers: [(name: String, value: String)], to url: String) async -> WebhookOutcome {
    await withTaskGroup { group in
      group.addTask { await perform(body, headers, url) }
      group.addTask {
        try? await Task.sleep(for: timeLimit)
        return .failure(reason: "there was no response within \(timeLimit.components.seconds) s")
      }
      defer { group.cancelAll() }
      return await group.next() ?? .failure(reason: "cancelled")
    }
  }

  private func perform(
    _ body: String, _ headers: [(name: String, value: String)], _ url: String
  ) async -> WebhookOutcome {
    let (target, roots): (Target, [NIOSSLCertificate]?)
    do throws(Rejection) {
      target = try await self.target(of: url, by: messageLookups)
    } catch {
      return .failure(reason: "the address \(error.reason)")
    }
    do throws(ConfigurationError) {
      roots = try authorities?.certificates()
    } catch {
      return .failure(reason: "\(error)")
    }
    return await HTTPClient.withClient(trusting: roots, connecting: [target.host: target.address]) {
      await response(from: $0, to: target, body, headers)
    }
  }

  private func response(
    from client: HTTPClient, to target: Target, _ body: String, _ headers: [(name: String, value: String)]
  ) async -> WebhookOutcome {
    var request = HTTPClientRequest(url: target.url)
    request.method = .POST
    for header in headers { request.headers.add(name: header.name, value: header.value) }
    request.headers.add(name: "content-type", value: "application/json")
    request.headers.add(name: "user-agent", value: "waymark/\(waymarkVersion)")
    request.body = .bytes(ByteBuffer(string: body))
    do {
      let response = try await client.execute(request, deadline: .distantFuture)
      return .response(status: Int(response.status.code), retryAfterSeconds: response.headers.retryAfterSeconds)
    } catch {
      return .failure(reason: HTTPClient.reason(of: error, authorityFileNames: "SSL_CERT_FILE"))
    }
  }
}

extension HTTPHeaders {
  /// The pause that `Retry-After` asks for (RFC 9110, section 10.2.3); `nil` if it has none.
  fileprivate var retryAfterSeconds: Int? {
    guard let text = first(name: "retry-after") else { return nil }
    if let seconds = UInt32(text) { return Int(seconds) }
    return HTTPDate.secondsSinceEpoch(of: text).map { Swift.max(0, $0 - Int(Date().timeIntervalSince1970)) }
  }
}
