import PointFormats
import Points
import TextFiles

/// The rows, rejections and error of a parsed text.
struct Parsed: Equatable {
  var rows: [ImportRow] = []
  var rejections: [RejectedRow] = []
  var error: FormatError?

  /// The details of the rejections by row.
  var details: [Int: String] { Dictionary(uniqueKeysWithValues: rejections.map { ($0.number, $0.detail) }) }

  /// The lines of the rejections by row.
  var lines: [Int: Int?] { Dictionary(uniqueKeysWithValues: rejections.map { ($0.number, $0.location.line) }) }

  /// The names of the places by row.
  var names: [Int: String] { Dictionary(uniqueKeysWithValues: rows.map { ($0.number, $0.draft.name) }) }

  init() {}

  /// Reads the bytes in chunks of that size.
  init(
    _ bytes: [UInt8], _ format: PointFormat, chunkSize: Int = .max, maximumRecordBytes: Int = 1 << 20,
    options: RowOptions = .standard, charset: TextCharset? = nil
  ) {
    var parser = PointParser(
      format: format, maximumRecordBytes: maximumRecordBytes, options: options, charset: charset)
    var read: [PointParser.Row] = []
    do {
      var rest = bytes[...]
      while !rest.isEmpty {
        try parser.consume(rest.prefix(chunkSize), into: &read)
        rest = rest.dropFirst(chunkSize)
      }
      try parser.finish(into: &read)
    } catch {
      self.error = error
    }
    for row in read {
      switch row {
      case .success(let row): rows.append(row)
      case .failure(let rejection): rejections.append(rejection)
      }
    }
  }

  init(
    _ text: String, _ format: PointFormat, chunkSize: Int = .max, maximumRecordBytes: Int = 1 << 20,
    options: RowOptions = .standard
  ) {
    self.init(
      Array(text.utf8), format, chunkSize: chunkSize, maximumRecordBytes: maximumRecordBytes, options: options)
  }
}

extension [[UInt8]] {
  var async: AsyncStream<[UInt8]> {
    AsyncStream { continuation in
      forEach { continuation.yield($0) }
      continuation.finish()
    }
  }
}
