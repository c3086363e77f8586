import Points

/// What finds the rows of one format and reads them.
protocol RecordParser: Sendable {
  /// Reads the rows that end within the bytes, as far as these go.
  ///
  /// - Parameters:
  ///   - bytes: the text from `progress.start` on, of which what stands before `progress.position` has been looked at;
  ///     what stands before `progress.start` afterwards is not wanted any more.
  ///   - isLast: whether the text ends with these bytes.
  /// - Throws: ``FormatError`` when no more rows can be read.
  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>,
    isLast: Bool,
    progress: inout ParseProgress,
    into rows: inout [PlaceParser.Row]
  ) throws(FormatError)
}

/// How far a text has been read.
struct ParseProgress {
  /// Where the row that is being read starts.
  var start = 0

  /// Where to go on looking.
  var position = 0

  /// How many bytes of the text stood before those at hand.
  var bytesDropped = 0

  /// The number of the next row.
  var nextRow: Int

  /// How long a row may be.
  let maximumRecordBytes: Int

  init(nextRow: Int, maximumRecordBytes: Int) {
    self.nextRow = nextRow
    self.maximumRecordBytes = maximumRecordBytes
  }

  /// The number of the row that is being read now, which counts it.
  mutating func takeRow() -> Int {
    defer { nextRow += 1 }
    return nextRow
  }

  /// Counts the row that is being read now as rejected.
  mutating func reject(_ detail: String, into rows: inout [PlaceParser.Row]) {
    rows.append(.failure(RejectedRow(number: takeRow(), detail: detail)))
  }

  /// Counts the row that is being read now as too long.
  mutating func rejectAsTooLong(into rows: inout [PlaceParser.Row]) {
    reject("is longer than \(maximumRecordBytes) bytes", into: &rows)
  }
}
