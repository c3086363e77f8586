/// The lines on which rows start, in memory that does not grow with regular texts.
///
/// Rows at equal distances, such as those of NDJSON, take one run however many they are. Beyond
/// ``maximumRuns`` runs, the lines of later rows are unknown.
struct RowLines: Sendable {
  /// Rows whose lines are at equal distances.
  private struct Run {
    let firstRow: Int
    let firstLine: Int
    var stride: Int
    var count: Int
  }

  /// The limit of memory: 2 MiB.
  static let maximumRuns = 1 << 16

  private var runs: [Run] = []

  /// Appends the line of a row. Rows come in order, without gaps.
  mutating func append(_ line: Int, ofRow row: Int) {
    if var run = runs.last, row == run.firstRow + run.count {
      if run.count == 1 { run.stride = line - run.firstLine }
      if line == run.firstLine + run.stride * run.count {
        run.count += 1
        runs[runs.count - 1] = run
        return
      }
    }
    guard runs.count < Self.maximumRuns else { return }
    runs.append(Run(firstRow: row, firstLine: line, stride: 1, count: 1))
  }

  /// Returns the line of a row; `nil` where it is not known. The time is logarithmic in the number of runs.
  func line(ofRow row: Int) -> Int? {
    var range = 0..<runs.count
    while range.count > 0 {
      let middle = range.lowerBound + range.count / 2
      let run = runs[middle]
      if row < run.firstRow {
        range = range.lowerBound..<middle
      } else if row >= run.firstRow + run.count {
        range = middle + 1..<range.upperBound
      } else {
        return run.firstLine + (row - run.firstRow) * run.stride
      }
    }
    return nil
  }
}

/// A counter of the lines of a text that comes in chunks. A line ends with LF, CR or both.
struct LineCounter {
  /// The line of the last position, counted from 1.
  private var line = 1

  /// The position in the current bytes up to which line ends have been counted.
  private var position = 0

  /// The last byte that was counted.
  private var lastByte: UInt8 = 0

  /// Returns the line of a position. Positions must not decrease; the time is linear in the distance to the last one.
  mutating func line(at position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    guard position > self.position else { return line }
    var ends = 0
    var previous = lastByte
    for index in self.position..<position {
      let byte = bytes[index]
      ends &+= (byte == 0x0D ? 1 : 0) &+ (byte == 0x0A && previous != 0x0D ? 1 : 0)
      previous = byte
    }
    line += ends
    lastByte = previous
    self.position = position
    return line
  }

  /// Counts the bytes that are about to be dropped from the start of the current ones.
  mutating func drop(_ count: Int, of bytes: UnsafeBufferPointer<UInt8>) {
    _ = line(at: count, in: bytes)
    position -= count
  }
}
