import ArgumentParser
import Foundation
import Hosting
import Points
import ServerFeatures

/// `waymark follow`: copies the places of a server and applies what changes there.
struct FollowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Copies the places of a server with their data sets and the areas, and keeps the copy up to date.",
    discussion: """
      Begins with an export and goes on with the changes after it, until it is stopped. Killed at any moment it loses \
      nothing: the state file has the position up to which the copy is complete, and the next run continues there. A \
      change may be applied twice. When the position has expired, the copy is made anew, and places that came from the \
      server and that it no longer has are deleted. Other places of the copy stay. The data sets with licence and \
      attribution come before their places, and a file or database also has the named areas; both are compared every \
      half a minute.

      --to copies into a file that `waymark serve --memory-store-path` serves afterwards, or into a database that \
      `waymark serve` may serve meanwhile. Ids, sources and values are kept; versions and times are the copy's own.
      --exec runs a command with each page of changes as NDJSON on its standard input, and repeats the page until the \
      command exits with 0. Otherwise the NDJSON goes to the standard output. A line is the data sets that are new or \
      have changed, a place of the server, a place that it no longer has, or the position after the lines before it:
        {"sources":[{"name":"osm","licence":"ODbL-1.0","attribution":"© OpenStreetMap contributors"}]}
        {"id":"…","version":7,"place":{…}}
        {"id":"…","deleted":true}
        {"position":"…"}

      When the server or the copy can't be reached, it tries again after half a second to 60 seconds, or after Retry-After. Exits \
      with 1 when the server denies the request.

      Examples:
        waymark follow --url https://places.example.org --to copy.db
        waymark follow --url https://places.example.org --to postgresql:///places --state places.follow
        waymark follow --url https://places.example.org --query 'category=cafe&bbox=5.9,45.8,10.5,47.8' | jq .place.name
        waymark follow --url https://places.example.org --exec ./purge-cache --state purge.follow
      """
  )

  @OptionGroup var server: ClientOptions

  @Option(help: ArgumentHelp("File or postgresql:// address of the copy.", valueName: "target"))
  var to: String?

  @Option(help: ArgumentHelp("Command, for /bin/sh, that takes the changes.", valueName: "command"))
  var exec: String?

  @Option(
    help: ArgumentHelp("Conditions of places, as the parameters of GET /changes.", valueName: "parameters"))
  var query: String?

  @Option(
    help: ArgumentHelp(
      "File of the position; beside it FILE.ids and FILE.areas have the ids of what was copied. One for each copy.",
      discussion:
        "(default: TARGET.follow for a file; none for the standard output, which begins with all places at each start)",
      valueName: "file"))
  var state: String?

  @Flag(help: "Exit as soon as the copy is up to date.")
  var once = false

  func run() async throws {
    guard let target = try server.target() else { throw Exit.because("--url must name the server", Exit.usage) }
    let destination = try destination()
    let query = try FollowQuery(self.query ?? "")
    do {
      let copy = try await destination.open()
      let progress = try FollowProgress(path: destination.statePath(state))
      try await target.withClient(readTimeout: FollowedServer.readTimeout) { client in
        let server = FollowedServer(target: target, query: query, client: client)
        var follower = try Follower(server: server, copy: copy, progress: progress)
        try await follower.run(once: once)
      }
      await copy.close()
    } catch let error as FollowError {
      throw Exit.because(error, error.exitCode)
    } catch let error as PointStoreError {
      throw Exit.because("the copy can't be used: \(error)", Exit.unavailable)
    }
  }

  private func destination() throws -> FollowDestination {
    switch (to, exec) {
    case (_?, _?): throw Exit.because("--to and --exec can't be given both", Exit.usage)
    case (let to?, nil):
      let isDatabase = ["postgresql://", "postgres://"].contains(where: to.hasPrefix)
      // Messages show the path of a file, and an address may have a password.
      guard !to.isEmpty, isDatabase || !to.contains("://") else {
        throw Exit.because("--to must be a file or a postgresql:// address", Exit.usage)
      }
      guard isDatabase else { return .file(to) }
      try requireState()
      do {
        return .database(
          try DatabaseConfiguration(Settings(options: [Setting.postgres.url.setting.name: to])))
      } catch {
        throw Exit.because(error, Exit.usage)
      }
    case (nil, let command?):
      guard !command.isEmpty else { throw Exit.because("--exec must be a command", Exit.usage) }
      try requireState()
      return .command(command, path: state ?? "")
    case (nil, nil): return .output
    }
  }

  private func requireState() throws {
    if state?.isEmpty != false {
      throw Exit.because("--state must name the file of the position", Exit.usage)
    }
  }
}

/// The conditions of the places that are followed, as a percent-encoded query.
struct FollowQuery: Hashable, Sendable {
  /// The parameters of the calls that the follower sets itself.
  private static let reserved = ["since", "limit", "wait", "f"]

  /// The parameters; empty for all places.
  let text: String

  /// Creates the conditions of a text, in which characters that no address has are percent-encoded.
  ///
  /// - Throws: the exit code 64 for a parameter that is not a condition, after an error message.
  init(_ text: String) throws {
    let allowed = CharacterSet.urlQueryAllowed.union(CharacterSet(charactersIn: "%"))
    self.text = text.addingPercentEncoding(withAllowedCharacters: allowed) ?? text
    for parameter in text.split(separator: "&") {
      let name = String(parameter.prefix { $0 != "=" })
      guard !Self.reserved.contains(name) else {
        throw Exit.because("--query must be conditions of places, such as category=cafe, got '\(name)'", Exit.usage)
      }
    }
  }

  /// The parameters, after others.
  var suffix: String { text.isEmpty ? "" : "&\(text)" }
}

/// The target of a copy, as the options name it.
enum FollowDestination {
  case file(String)
  case database(DatabaseConfiguration)
  case command(String, path: String)
  case output

  /// Returns the path of the state file; `nil` for none.
  func statePath(_ given: String?) -> String? {
    if let given, !given.isEmpty { return given }
    return if case .file(let path) = self { path + ".follow" } else { nil }
  }

  /// Opens the copy.
  ///
  /// - Throws: ``FollowError`` or `PointStoreError`.
  func open() async throws -> any FollowCopy {
    switch self {
    case .file(let path): try await StoreCopy(path: path)
    case .database(let configuration): try await StoreCopy(configuration)
    case .command(let command, let path): CommandCopy(command: command, path: path + ".page")
    case .output: OutputCopy()
    }
  }
}
