import Foundation
import PostgresTestSupport
import Subprocess
import SystemPackage
import Testing

/// Runs the commands of docs/getting-started.md as they stand there, in order and in one shell.
///
/// The environment provides what the page assumes: `PATH` leads to the built program and to PostgreSQL's tools, and
/// libpq's variables to a temporary server. The only substitution is a free port for 8080.
@Suite(.timeLimit(.minutes(10))) struct GettingStartedTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  @Test func commandsOfThePageSucceedAndPrintWhatItShows() async throws {
    let page = try String(contentsOf: Self.root.appending(path: "docs/getting-started.md"), encoding: .utf8)
    let commands = ConsoleCommand.all(in: page)
    let database = try await TemporaryServer.start()
    let folder = try TemporaryFolder()
    let port = try TemporaryServer.freePort()

    let status = try await run(commands, port: port, in: folder, database)

    let outputs = commands.indices.map { try? String(contentsOfFile: folder.path(of: "\($0).output"), encoding: .utf8) }
    let completed = outputs.prefix { $0 != nil }.count
    #expect(
      status == .exited(0),
      """
      \(commands[max(0, completed - 1)].text)
      \((try? String(contentsOfFile: folder.path(of: "errors"), encoding: .utf8)) ?? "")
      """)
    #expect(commands.count >= 10)
    #expect(commands.contains { !$0.expectedOutput.isEmpty })
    for (command, output) in zip(commands, outputs) where !command.expectedOutput.isEmpty {
      #expect(output?.trimmingCharacters(in: .newlines) == command.expectedOutput, "\(command.text)")
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
      ```

      ```json
      $ no command
      ```
      """

    #expect(
      ConsoleCommand.all(in: page) == [
        ConsoleCommand(text: "cat > file <<END\ncontent\nEND", expectedOutput: ""),
        ConsoleCommand(text: "cat file", expectedOutput: "content"),
      ])
  }

  /// Runs the commands in a shell that stops at the first failure, with the output of each in a file of its own.
  private func run(
    _ commands: [ConsoleCommand], port: Int, in folder: TemporaryFolder, _ database: TemporaryServer
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
    let variables = [
      "HTTP_PORT": "\(port)", "PATH": "\(programs):\(try TemporaryServer.programDirectory):\(path)",
      "PGHOST": "127.0.0.1", "PGPORT": "\(database.port)", "PGUSER": TemporaryServer.superuser,
    ]
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
      } else if isInBlock, !commands.isEmpty {
        let output = commands[commands.count - 1].expectedOutput
        commands[commands.count - 1].expectedOutput = output.isEmpty ? String(line) : "\(output)\n\(line)"
      }
    }
    return commands
  }
}
