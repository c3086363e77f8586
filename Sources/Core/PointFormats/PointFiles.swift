import Gzip
package import Points
package import TextFiles

/// Places in files, read one file after another, in batches for a `PointStore`. Rows are numbered over all files. A
/// file may be compressed with gzip.
package struct PointFiles: AsyncSequence, Sendable {
  /// Some rows, in order; never none.
  package typealias Element = [ImportRow]

  /// A file to read.
  package struct File: Hashable, Sendable {
    /// The path of the file; `-` for the standard input.
    package let path: String

    /// The format of its text; `nil` if its content determines it.
    package let format: PointFormat?

    package init(path: String, format: PointFormat?) {
      self.path = path
      self.format = format
    }

    /// Creates a file whose format follows from its name, with or without `.gz` at the end.
    ///
    /// - Throws: ``FileError`` when it has no known extension.
    package init(path: String) throws(FileError) {
      let name = path.lowercased().hasSuffix(".gz") ? String(path.dropLast(3)) : path
      guard let format = PointFormat(fileName: name) else {
        throw FileError(path: path, reason: "the name does not tell the format, which must be given")
      }
      self.init(path: path, format: format)
    }

    /// Creates a file whose format follows from its name where that has a known extension, and otherwise from its
    /// content.
    package init(named path: String) {
      self = (try? File(path: path)) ?? File(path: path, format: nil)
    }
  }

  /// The progress of reading.
  package struct Progress: Hashable, Sendable {
    /// The file that is being read.
    package let path: String

    /// The number of its bytes that have been read.
    package let bytesRead: Int

    /// Its size in bytes; `nil` if it has none.
    package let byteCount: Int?

    /// The number of rows of all files that have been read, including the rejected ones.
    package let rows: Int
  }

  private let files: [File]
  private let options: RowOptions
  private let mapping: (any RecordMapping)?
  private let charset: TextCharset?
  private let batchSize: Int
  private let requiresUsableRow: Bool
  private let notes: ImportNotes?
  private let onRejection: @Sendable (RejectedRow) -> Void
  private let onProgress: @Sendable (Progress) -> Void

  /// Creates a reader of files, each opened when the one before has ended.
  ///
  /// - Parameters:
  ///   - files: the files, in order.
  ///   - options: the options for the rows.
  ///   - mapping: the mapping that makes places of the rows' fields; `nil` if they are named as a place's.
  ///   - charset: the encoding of the files; `nil` if each file's text determines it.
  ///   - batchSize: the number of rows that end a batch, unless 1 MiB of rows does before.
  ///   - requiresUsableRow: a Boolean value that indicates whether a file all of whose rows are rejected is an error. A
  ///     file without rows is none.
  ///   - notes: the notes about the rows.
  ///   - onRejection: called with each rejected row, in order.
  ///   - onProgress: called with the progress after each chunk of a few hundred kilobytes.
  package init(
    _ files: [File],
    options: RowOptions = .standard,
    mapping: (any RecordMapping)? = nil,
    charset: TextCharset? = nil,
    batchSize: Int = 1000,
    requiresUsableRow: Bool = false,
    notes: ImportNotes? = nil,
    onRejection: @escaping @Sendable (RejectedRow) -> Void,
    onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.files = files
    self.options = options
    self.mapping = mapping
    self.charset = charset
    self.batchSize = batchSize
    self.requiresUsableRow = requiresUsableRow
    self.notes = notes
    self.onRejection = onRejection
    self.onProgress = onProgress
  }

  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      sequence: self, files: files[...],
      batcher: RowBatcher(
        parser: PointParser(format: files.first?.format, options: options, mapping: mapping, charset: charset),
        path: files.first?.path, notes: notes, batchSize: batchSize, onRejection: onRejection))
  }

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let sequence: PointFiles
    fileprivate var files: ArraySlice<File>
    fileprivate var batcher: RowBatcher
    fileprivate var text: FileText?

    /// Returns the next batch; `nil` at the end of the last file.
    ///
    /// - Throws: ``FileError`` when a file can't be read or is not of its format, `CancellationError` when the task is
    ///   cancelled.
    package mutating func next() async throws -> [ImportRow]? {
      while !batcher.isFull, let file = files.first {
        try Task.checkCancellation()
        do {
          try await readChunk(of: file)
        } catch let error as FormatError {
          throw FileError(
            path: file.path, reason: error.foreignFile?.explanation(path: file.path) ?? error.description)
        } catch let error as GzipError {
          throw FileError(path: file.path, reason: "the file \(error)")
        }
      }
      return batcher.takeBatch()
    }

    private mutating func readChunk(of file: File) async throws {
      var text = self.text ?? FileText(path: file.path, archives: .tables)
      if let chunk = try await text.next() {
        self.text = text
        try batcher.consume(chunk)
        sequence.onProgress(
          Progress(
            path: file.path, bytesRead: text.bytesRead, byteCount: await text.byteCount,
            rows: batcher.parser.nextRow - 1))
      } else {
        try batcher.finish()
        try checkUsableRows(of: file)
        files.removeFirst()
        self.text = nil
        if let next = files.first {
          let parser = PointParser(
            format: next.format, firstRow: batcher.parser.nextRow, options: sequence.options, mapping: sequence.mapping,
            charset: sequence.charset)
          batcher.go(onWith: parser, path: next.path)
        }
      }
    }

    private func checkUsableRows(of file: File) throws(FileError) {
      guard sequence.requiresUsableRow, let first = batcher.firstRejection,
        batcher.rejectedRows == batcher.parser.nextRow - batcher.parser.firstRow
      else { return }
      let rows =
        batcher.rejectedRows == 1 ? "its only row is invalid" : "all of its \(batcher.rejectedRows) rows are invalid"
      let line = first.location.line.map { " in line \($0)" } ?? ""
      throw FileError(path: file.path, reason: "\(rows); the first\(line): \(first.detail)")
    }
  }
}

