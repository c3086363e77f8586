import Synchronization

/// Writes how far an import has come to standard error: on a terminal as one line that is written over, elsewhere as a
/// line every few seconds.
final class ProgressReporter: Sendable {
  private struct State {
    var bytesOfFinishedFiles = 0
    var path = ""
    var bytesOfFile = 0
    var lastWritten = ContinuousClock.now
  }

  private let progress: ImportProgress
  private let isTerminal: Bool
  private let start = ContinuousClock.now
  private let state = Mutex(State())

  /// Creates a reporter.
  init(totalBytes: Int?, isTerminal: Bool) {
    progress = ImportProgress(totalBytes: totalBytes)
    self.isTerminal = isTerminal
  }

  /// Takes note of how far the reading has come, and writes it where it is time.
  func report(path: String, bytesOfFile: Int, rows: Int?) {
    let now = ContinuousClock.now
    let bytes: Int? = state.withLock { state in
      if state.path != path || bytesOfFile < state.bytesOfFile {
        state.bytesOfFinishedFiles += state.bytesOfFile
        state.path = path
      }
      state.bytesOfFile = bytesOfFile
      guard now - state.lastWritten >= (isTerminal ? .milliseconds(200) : .seconds(3)) else { return nil }
      state.lastWritten = now
      return state.bytesOfFinishedFiles + bytesOfFile
    }
    guard let bytes else { return }
    let line = progress.line(rows: rows, bytes: bytes, elapsed: now - start, width: isTerminal ? 24 : 0)
    // To the line's start, and clear to its end (ECMA-48).
    StandardError.write(Array((isTerminal ? "\r\(line)\u{1B}[K" : "\(line)\n").utf8))
  }

  /// Ends the line on a terminal.
  func finish() {
    if isTerminal { StandardError.write(Array("\r\u{1B}[K".utf8)) }
  }
}
