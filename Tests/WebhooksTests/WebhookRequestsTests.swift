import Dispatch
import HTTPServer
import NIOCore
import Synchronization
import Testing

@testable import Webhooks

/// The addresses that webhooks may have, without connections.
@Suite struct WebhookRequestsTests {
  private static func requests(
    allowing networks: String..., lookupTimeLimit: Duration = .seconds(600),
    resolve: @escaping WebhookRequests.Resolver = { _ in [] }
  ) throws -> WebhookRequests {
    let networks = try networks.map { try #require(IPNetwork($0)) }
    return WebhookRequests(
      networks: WebhookNetworks(allowed: networks), authorities: nil, lookupTimeLimit: lookupTimeLimit,
      resolve: resolve)
  }

  @Test(arguments: [
    "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "0.0.0.0", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[::1]", "[::]",
    "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[fe80::1]", "[fc00::1]",
    "[fd12:3456::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]",
    "[2001:db8::1]", "[fec0::1]", "[100::1]",
  ])
  func addressThatIsNotOfTheInternetIsRejected(_ host: String) async throws {
    let reason = try await Self.requests().rejection(of: "https://\(host)/hook")
    #expect(reason?.contains("WEBHOOK_ALLOWED_NETWORKS") == true, "\(host): \(reason ?? "accepted")")
  }

  @Test(arguments: ["1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "[2606:4700::1111]", "[::ffff:1.1.1.1]"])
  func addressOfTheInternetIsAccepted(_ host: String) async throws {
    #expect(try await Self.requests().rejection(of: "https://\(host):8443/hook?token=x") == nil)
    #expect(try await Self.requests().rejection(of: "http://\(host)/hook") == "must begin with https://")
  }

  @Test(arguments: [
    "", "x", "ftp://1.1.1.1", "https://", "https:///x", "https://user@1.1.1.1", "https://1.1.1.1#a", "https://a b",
    "https://1.1.1.1:99999", "https://1.1.1.1\\@127.0.0.1", "HTTPS://1.1.1.1", "https://é.example",
    "https://1.1.1.1/\n",
    "https://[::1", "//1.1.1.1", "https://1.1.1.1:80@127.0.0.1/",
  ])
  func textThatIsNoAddressIsRejected(_ url: String) async throws {
    #expect(try await Self.requests().rejection(of: url) != nil)
  }

  @Test func privateNetworkIsAcceptedWhereItIsAllowed() async throws {
    let requests = try Self.requests(allowing: "10.1.0.0/16", "::1")
    #expect(try await requests.rejection(of: "https://10.1.2.3/hook") == nil)
    #expect(try await requests.rejection(of: "http://10.1.2.3/hook") == nil)
    #expect(try await requests.rejection(of: "http://[::ffff:10.1.2.3]/hook") == nil)
    #expect(try await requests.rejection(of: "http://[::1]:8080/hook") == nil)
    #expect(try await requests.rejection(of: "https://10.2.2.3/hook") != nil)
    #expect(try await requests.rejection(of: "http://1.1.1.1/hook") != nil)
    #expect(try await requests.rejection(of: "https://1.1.1.1/hook") == nil)
  }

  @Test(arguments: [["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:10.0.0.1"], []])
  func nameWithAPrivateAddressIsRejected(_ addresses: [String]) async throws {
    let requests = try Self.requests { _ in try addresses.map { try SocketAddress(ipAddress: $0, port: 0) } }
    #expect(try await requests.rejection(of: "https://partner.example/hook") != nil)
  }

  @Test func eachRequestChecksTheAddressAgain() async throws {
    let lookUps = Mutex(0)
    let requests = try Self.requests { host in
      #expect(host == "partner.example")
      let count = lookUps.withLock { count in
        count += 1
        return count
      }
      return [try SocketAddress(ipAddress: count == 1 ? "1.1.1.1" : "127.0.0.1", port: 0)]
    }
    #expect(try await requests.rejection(of: "https://partner.example/hook") == nil)

    let outcome = await requests.send("{}", headers: [], to: "https://partner.example/hook")

    guard case .failure(let reason) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(reason.contains("WEBHOOK_ALLOWED_NETWORKS") && lookUps.withLock { $0 } == 2)
  }

  @Test func systemResolvesNames() {
    let addresses = WebhookRequests.systemAddresses(of: "localhost")
    #expect(!addresses.isEmpty && addresses.allSatisfy { IPAddress($0)?.isLoopback == true })
    #expect(WebhookRequests.systemAddresses(of: "2130706433").compactMap(\.ipAddress) == ["127.0.0.1"])
    #expect(WebhookRequests.systemAddresses(of: "no-such-host.invalid").isEmpty)
  }

  // MARK: Slow names

  /// A resolver whose names that begin with `slow` wait until they are released.
  private final class SlowResolver: Sendable {
    private let released = DispatchSemaphore(value: 0)
    private let count = Mutex(0)

    @Sendable func resolve(_ host: String) throws -> [SocketAddress] {
      if host.hasPrefix("slow") {
        count.withLock { $0 += 1 }
        released.wait()
        released.signal()
      }
      return [try SocketAddress(ipAddress: "127.0.0.1", port: 0)]
    }

    func release() { released.signal() }

    /// Returns when a number of names wait.
    func wait(for number: Int) async throws {
      while count.withLock({ $0 }) < number { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  @Test func slowNamesDelayNoOther() async throws {
    let resolver = SlowResolver()
    let requests = try Self.requests(allowing: "127.0.0.0/8", resolve: resolver.resolve)
    // More than there are threads for calls that block.
    let slow = (0..<32).map { number in Task { try await requests.rejection(of: "https://slow-\(number).example/") } }
    // Of one name, which share a thread.
    let same = (0..<8).map { _ in Task { try await requests.rejection(of: "https://slow-0.example/") } }
    try await resolver.wait(for: 32)

    await #expect(throws: WebhookCheckOverload.self) { try await requests.rejection(of: "https://fast.example/") }
    let sent = await requests.send("{}", headers: [], to: "http://fast.example:1/")
    resolver.release()

    if case .failure(let reason) = sent { #expect(!reason.contains("looked up"), "\(reason)") }
    for task in slow + same { #expect(try await task.value == nil) }
    #expect(try await requests.rejection(of: "https://fast.example/") == nil)
  }

  @Test func lookUpThatTakesTooLongIsAFailure() async throws {
    let resolver = SlowResolver()
    let requests = try Self.requests(lookupTimeLimit: .milliseconds(50), resolve: resolver.resolve)

    let rejection = try await requests.rejection(of: "https://slow.example/")
    let outcome = await requests.send("{}", headers: [], to: "https://slow.example/")
    resolver.release()

    #expect(rejection == "names the host 'slow.example', whose look-up took too long")
    guard case .failure(let reason) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(reason.contains("whose look-up took too long"))
  }
}
