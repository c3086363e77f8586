/// The lines on which rows start, in memory that does not grow with regular texts.
///
/// Rows at equal distances, such as those of NDJSON, take one run however many they are. Beyond
/// ``maximumRuns`` runs, the lines of later rows are unknown.
package struct RowLines: Sendable {
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

  package init() {}

  /// The number of bytes of memory.
  package var byteCount: Int { runs.count * MemoryLayout<Run>.stride }

  /// Appends the line of a row. Rows come in order, without gaps.
  package mutating func append(_ line: Int, ofRow row: Int) {
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

  /// Appends the lines of a part of the text, before which there were other lines and rows.
  package mutating func append(_ part: RowLines, linesBefore: Int, rowsBefore: Int) {
    for run in part.runs {
      for index in 0..<run.count {
        append(linesBefore + run.firstLine + index * run.stride, ofRow: rowsBefore + run.firstRow + index)
      }
    }
  }

  /// Returns the line of a row; `nil` if it is not known. The time is logarithmic in the number of runs.
  package func line(ofRow row: Int) -> Int? {
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
package struct LineCounter: Sendable {
  /// The line of the last position, counted from 1.
  private var line = 1

  /// The position in the current bytes up to which line ends have been counted.
  private var position = 0

  /// The last byte that was counted.
  private var lastByte: UInt8 = 0

  package init() {}

  /// Creates a counter of the lines from a position on, where a line starts after a line feed.
  package init(from position: Int) {
    self.position = position
    lastByte = 0x0A
  }

  /// Continues with the counter of the part from the last position on.
  package mutating func append(_ part: LineCounter) {
    line += part.line - 1
    (position, lastByte) = (part.position, part.lastByte)
  }

  /// Returns the line of a position. Positions must not decrease; the time is linear in the distance to the last one.
  package mutating func line(at position: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    guard position > self.position else { return line }
    // Each byte is compared with the one before it in memory, so that the compiler can compare many at once.
    var ends = Self.ends(bytes[self.position], after: lastByte)
    for index in self.position + 1..<position { ends &+= Self.ends(bytes[index], after: bytes[index - 1]) }
    line += ends
    lastByte = bytes[position - 1]
    self.position = position
    return line
  }

  /// Returns 1 if a byte ends a line: a carriage return, or a line feed that none precedes; otherwise 0.
  private static func ends(_ byte: UInt8, after previous: UInt8) -> Int {
    (byte == 0x0D ? 1 : 0) &+ (byte == 0x0A && previous != 0x0D ? 1 : 0)
  }

  /// Counts the bytes that are about to be dropped from the start of the current ones.
  package mutating func drop(_ count: Int, of bytes: UnsafeBufferPointer<UInt8>) {
    _ = line(at: count, in: bytes)
    position -= count
  }
}
