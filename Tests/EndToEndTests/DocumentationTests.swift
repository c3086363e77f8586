import Foundation
import PostgresTestSupport
import Subprocess
import SystemPackage
import Testing

/// Runs the commands of pages as they stand there, in order and in one shell.
///
/// The environment provides what the pages assume: `PATH` leads to the built program and to PostgreSQL's tools, and
/// libpq's variables to a temporary server. The only substitution is a free port for 8080.
@Suite(.timeLimit(.minutes(10))) struct DocumentationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  @Test func commandsOfGettingStartedSucceedAndPrintWhatItShows() async throws {
    // The data set of an example on the other page is the one that this page has imported.
    let commands =
      try ConsoleCommand.all(in: Self.page("docs/getting-started.md"))
      + ConsoleCommand.all(in: Self.section("Licences and attribution", of: Self.page("docs/import.md")))
    let database = try await TemporaryServer.start()

    let outputs = try await outputs(
      of: commands, port: try TemporaryServer.freePort(),
      environment: ["PGHOST": "127.0.0.1", "PGPORT": "\(database.port)", "PGUSER": TemporaryServer.superuser])

    #expect(commands.count >= 30)
    #expect(commands.contains { !$0.expectedOutput.isEmpty })
    for (command, output) in zip(commands, outputs) where !command.expectedOutput.isEmpty {
      #expect(command.hasPrinted(output), "\(command.text)\n\(output)")
    }
  }

  @Test(arguments: [
    "README.md", "docs/api.md", "docs/areas.md", "docs/assistants.md", "docs/categories.md", "docs/filters.md",
    "docs/ogc-api-features.md", "docs/search.md", "docs/tiles.md",
  ])
  func examplesFindPlacesOfTheSampleAndPrintWhatIsShown(page: String) async throws {
    let commands = try ConsoleCommand.all(in: Self.page(page)).filter(\.isRequest)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])

    let outputs = try await outputs(of: commands, port: try await server.port())

    #expect(!commands.isEmpty)
    for (command, output) in zip(commands, outputs) {
      #expect(command.hasPrinted(output), "\(command.text)\n\(output)")
      if command.expectedOutput.isEmpty, command.printsResponse {
        #expect(!["", "[]"].contains(output) && !output.contains(#""features":[]"#), "\(command.text)")
        #expect(!output.contains("urn:waymark:problem:"), "\(command.text)\n\(output)")
      }
    }
  }

  @Test func commandsAndTheirOutputAreFoundInConsoleBlocks() {
    let page = """
      Text with `$ no command`.

      ```console
      $ cat > file <<END
      content
      END
      $ cat file
      content
      $ echo 'two
      lines' \\
        and a third
      ```

      ```json
      $ no command
      ```
      """

    #expect(
      ConsoleCommand.all(in: page) == [
        ConsoleCommand(text: "cat > file <<END\ncontent\nEND", expectedOutput: ""),
        ConsoleCommand(text: "cat file", expectedOutput: "content"),
        ConsoleCommand(text: "echo 'two\nlines' \\\n  and a third", expectedOutput: ""),
      ])
  }

  private static func page(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func section(_ title: String, of page: String) throws -> String {
    let start = try #require(page.range(of: "\n## \(title)\n")).upperBound
    return String(page[start...].prefix(upTo: page[start...].range(of: "\n## ")?.lowerBound ?? page.endIndex))
  }

  /// Returns the output of each command, after they have run in a shell that stops at the first failure.
  private func outputs(
    of commands: [ConsoleCommand], port: Int, environment: [String: String] = [:]
  ) async throws -> [String] {
    let folder = try TemporaryFolder()
    let status = try await run(commands, port: port, environment: environment, in: folder)
    let outputs = commands.indices.map { try? String(contentsOfFile: folder.path(of: "\($0).output"), encoding: .utf8) }
    let completed = outputs.prefix { $0 != nil }.count
    #expect(
      status == .exited(0),
      """
      \(commands[max(0, completed - 1)].text)
      \((try? String(contentsOfFile: folder.path(of: "errors"), encoding: .utf8)) ?? "")
      """)
    return outputs.map { ($0 ?? "").trimmingCharacters(in: .newlines) }
  }

  /// Runs the commands with the output of each in a file of its own.
  private func run(
    _ commands: [ConsoleCommand], port: Int, environment: [String: String], in folder: TemporaryFolder
  ) async throws -> TerminationStatus {
    let programs = folder.path(of: "programs")
    try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: programs + "/waymark", withDestinationPath: WaymarkProcess.executable.path)
    let steps = commands.enumerated().map { index, command in
      "exec >'\(folder.path(of: "\(index).output"))'\n"
        + command.text.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
    }
    let setup = ["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT"]
    let script = try folder.write((setup + steps + [""]).joined(separator: "\n"), to: "script")
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let variables = environment.merging([
      "HTTP_PORT": "\(port)", "PATH": "\(programs):\(try TemporaryServer.programDirectory):\(path)",
    ]) { given, _ in given }
    let program = try await RunningProgram.start(
      Configuration(
        // It also ends the servers that the shell has started, which are in its process group.
        executable: .name("timeout"), arguments: ["--kill-after=10", "480", "bash", script],
        environment: .custom(variables.map { Array("\($0)=\($1)".utf8) + [0] }),
        workingDirectory: FilePath(folder.path(of: ""))
      ),
      input: .null(), output: .null(),
      error: .open(
        FilePath(folder.path(of: "errors")), .writeOnly, options: [.create, .append], permissions: .ownerReadWrite)
    )
    return try await withTaskCancellationHandler {
      try await program.ending.value
    } onCancel: {
      program.ending.cancel()
    }
  }
}

