import Hosting
import OpenStreetMap
import ServerFeatures
import Synchronization

/// Writes the progress of an import to standard error: on a terminal as one line that is overwritten, elsewhere as a
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

  init(totalBytes: Int?, isTerminal: Bool) {
    progress = ImportProgress(totalBytes: totalBytes)
    self.isTerminal = isTerminal
  }

  /// Notes the progress of reading, and writes it at most once per interval.
  func report(path: String, bytesOfFile: Int, rows: Int?) {
    let now = ContinuousClock.now
    let bytes: Int? = state.withLock { state in
      if state.path != path || bytesOfFile < state.bytesOfFile {
        state.bytesOfFinishedFiles += state.bytesOfFile
        state.path = path
      }
      state.bytesOfFile = bytesOfFile
      guard now - state.lastWritten >= interval else { return nil }
      state.lastWritten = now
      return state.bytesOfFinishedFiles + bytesOfFile
    }
    guard let bytes else { return }
    write(progress.line(rows: rows, bytes: bytes, elapsed: now - start, width: isTerminal ? 24 : 0))
  }

  /// Notes the progress of reading a file of OpenStreetMap, and writes it at most once per interval.
  func report(_ step: OSMProgress) {
    let now = ContinuousClock.now
    let isDue = state.withLock { state in
      guard now - state.lastWritten >= interval else { return false }
      state.lastWritten = now
      return true
    }
    guard isDue else { return }
    let line = ImportProgress(totalBytes: step.bytesTotal).line(
      rows: nil, bytes: step.bytesDone, elapsed: now - start, width: isTerminal ? 24 : 0)
    write("\(step.phase.explanation): \(line)")
  }

  /// Writes the name of a phase without a known duration, on a terminal.
  func reportPhase(_ name: String) {
    if isTerminal { write("\(name) …") }
  }

  private var interval: Duration { isTerminal ? .milliseconds(200) : .seconds(3) }

  private func write(_ line: String) {
    // To the line's start, and clear to its end (ECMA-48).
    StandardError.write(Array((isTerminal ? "\r\(line)\u{1B}[K" : "\(line)\n").utf8))
  }

  /// Ends the line on a terminal.
  func finish() {
    if isTerminal { StandardError.write(Array("\r\u{1B}[K".utf8)) }
  }
}

/// The progress of an import as a line of text. It takes the time as a parameter.
struct ImportProgress {
  /// The size of all files; `nil` where it is unknown.
  let totalBytes: Int?

  /// Returns the line at a moment.
  ///
  /// - Parameters:
  ///   - rows: the number of rows read; `nil` where they are not counted.
  ///   - bytes: the number of bytes read of all files.
  ///   - elapsed: the time since the start.
  ///   - width: the width of the bar in characters; 0 for none.
  func line(rows: Int?, bytes: Int, elapsed: Duration, width: Int = 0) -> String {
    let seconds = max(0.001, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
    let done = rows.map { (amount: $0, unit: "rows") } ?? (amount: bytes >> 20, unit: "MiB")
    let pace = ["\(done.amount) \(done.unit)", "\(Int(Double(done.amount) / seconds)) \(done.unit)/s"]
    guard let totalBytes, totalBytes > 0 else { return pace.joined(separator: ", ") }
    let share = min(1, Double(bytes) / Double(totalBytes))
    var parts = ["\(Int(share * 100)) %"] + pace
    if share > 0, share < 1 { parts.append("\(Self.clock(seconds * (1 - share) / share)) left") }
    guard width > 0 else { return parts.joined(separator: ", ") }
    let filled = Int(share * Double(width))
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    return "[\(bar)] " + parts.joined(separator: ", ")
  }

  private static func clock(_ seconds: Double) -> String {
    let seconds = Int(seconds.rounded(.up))
    guard seconds >= 60 else { return "\(seconds) s" }
    return seconds < 3600 ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds / 3600) h \(seconds / 60 % 60) min"
  }
}

extension OSMProgress.Phase {
  /// The phase in words.
  fileprivate var explanation: String {
    switch self {
    case .parse: "parsing"
    case .scanRelations: "scanning relations"
    case .scanWays: "scanning ways"
    case .nodes: "reading nodes"
    case .ways: "reading ways"
    case .relations: "reading relations"
    }
  }
}
