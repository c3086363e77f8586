package import Subprocess
package import SystemPackage

/// A program that runs beside the test that started it, with no open files but the three that it was given.
///
/// Foundation's `Process` scans all open files of this process at each start, which fails when a thousand tests have
/// thousands of them open.
package struct RunningProgram: Sendable {
  /// The process identifier.
  package let processIdentifier: Int32

  /// The task that waits for the end of the program; cancelling it kills the program.
  package let ending: Task<TerminationStatus, any Error>

  /// Starts a program, which takes ownership of the files; they are closed here.
  ///
  /// - Throws: `SubprocessError` when it can't be started.
  package static func start(
    _ configuration: Configuration, input: FileDescriptor, output: FileDescriptor, error: FileDescriptor
  ) async throws -> RunningProgram {
    let (identifiers, started) = AsyncThrowingStream.makeStream(of: Int32.self)
    let ending = Task {
      do {
        let result = try await Subprocess.run(
          configuration,
          input: .fileDescriptor(input, closeAfterSpawningProcess: true),
          output: .fileDescriptor(output, closeAfterSpawningProcess: true),
          error: .fileDescriptor(error, closeAfterSpawningProcess: true)
        ) { execution in
          started.yield(execution.processIdentifier.value)
        }
        return result.terminationStatus
      } catch {
        started.finish(throwing: error)
        throw error
      }
    }
    for try await identifier in identifiers { return RunningProgram(processIdentifier: identifier, ending: ending) }
    throw CancellationError()
  }
}

extension FileDescriptor {
  /// Opens the null device.
  package static func null() throws -> FileDescriptor { try .open("/dev/null", .readWrite) }
}
