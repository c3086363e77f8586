import Gzip
public import Points

/// Places in files, read one file after another, in batches for a `PointImporter`. Rows are numbered over all files. A
/// file may be compressed with gzip.
public struct PointFiles: AsyncSequence, Sendable {
  /// Some rows, in order; never none.
  public typealias Element = [ImportRow]

  /// A file to read.
  public struct File: Hashable, Sendable {
    /// The path of the file; `-` for the standard input.
    public let path: String

    /// The format of its text.
    public let format: PointFormat

    /// Creates a file of a known format.
    public init(path: String, format: PointFormat) {
      self.path = path
      self.format = format
    }

    /// Creates a file whose format follows from its name, with or without `.gz` at the end.
    ///
    /// - Throws: ``FileError`` when it has no known extension.
    public init(path: String) throws(FileError) {
      let name = path.lowercased().hasSuffix(".gz") ? String(path.dropLast(3)) : path
      guard let format = PointFormat(fileName: name) else {
        throw FileError(path: path, reason: "the name does not tell the format, which must be given")
      }
      self.init(path: path, format: format)
    }
  }

  /// The progress of reading.
  public struct Progress: Hashable, Sendable {
    /// The file that is being read.
    public let path: String

    /// The number of its bytes that have been read.
    public let bytesRead: Int

    /// Its size in bytes; `nil` where it has none.
    public let byteCount: Int?

    /// The number of rows of all files that have been read, including the rejected ones.
    public let rows: Int
  }

  private let files: [File]
  private let options: RowOptions
  private let mapping: (any RecordMapping)?
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
  ///   - mapping: the mapping that makes places of the rows' fields; `nil` where they are named as a place's.
  ///   - batchSize: the minimum number of rows of a batch, except the last.
  ///   - requiresUsableRow: a Boolean value that indicates whether a file all of whose rows are rejected is an error. A
  ///     file without rows is none.
  ///   - notes: the notes about the rows.
  ///   - onRejection: called with each rejected row, in order.
  ///   - onProgress: called with the progress after each chunk of a few hundred kilobytes.
  public init(
    _ files: [File],
    options: RowOptions = .standard,
    mapping: (any RecordMapping)? = nil,
    batchSize: Int = 1000,
    requiresUsableRow: Bool = false,
    notes: ImportNotes? = nil,
    onRejection: @escaping @Sendable (RejectedRow) -> Void,
    onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.files = files
    self.options = options
    self.mapping = mapping
    self.batchSize = batchSize
    self.requiresUsableRow = requiresUsableRow
    self.notes = notes
    self.onRejection = onRejection
    self.onProgress = onProgress
  }

  /// Returns an iterator from the first file.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(
      sequence: self, files: files[...],
      batcher: RowBatcher(
        parser: PointParser(format: files.first?.format ?? .ndjson, options: options, mapping: mapping),
        path: files.first?.path, notes: notes, batchSize: batchSize, onRejection: onRejection))
  }

  /// An iterator over the batches.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let sequence: PointFiles
    fileprivate var files: ArraySlice<File>
    fileprivate var batcher: RowBatcher
    fileprivate var text: FileText?

    /// Returns the next batch; `nil` at the end of the last file.
    ///
    /// - Throws: ``FileError`` when a file can't be read or is not of its format, `CancellationError` when the task is
    ///   cancelled.
    public mutating func next() async throws -> [ImportRow]? {
      while !batcher.isFull, let file = files.first {
        try Task.checkCancellation()
        do {
          try await readChunk(of: file)
        } catch let error as FormatError {
          throw FileError(path: file.path, reason: error.description)
        } catch let error as GzipError {
          throw FileError(path: file.path, reason: "the file \(error)")
        }
      }
      return batcher.takeBatch()
    }

    private mutating func readChunk(of file: File) async throws {
      var text = self.text ?? FileText(path: file.path)
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
            format: next.format, firstRow: batcher.parser.nextRow, options: sequence.options, mapping: sequence.mapping)
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