/// Places read from chunks of bytes as they arrive, in batches for a `PointStore`.
///
/// A chunk is read only when a batch is needed, so that the importer applies back-pressure to the sender. Memory is
/// bounded by a record, a chunk and a batch, whatever the lengths of the whole and of its rows.
package struct PointFileReader<Chunks: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Chunks.Element: Sequence<UInt8> {
  /// Some rows, in order; never none.
  package typealias Element = [ImportRow]

  private let chunks: Chunks
  private let parser: PointParser
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void
  private let onMemory: @Sendable (_ heldBytes: Int) throws -> Void

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - chunks: the text, in chunks of any size.
  ///   - parser: the parser of the text, with the number of the first row.
  ///   - batchSize: the number of rows that end a batch, unless 1 MiB of rows does before; it has at most the rows of
  ///     one chunk more.
  ///   - notes: the notes about the rows.
  ///   - onRejection: called with each rejected row, in order.
  ///   - onMemory: called before each chunk and each batch, with the number of bytes of memory that the reader holds,
  ///     without the rows of the batches before. An error that it throws ends the reading.
  package init(
    _ chunks: Chunks,
    parser: PointParser,
    batchSize: Int = 1000,
    notes: ImportNotes? = nil,
    onRejection: @escaping @Sendable (RejectedRow) -> Void,
    onMemory: @escaping @Sendable (_ heldBytes: Int) throws -> Void = { _ in }
  ) {
    self.chunks = chunks
    self.parser = parser
    self.batchSize = batchSize
    self.notes = notes
    self.onRejection = onRejection
    self.onMemory = onMemory
  }

  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      chunks: chunks.makeAsyncIterator(),
      batcher: RowBatcher(parser: parser, notes: notes, batchSize: batchSize, onRejection: onRejection),
      onMemory: onMemory
    )
  }

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var chunks: Chunks.AsyncIterator
    fileprivate var batcher: RowBatcher
    fileprivate let onMemory: @Sendable (_ heldBytes: Int) throws -> Void
    fileprivate var hasEnded = false

    /// Returns the next batch; `nil` at the end.
    ///
    /// - Throws: ``FormatError``, `CancellationError`, or what the chunks or the observer of memory throw.
    package mutating func next() async throws -> [ImportRow]? {
      while !hasEnded, !batcher.isFull {
        try onMemory(batcher.heldBytes)
        if let chunk = try await chunks.next() {
          try batcher.consume(chunk)
        } else {
          // A sequence may end early because its task was cancelled; a part of a text must not pass for the whole.
          try Task.checkCancellation()
          hasEnded = true
          try batcher.finish()
        }
      }
      try onMemory(batcher.heldBytes)
      return batcher.takeBatch()
    }
  }
}

