import Gzip
package import TextFiles

/// The first bytes of a file, which determine how it is read, with the reading of the others.
package struct FileStart: Sendable {
  /// The format of the file's text.
  package let format: PointFormat

  /// A Boolean value that indicates whether the file is compressed with gzip.
  package let isCompressed: Bool

  /// A Boolean value that indicates whether the file is a ZIP archive with a table.
  package let isArchive: Bool

  /// The chunks that have been read.
  package private(set) var chunks: [[UInt8]]

  /// The chunks that follow.
  package private(set) var rest: FileChunks.AsyncIterator

  private let path: String

  /// Goes back to the beginning of the file.
  package mutating func rewind() {
    chunks = []
    rest = FileChunks(path: path).makeAsyncIterator()
  }

  /// Reads the first bytes of a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - format: the format of the file's text; `nil` if the text determines it.
  ///   - charset: the encoding of the file's text; `nil` if the text determines it.
  /// - Throws: ``FileError`` when the file can't be read or is not of a format of places, `GzipError` when it can't be
  ///   unpacked.
  package init(of path: String, format: PointFormat?, charset: TextCharset? = nil) async throws {
    var rest = FileChunks(path: path).makeAsyncIterator()
    var chunks: [[UInt8]] = []
    var parser = PointParser(format: format, charset: charset)
    var rows: [PointParser.Row] = []
    var decoder: GzipDecoder?
    var archive: FileText?
    do {
      while chunks.isEmpty || parser.format == nil, let chunk = try await rest.next() {
        if chunks.isEmpty, try ZipArchiveReader.tables.hasTable(path, beginningWith: chunk) {
          archive = FileText(path: path, archives: .tables)
          break
        }
        if chunks.isEmpty, chunk.starts(with: [0x1F, 0x8B]) { decoder = try GzipDecoder() }
        chunks.append(chunk)
        // Of a chunk that unpacks to more, the beginning is enough.
        let text = try chunk.withUnsafeBytes { bytes in try decoder?.decode(bytes, atMost: 1 << 18).output } ?? chunk
        try parser.consume(text, into: &rows)
        rows.removeAll()
      }
      while parser.format == nil, let text = try await archive?.next() { try parser.consume(text, into: &rows) }
      if parser.format == nil { try parser.finish(into: &rows) }
    } catch let error as FormatError {
      // Any other error is that of a header or a row, which is reported when the text is parsed.
      if let file = error.foreignFile { throw FileError(path: path, reason: file.explanation(path: path)) }
    }
    self.format = parser.format ?? .csv
    isCompressed = decoder != nil
    isArchive = archive != nil
    self.chunks = chunks
    self.rest = rest
    self.path = path
  }
}

extension ZipArchiveReader {
  /// The reader of archives with one file of a format of places.
  package static let tables = ZipArchiveReader {
    $0.withUnsafeBufferPointer { ForeignFile($0) } != .zip
  } isTable: {
    PointFormat(fileName: $0) != nil
  }
}
