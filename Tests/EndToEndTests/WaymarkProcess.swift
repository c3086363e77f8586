import Foundation
import PostgresTestSupport
import Subprocess
import SystemPackage

/// The built program, run as a separate process.
final class WaymarkProcess: Sendable {
  /// The result of a run.
  struct Outcome: Sendable {
    /// The exit status, or the number of the signal that ended it.
    let status: Int32
    let output: String
    let log: String
  }

  /// The error of a process that did not reach the awaited state.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The folder of the programs, which are built beside the tests.
  private static let folderOfPrograms = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  static let executable = folderOfPrograms.appending(path: "waymark")

  /// The server without features.
  static let executableWithoutFeatures = folderOfPrograms.appending(path: "waymark-core")

  /// A generous timeout for everything, which only bounds the duration of a failure.
  private static let timeout = Duration.seconds(120)

  /// The timeouts of a server, so long that none is exceeded because the machine is busy.
  private static let longTimeouts = ["FILTER_TIMEOUT_MS": "60000", "HTTP_READ_TIMEOUT_MS": "1200000"]
  private static let longDatabaseTimeouts = ["REQUEST_DEADLINE_MS": "60000", "DATABASE_STATEMENT_TIMEOUT_MS": "60000"]

  private let program: RunningProgram
  private let folder: TemporaryFolder
  private let outputFile: String
  private let logFile: String

  /// Starts the program with only these arguments and variables, `PATH`, a log in JSON and, where it is a server, long
  /// timeouts. The file at the path is its standard input.
  init(
    _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
    executable: URL = WaymarkProcess.executable
  ) async throws {
    folder = try TemporaryFolder()
    outputFile = try folder.write("", to: "output")
    logFile = try folder.write("", to: "log")
    var variables = environment.merging(["PATH": "/usr/bin:/bin", "LOG_FORMAT": "json"]) { given, _ in given }
    if arguments.first == "serve" {
      variables.merge(Self.longTimeouts) { given, _ in given }
      if variables["DATABASE_URL"] != nil { variables.merge(Self.longDatabaseTimeouts) { given, _ in given } }
    }
    program = try await RunningProgram.start(
      Configuration(
        executable: .path(FilePath(executable.path)),
        arguments: Arguments(arguments),
        environment: .custom(variables.map { Array("\($0)=\($1)".utf8) + [0] })
      ),
      input: .open(FilePath(input ?? "/dev/null"), .readOnly),
      output: .open(FilePath(outputFile), .writeOnly),
      error: .open(FilePath(logFile), .writeOnly)
    )
  }

  deinit {
    program.ending.cancel()
  }

  /// Runs the program to its end.
  static func run(
    _ arguments: [String], environment: [String: String] = [:], input: String? = nil
  ) async throws -> Outcome {
    try await WaymarkProcess(arguments, environment: environment, input: input).outcome()
  }

  /// Sends a signal.
  func send(_ signal: Int32) { kill(program.processIdentifier, signal) }

  /// The peak resident memory of the process so far, in bytes.
  var peakResidentBytes: Int? {
    text(of: "/proc/\(program.processIdentifier)/status").firstMatch(of: /VmHWM:\s+(\d+) kB/)
      .flatMap { Int($0.output.1) }.map { $0 * 1024 }
  }

  /// A Boolean value that indicates whether the process has not ended.
  var isRunning: Bool { kill(program.processIdentifier, 0) == 0 }

  /// Waits for the end of the process.
  func outcome() async throws -> Outcome {
    let watchdog = Task {
      try await Task.sleep(for: Self.timeout)
      send(SIGABRT)
      // A process that has crashed writes a backtrace, which may never complete.
      try await Task.sleep(for: Self.timeout)
      send(SIGKILL)
    }
    defer { watchdog.cancel() }
    let status: Int32
    switch try await program.ending.value {
    case .signaled(SIGABRT): throw Failure(description: "the program did not end, or aborted; its log: \(log)")
    case .signaled(let signal): status = signal
    case .exited(let code): status = code
    }
    return Outcome(status: status, output: text(of: outputFile), log: log)
  }

  /// Waits for a line of the log that contains a text, and returns it.
  func logLine(with text: String) async throws -> String {
    let deadline = ContinuousClock.now + Self.timeout
    while true {
      if let line = log.split(separator: "\n").first(where: { $0.contains(text) }) { return String(line) }
      guard isRunning, ContinuousClock.now < deadline else {
        throw Failure(description: "no line with '\(text)' in the log: \(log)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Waits until the server listens, and returns its port.
  func port() async throws -> Int {
    struct Line: Decodable {
      let port: Int
    }
    let line = try await logLine(with: "\"listening\"")
    return try JSONDecoder().decode(Line.self, from: Data(line.utf8)).port
  }

  private var log: String { text(of: logFile) }

  private func text(of file: String) -> String {
    (try? String(contentsOf: URL(filePath: file), encoding: .utf8)) ?? ""
  }
}
