import Foundation
import Subprocess
import SystemPackage

/// PostgreSQL's programs, run as the current user, or as `postgres` where that is root.
struct PostgresTools: Sendable {
  let directory: String

  /// Finds the programs.
  ///
  /// - Throws: ``TemporaryServerError`` when they are not installed.
  init() throws {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let packaged = versions.sorted { (Double($0) ?? 0) > (Double($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }
    let searched = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let found = (packaged + searched).first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
    guard let found else {
      throw TemporaryServerError(
        description: """
          these tests need PostgreSQL with PostGIS, and there is no initdb in /usr/lib/postgresql/*/bin or PATH; \
          on Debian: apt-get install postgresql postgresql-15-postgis-3
          """
      )
    }
    directory = found
  }

  /// Returns the path of a program.
  func path(_ program: String) -> String { "\(directory)/\(program)" }

  /// Runs a program to its end.
  ///
  /// - Returns: its standard output, without the last newline.
  /// - Throws: ``TemporaryServerError`` with its standard error when it fails.
  @discardableResult
  func run(_ program: String, _ arguments: [String]) async throws -> String {
    let result = try await Subprocess.run(
      command(program, arguments), output: .string(limit: Self.maximumOutput), error: .string(limit: Self.maximumOutput)
    )
    guard result.terminationStatus.isSuccess else {
      let said = result.standardError + result.standardOutput
      throw TemporaryServerError(description: "\(program): \(result.terminationStatus): \(said)")
    }
    return result.standardOutput.trimmingCharacters(in: .newlines)
  }

  private static let maximumOutput = 16 << 20

  /// A shell function that prints the identifiers of a process's children, read from `/proc`, because minimal systems
  /// lack `ps`.
  ///
  /// A process's line there is its identifier, its name in parentheses, its state and its parent; a name may itself
  /// contain spaces and parentheses.
  static let childrenFunction = #"""
    children() {
      for stat in /proc/[0-9]*/stat; do
        { read -r line < "$stat"; } 2> /dev/null || continue
        fields=${line##*) }
        parent=${fields#* }
        [ "${parent%% *}" != "$1" ] || echo "${line%% *}"
      done
    }

    """#

  /// Starts a process that stops the server in a directory and removes the directory when this process has ended or
  /// closed the file.
  func guardServer(in directory: String) async throws -> FileDescriptor {
    let script =
      Self.childrenFunction + """
        read -r nothing
        if [ -f "$1/data/postmaster.pid" ]; then
          pid=$(head -1 "$1/data/postmaster.pid")
          children=$(children "$pid")
          kill -QUIT "$pid" $children
          kill -CONT "$pid" $children
          tries=0
          while kill -0 "$pid" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
          kill -KILL "$pid"
        fi 2> /dev/null
        rm -rf "$1"
        """
    let (readEnd, writeEnd) = try FileDescriptor.pipe()
    // The process has its own session, so that an interrupt from the terminal doesn't reach it.
    _ = try await RunningProgram.start(
      command("/usr/bin/setsid", ["/bin/bash", "-c", script, "bash", directory]),
      input: readEnd, output: .null(), error: .null())
    return writeEnd
  }

  /// Starts a program that ends when this process has ended or closed the file.
  func startGuarded(_ program: String, _ arguments: [String]) async throws -> FileDescriptor {
    let script = """
      "$@" < /dev/null &
      read -r nothing
      kill -KILL $!
      """
    let (readEnd, writeEnd) = try FileDescriptor.pipe()
    _ = try await RunningProgram.start(
      command("/usr/bin/setsid", ["/bin/bash", "-c", script, "bash", program] + arguments),
      input: readEnd, output: .null(), error: .null())
    return writeEnd
  }

  private func command(_ program: String, _ arguments: [String]) -> Configuration {
    let isRoot = geteuid() == 0
    let asPostgres = ["--reuid=postgres", "--regid=postgres", "--init-groups", "--", program]
    return Configuration(
      executable: .path(isRoot ? "/usr/bin/setpriv" : FilePath(program)),
      arguments: Arguments((isRoot ? asPostgres : []) + arguments),
      // A directory that the other user may access as well.
      workingDirectory: "/tmp"
    )
  }
}
