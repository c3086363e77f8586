import ArgumentParser
import Foundation
import HTTPServer
import NIOHTTP1
import Points
import ServerFeatures

/// `waymark webhooks`: lists, tests and replays the webhooks of a running server.
struct WebhooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhooks",
    abstract: "Lists, tests and replays the webhooks of a running server.",
    discussion: """
      Without --url the server on this machine is asked, at HTTP_HOST and HTTP_PORT. If the server has keys, one of \
      scope admin is needed.

      Examples:
        waymark webhooks                                      a line for each webhook
        waymark webhooks test 0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b
        waymark webhooks replay 0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b --since 2bv0aw9dz0.1k3.1k3
      """,
    subcommands: [List.self, Test.self, Replay.self],
    defaultSubcommand: List.self
  )

  /// A webhook in the server's responses.
  private struct Webhook: Decodable {
    struct Pending: Decodable {
      let failedAttempts: Int
      let nextAttemptAt: String
    }

    let id: String
    let url: String
    let disabledReason: String?
    let position: String
    let pending: Pending?

    var state: String {
      if let disabledReason { return "disabled: \(disabledReason)" }
      guard let pending, pending.failedAttempts > 0 else { return "ok" }
      return "\(pending.failedAttempts) failed attempts, the next at \(pending.nextAttemptAt)"
    }

    /// Prints the line of the webhook.
    func show() { StandardOutput.print(columns: [id, url, position, state]) }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints id, address, position and state of each webhook, separated by tabs.")

    @OptionGroup var server: ClientOptions

    func run() async throws {
      for webhook in try await server.response([Webhook].self, .GET, "/webhooks") { webhook.show() }
    }
  }

  struct Test: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends a message without changes; exits with 1 if the response is not one of 200 to 299.")

    @OptionGroup var server: ClientOptions

    @Argument(help: "Id of the webhook.")
    var id: String

    func run() async throws {
      struct Delivery: Decodable {
        let milliseconds: Int
        let status: Int?
        let error: String?
      }
      let delivery = try await server.response(
        Delivery.self, .POST, "/webhooks/\(try WebhooksCommand.webhookID(id))/test")
      let outcome = delivery.status.map { "the status \($0)" } ?? delivery.error ?? ""
      StandardOutput.print("\(outcome), after \(delivery.milliseconds) ms")
      guard let status = delivery.status, 200..<300 ~= status else { throw Exit.failed }
    }
  }

  struct Replay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends the changes since a position again, and enables the webhook.")

    @OptionGroup var server: ClientOptions

    @Option(help: "Position after which changes are sent, from an export, a message or /changes.")
    var since: String

    @Argument(help: "Id of the webhook.")
    var id: String

    func run() async throws {
      guard PositionText.isPosition(PositionText.parts(of: since).position) else {
        throw Exit.because("--since must be a position, got '\(since)'", Exit.usage)
      }
      let webhook = try await server.response(
        Webhook.self, .POST, "/webhooks/\(try WebhooksCommand.webhookID(id))/replay?since=\(since)")
      webhook.show()
    }
  }

  /// Returns an id.
  ///
  /// - Throws: the exit code 64 for another text, after an error message.
  fileprivate static func webhookID(_ text: String) throws -> PointID {
    guard let id = PointID(text) else { throw Exit.because("the id must be a UUID, got '\(text)'", Exit.usage) }
    return id
  }
}

extension ClientOptions {
  /// Returns the response of the server, by default of that on this machine.
  ///
  /// - Throws: an exit code, after an error message.
  fileprivate func response<Value: Decodable & Sendable>(
    _ type: Value.Type, _ method: HTTPMethod, _ path: String
  ) async throws -> Value {
    let target = try target(url: url ?? LocalServer(Settings()).url)
    do {
      return try await target.decode(type, target.request(method, path))
    } catch {
      throw Exit.because("\(error)", error.isUnavailable ? Exit.unavailable : Exit.failed)
    }
  }
}