/// A command in a `console` block of a Markdown page, with the output that the page shows.
private struct ConsoleCommand: Equatable {
  var text: String
  var expectedOutput: String

  /// A Boolean value that indicates whether the command is part of a request to a server that runs, with the programs
  /// that tests have.
  var isRequest: Bool {
    text.prefixMatch(of: /(curl|printf|waymark search|[a-z]+=\$\(curl) |[a-z]+=[0-9a-f-]+$/) != nil
  }

  /// A Boolean value that indicates whether the command writes a response to the standard output.
  var printsResponse: Bool { text.hasPrefix("curl") && !text.contains(" -o ") && !text.contains("-X DELETE") }

  /// Returns a Boolean value that indicates whether the output is the one that the page shows, where `…` stands for any
  /// text; `true` if it shows none.
  func hasPrinted(_ output: String) -> Bool {
    if expectedOutput.isEmpty { return true }
    let parts = expectedOutput.components(separatedBy: "…")
    guard let first = parts.first, let last = parts.last, output.hasPrefix(first), output.hasSuffix(last) else {
      return false
    }
    if parts.count == 1 { return output == first }
    var rest = output.dropFirst(first.count).dropLast(last.count)
    return parts.dropFirst().dropLast().allSatisfy { part in
      guard let range = rest.range(of: part) else { return false }
      rest = rest[range.upperBound...]
      return true
    }
  }

  /// A Boolean value that indicates whether the next line belongs to the command: a quotation is open, or the line ends
  /// in a backslash.
  private var isIncomplete: Bool { text.hasSuffix("\\") || !text.filter { $0 == "'" }.count.isMultiple(of: 2) }

  /// Returns the commands of all blocks in order. A command follows `$ `; a here-document belongs to its command.
  static func all(in page: String) -> [ConsoleCommand] {
    var commands: [ConsoleCommand] = []
    var isInBlock = false
    var delimiter: Substring?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isInBlock = line == "```console"
      } else if isInBlock, delimiter == nil, line.hasPrefix("$ ") {
        commands.append(ConsoleCommand(text: String(line.dropFirst(2)), expectedOutput: ""))
        delimiter = line.firstMatch(of: /<<(\w+)/)?.1
      } else if isInBlock, delimiter != nil {
        commands[commands.count - 1].text += "\n" + line
        if line == delimiter { delimiter = nil }
      } else if isInBlock, let command = commands.last, command.expectedOutput.isEmpty, command.isIncomplete {
        commands[commands.count - 1].text += "\n" + line
      } else if isInBlock, !commands.isEmpty {
        let output = commands[commands.count - 1].expectedOutput
        commands[commands.count - 1].expectedOutput = output.isEmpty ? String(line) : "\(output)\n\(line)"
      }
    }
    return commands
  }
}
