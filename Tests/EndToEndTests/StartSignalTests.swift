import Foundation
import Testing

/// Tests of signals to a server that starts.
@Suite(.timeLimit(.minutes(5))) struct StartSignalTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Returns a server that waits for its data file, and the file.
  private func startingServer() async throws -> (server: WaymarkProcess, file: FileHandle) {
    let path = folder.path(of: "places.csv")
    try #require(mkfifo(path, 0o600) == 0)
    let server = try await WaymarkProcess(["serve", "--http-port", "0", "--data-file", path])
    while true {
      // Succeeds when the server has opened it.
      let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      if descriptor >= 0 { return (server, FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)) }
      try #require(errno == ENXIO)
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  @Test func reloadDuringAStartIsDoneAfterIt() async throws {
    let (server, file) = try await startingServer()

    server.send(SIGHUP)
    try file.write(contentsOf: Data("name,lat,long\nA place,1,2\n".utf8))
    try file.close()

    let driver = ServerDriver(port: try await server.port())
    _ = try await server.logLine(with: "SIGHUP was received")
    #expect(try await driver.get("/health/live").status == 200)
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func startEndsAtOnceWithExitCode0(signal: Int32) async throws {
    let (server, file) = try await startingServer()

    server.send(signal)
    let outcome = try await server.outcome()

    #expect(outcome.status == 0)
    #expect(outcome.log.hasSuffix("waymark: stopped before the start was complete\n"), "\(outcome.log)")
    try file.close()
  }
}
