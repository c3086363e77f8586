public import Subprocess
public import SystemPackage

/// A program that goes on beside the test that started it, and has no open files but the three it was given.
///
/// Foundation's `Process` looks through all open files of this process at each start, which goes wrong when a thousand
/// tests have thousands of them open.
public struct RunningProgram: Sendable {
  /// Its number.
  public let processIdentifier: Int32

  /// Its end; cancelling this kills it.
  public let ending: Task<TerminationStatus, any Error>

  /// Starts a program; the files are its own then, and closed here.
  ///
  /// - Throws: `SubprocessError` when it can't be started.
  public static func start(
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
  /// What reads as empty and takes everything.
  public static func null() throws -> FileDescriptor { try .open("/dev/null", .readWrite) }
}
