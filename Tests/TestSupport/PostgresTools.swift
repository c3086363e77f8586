import Foundation

/// PostgreSQL's programs, run as a user that PostgreSQL doesn't refuse: itself, or `postgres` where that is root.
struct PostgresTools: Sendable {
  private let directory: String

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

  /// Where a program is.
  func path(_ program: String) -> String { "\(directory)/\(program)" }

  /// Runs a program to its end.
  ///
  /// - Returns: what it wrote, without the last newline.
  /// - Throws: ``TemporaryServerError`` with what it wrote as errors when it fails.
  @discardableResult
  func run(_ program: String, _ arguments: [String]) async throws -> String {
    let process = process(program, arguments)
    // Files rather than pipes: a server that goes on running would hold a pipe open.
    let output = try TemporaryFile()
    let errors = try TemporaryFile()
    process.standardOutput = output.handle
    process.standardError = errors.handle
    process.standardInput = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in continuation.resume() }
      do {
        try process.run()
      } catch {
        process.terminationHandler = nil
        continuation.resume(throwing: error)
      }
    }
    guard process.terminationStatus == 0 else {
      let said = try errors.text() + output.text()
      throw TemporaryServerError(description: "\(program) failed with \(process.terminationStatus): \(said)")
    }
    return try output.text()
  }

  /// Runs a program that leaves a server behind, which must not keep this process's open files.
  ///
  /// Foundation would otherwise wait for the server: it knows that a child is gone by a socket that closes with it.
  func runWithoutInheritance(_ program: String, _ arguments: [String]) async throws {
    try await run("/bin/bash", ["-c", Self.closeInherited + #"exec "$@""#, "bash", program] + arguments)
  }

  private static let closeInherited = """
    for file in /proc/self/fd/*; do
      if [ "${file##*/}" -gt 2 ]; then eval "exec ${file##*/}>&-"; fi
    done

    """

  /// Starts what stops the server in a directory, and removes that, once this process has ended or closed the handle.
  func guardServer(in directory: String) async throws -> FileHandle {
    let script =
      Self.closeInherited + """
        read -r nothing
        if [ -f "$1/data/postmaster.pid" ]; then
          pid=$(head -1 "$1/data/postmaster.pid")
          children=$(ps -o pid= --ppid "$pid")
          kill -QUIT "$pid" $children
          kill -CONT "$pid" $children
          tries=0
          while kill -0 "$pid" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
          kill -KILL "$pid"
        fi 2> /dev/null
        rm -rf "$1"
        """
    // In a session of its own, so that what interrupts the tests from a terminal doesn't reach it.
    let process = process("/usr/bin/setsid", ["/bin/bash", "-c", script, "bash", directory])
    let pipe = Pipe()
    // No other child may hold the writing end open.
    _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return pipe.fileHandleForWriting
  }

  private func process(_ program: String, _ arguments: [String]) -> Process {
    let process = Process()
    if geteuid() == 0 {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
      process.arguments =
        ["--reuid=postgres", "--regid=postgres", "--init-groups", "--", program] + arguments
    } else {
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
    }
    // Somewhere the other user may be as well.
    process.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
    return process
  }
}

/// A file without a name, to take what a program writes.
private struct TemporaryFile {
  let handle: FileHandle

  init() throws {
    let path = "/tmp/waymark-output-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: path, contents: nil), let handle = FileHandle(forUpdatingAtPath: path)
    else { throw TemporaryServerError(description: "\(path) can't be made") }
    self.handle = handle
    unlink(path)
  }

  func text() throws -> String {
    try handle.seek(toOffset: 0)
    let bytes = try handle.readToEnd() ?? Data()
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
  }
}