/// Divides the rows of a parser into batches of valid ones and the rejected ones.
private struct RowBatcher {
  private(set) var parser: PointParser
  private var path: String?
  private let notes: ImportNotes?
  private let batchSize: Int
  private let onRejection: @Sendable (RejectedRow) -> Void
  private var rows: [PointParser.Row] = []
  private var batch: [ImportRow] = []

  /// The number of bytes of rows that end a batch, as long rows may be a thousand times as long as others.
  private static let maximumBatchBytes = 1 << 20

  /// The number of bytes of the rows since the last batch.
  private(set) var batchBytes = 0

  /// The number of rejected rows of the current text.
  private(set) var rejectedRows = 0

  /// The first of them.
  private(set) var firstRejection: RejectedRow?

  /// Creates a batcher.
  ///
  /// - Parameters:
  ///   - path: the path of the file, if any.
  ///   - notes: the notes about the rows.
  init(
    parser: PointParser, path: String? = nil, notes: ImportNotes?, batchSize: Int,
    onRejection: @escaping @Sendable (RejectedRow) -> Void
  ) {
    self.parser = parser
    self.path = path
    self.notes = notes
    self.batchSize = batchSize
    self.onRejection = onRejection
  }

  var isFull: Bool { batch.count >= batchSize || batchBytes >= Self.maximumBatchBytes }

  /// The number of bytes of the text that is not parsed yet, of the rows since the last batch, and of the notes.
  var heldBytes: Int { parser.heldBytes + batchBytes + (notes?.byteCount ?? 0) }

  /// Parses the next chunk of a text; see ``PointParser/consume(_:into:)``.
  mutating func consume(_ chunk: some Sequence<UInt8>) throws(FormatError) {
    defer { sort() }
    try parser.consume(chunk, into: &rows)
  }

  /// Ends a text; see ``PointParser/finish(into:)``.
  mutating func finish() throws(FormatError) {
    defer {
      sort()
      notes?.end(parser, path: path)
    }
    try parser.finish(into: &rows)
  }

  /// Begins another text.
  mutating func go(onWith parser: PointParser, path: String) {
    self.parser = parser
    self.path = path
    rejectedRows = 0
    firstRejection = nil
  }

  /// Returns the rows since the last batch; `nil` when there are none.
  mutating func takeBatch() -> [ImportRow]? {
    guard !batch.isEmpty else { return nil }
    defer {
      batch = []
      batchBytes = 0
      batch.reserveCapacity(batchSize)
    }
    return batch
  }

  private mutating func sort() {
    let start = batch.count
    for row in rows {
      switch row {
      case .success(let row):
        batch.append(row)
        batchBytes += row.byteCount
      case .failure(var rejection):
        rejectedRows += 1
        rejection.location = ImportNotes.location(
          ofRow: rejection.number, line: rejection.location.line, path: path, format: parser.format,
          firstRow: parser.firstRow)
        if firstRejection == nil { firstRejection = rejection }
        notes?.note(rejection)
        onRejection(rejection)
      }
    }
    notes?.note(batch[start...])
    rows.removeAll(keepingCapacity: true)
  }
}
