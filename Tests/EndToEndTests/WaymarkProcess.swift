import Foundation
import Synchronization

/// The built program, run as a process of its own.
final class WaymarkProcess: Sendable {
  /// How a run ended.
  struct Outcome: Sendable {
    let status: Int32
    let output: String
    let log: String
  }

  /// The process did not do what it was waited for.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The program beside the tests that were built with it.
  static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "waymark")

  private let process: Mutex<Process>
  private let folder: TemporaryFolder
  private let outputFile: URL
  private let logFile: URL

  /// Starts the program with just these arguments and variables, and `PATH`.
  init(_ arguments: [String], environment: [String: String] = [:], input: FileHandle? = nil) throws {
    folder = try TemporaryFolder()
    // Files, not pipes: a pipe's end would be inherited by whatever another test starts at the same time.
    outputFile = URL(filePath: try folder.write("", to: "output"))
    logFile = URL(filePath: try folder.write("", to: "log"))
    let process = Process()
    process.executableURL = Self.executable
    process.arguments = arguments
    process.environment = environment.merging(["PATH": "/usr/bin:/bin", "LOG_FORMAT": "json"]) { given, _ in given }
    process.standardInput = input ?? FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: outputFile)
    process.standardError = try FileHandle(forWritingTo: logFile)
    try process.run()
    self.process = Mutex(process)
  }

  deinit {
    process.withLock { if $0.isRunning { kill($0.processIdentifier, SIGKILL) } }
  }

  private var output: String { (try? String(contentsOf: outputFile, encoding: .utf8)) ?? "" }

  private var log: String { (try? String(contentsOf: logFile, encoding: .utf8)) ?? "" }

  /// Runs the program to its end.
  static func run(
    _ arguments: [String], environment: [String: String] = [:], input: FileHandle? = nil
  ) async throws -> Outcome {
    try await WaymarkProcess(arguments, environment: environment, input: input).outcome()
  }

  var processIdentifier: pid_t { process.withLock { $0.processIdentifier } }

  /// Sends a signal.
  func send(_ signal: Int32) { kill(processIdentifier, signal) }

  /// Waits for the end.
  func outcome() async throws -> Outcome {
    let deadline = ContinuousClock.now + .seconds(60)
    while process.withLock({ $0.isRunning }) {
      guard ContinuousClock.now < deadline else {
        throw Failure(description: "the program did not end; its log: \(log)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    return Outcome(status: process.withLock { $0.terminationStatus }, output: output, log: log)
  }

  /// Waits for a line of the log that has the text in it, and answers it.
  func logLine(with text: String) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      if let line = log.split(separator: "\n").first(where: { $0.contains(text) }) { return String(line) }
      guard process.withLock({ $0.isRunning }), ContinuousClock.now < deadline else {
        throw Failure(description: "no line with '\(text)' in the log: \(log)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Waits until the server listens, and answers the port.
  func port() async throws -> Int {
    struct Line: Decodable {
      let port: String
    }
    let line = try await logLine(with: "\"listening\"")
    guard let port = Int(try JSONDecoder().decode(Line.self, from: Data(line.utf8)).port) else {
      throw Failure(description: "no port in \(line)")
    }
    return port
  }
}
