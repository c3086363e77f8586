import Basics
package import Points
package import TextFiles

/// An incremental parser of places: a state machine without input or output of its own. The text is UTF-8, or UTF-16
/// with a byte-order mark or an ASCII beginning; CSV may be in Windows-1252.
///
/// A row that is malformed or breaks a rule is rejected and the rest goes on. A row is a line that is not blank, an
/// element of the array of features, or a record of a CSV file that is neither the header nor blank; a record of CSV
/// may span lines. Rows are numbered from ``nextRow`` on, the rejected ones too.
///
/// Memory is bounded by ``maximumRecordBytes`` and the chunk given, whatever the length of the whole.
///
/// A field is recognised by the same spellings in every format, in any case: `name`; `lat`, `latitude` or `y`; `long`,
/// `lon`, `lng`, `longitude` or `x`; `category`, `tags`, `id`, `source`, and `sourceId` or `source_id`. `version`,
/// `createdAt`, `updatedAt` and `distance`, which the service sets, are ignored, so that an export can be imported. Any
/// other member or column is a tag, or an error where ``RowOptions/unknownFields`` says so.
///
/// A tag's value that is a number or a boolean becomes its text; null, and an empty cell of CSV, is no tag. An array or
/// an object becomes its JSON text as a member of its own, and is an error in `tags`. `tags` takes precedence over a
/// member or column of the same name.
///
/// Fields for the weekdays, `openingHours` and `openingHoursSpecification` of schema.org and `periods` become the tag
/// `opening_hours` where the row has none (see `ScheduleFields`).
///
/// - JSON: an object of these members, or a GeoJSON Feature. Coordinates are numbers; a member `geometry`, in GeoJSON or
///   as well-known text, replaces them. `x` and `y` beside other names of the coordinates are tags.
/// - GeoJSON: a Feature of a Point, or of another geometry, of which a position inside or in the middle counts. A
///   Feature whose geometry is null is skipped. An altitude is left out, and so are coordinates among the properties. An
///   `id` of the properties, or else of the Feature, is the place's when it is a UUID; in the properties any other is a
///   tag, as is a `source` without a `sourceId`. Other members of the Feature are left out. A `crs` must be WGS 84.
/// - CSV: a header row with the columns in any order, separated by commas, semicolons, tabs or vertical bars, whichever
///   the header has most of; `tags` is a JSON object. Where commas do not separate columns, a coordinate may have a
///   decimal comma. A column `WKT` with a point replaces the two of the coordinates. An apostrophe before `=`, `+`, `-`
///   or `@` that keeps spreadsheets from calculating a text is removed (see ``PointFileWriter``).
///
/// Where ``RowOptions/source`` is given, a row without a source and `sourceId` of its own takes it, with the row's id
/// as the `sourceId`.
package struct PointParser: Sendable {
  /// The default maximum length of a row in bytes: 1 MiB.
  package static let defaultMaximumRecordBytes = 1 << 20

  /// A row, or its rejection.
  package typealias Row = Result<ImportRow, RejectedRow>

  /// The maximum length of a row in bytes; a longer one is skipped and rejected.
  package let maximumRecordBytes: Int

  /// The format of the text; `nil` until its first bytes have determined it.
  package private(set) var format: PointFormat?

  let firstRow: Int

  private let options: RowOptions
  private let mapping: (any RecordMapping)?
  private let charset: TextCharset?
  private var parser: (any RecordParser)?
  private var decoder: (any TextDecoder)?
  private var window: [UInt8] = []
  private var progress: ParseProgress
  private var start = Start.encoding

  /// The stages of the beginning of a text.
  private enum Start {
    case encoding
    case format
    case rows
  }

  /// Creates a parser that has read nothing.
  ///
  /// - Parameters:
  ///   - format: the format of the text; `nil` if its first bytes determine it.
  ///   - firstRow: the number of the first row.
  ///   - maximumRecordBytes: the maximum length of a row in bytes.
  ///   - options: the options for the rows.
  ///   - mapping: the mapping that makes places of the rows' fields; `nil` if they are named as a place's.
  ///   - charset: the encoding that the sender names, before which a byte-order mark counts; `nil` if the text determines
  ///     it.
  package init(
    format: PointFormat?,
    firstRow: Int = 1,
    maximumRecordBytes: Int = PointParser.defaultMaximumRecordBytes,
    options: RowOptions = .standard,
    mapping: (any RecordMapping)? = nil,
    charset: TextCharset? = nil
  ) {
    self.charset = charset
    self.format = format
    self.firstRow = firstRow
    self.maximumRecordBytes = maximumRecordBytes
    self.options = options
    self.mapping = mapping
    progress = ParseProgress(nextRow: firstRow, maximumRecordBytes: maximumRecordBytes)
  }

  private func makeParser(_ format: PointFormat) -> any RecordParser {
    func decoder(_ accepts: JSONRowDecoder.Acceptance) -> JSONRowDecoder {
      JSONRowDecoder(accepts: accepts, options: options, mapping: mapping, isImport: true)
    }
    return switch format {
    case .json: CollectionParser(decoder: decoder(.placesAndFeatures))
    case .geoJSON: CollectionParser(decoder: decoder(.features))
    case .geoJSONSequence: LineParser(decoder: decoder(.features))
    case .ndjson: LineParser(decoder: decoder(.placesAndFeatures))
    case .csv: CSVParser(options: options, mapping: mapping)
    }
  }

  package var nextRow: Int { progress.nextRow }

  /// The number of bytes of memory for text that is not parsed yet, and for the lines of rows.
  var heldBytes: Int { window.capacity + lines.byteCount }

  /// The lines on which the rows so far start.
  var lines: RowLines { progress.lines }

  /// A Boolean value that indicates whether a Feature had an `id` that is no UUID.
  var hasForeignIDs: Bool { parser?.hasForeignIDs ?? false }

  /// The number of rows that were skipped, as their geometry is null.
  var rowsWithoutGeometry: Int { parser?.rowsWithoutGeometry ?? 0 }

  /// The remarks about how the text was read, for a user.
  var remarks: [String] { parser?.remarks ?? [] }

  /// The name of the encoding that was detected, for a user; `nil` for UTF-8 and for what a byte-order mark says.
  var detectedEncoding: String? { decoder?.detectedEncoding }

  /// Reads the next chunk of the text and appends the rows that it ends.
  ///
  /// - Throws: ``FormatError`` when no more rows can be read; the rows before it have been appended.
  package mutating func consume(_ bytes: some Sequence<UInt8>, into rows: inout [Row]) throws(FormatError) {
    try bytes.withContiguousBytes { bytes throws(FormatError) in
      // A part at a time is joined to the rest of the one before; copying costs little compared with parsing. It is large
      // enough for two processors.
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = rest.prefix(2 * LineParser.minimumHalved)
        rest = rest[part.endIndex...]
        try append(UnsafeBufferPointer(rebasing: part))
        try parse(isLast: false, into: &rows)
      }
    }
  }

  /// Ends the text and appends the rows that were still open. Nothing may be consumed afterwards.
  ///
  /// - Throws: ``FormatError`` when the text ends too early.
  package mutating func finish(into rows: inout [Row]) throws(FormatError) {
    guard try begin(isLast: true) else { return }
    try Self.decoding { () throws(TextEncodingError) in try decoder?.finish(into: &window) }
    try parse(isLast: true, into: &rows)
  }

  private mutating func append(_ part: UnsafeBufferPointer<UInt8>) throws(FormatError) {
    if decoder == nil {
      window.append(contentsOf: part)
    } else {
      try Self.decoding { () throws(TextEncodingError) in try decoder?.decode(part, into: &window) }
    }
  }

  /// Has a decoder read the text so far, but for some bytes at its beginning.
  private mutating func decode(by decoder: any TextDecoder, after markBytes: Int = 0) throws(FormatError) {
    let text = window
    window = []
    self.decoder = decoder
    try text.withUnsafeBufferPointer { text throws(FormatError) in
      try append(UnsafeBufferPointer(rebasing: text.dropFirst(markBytes)))
    }
  }

  private static func decoding<Value>(
    _ body: () throws(TextEncodingError) -> Value
  ) throws(FormatError) -> Value {
    do {
      return try body()
    } catch {
      throw FormatError(encoding: error)
    }
  }

  /// Determines the encoding and the format of the text; returns `false` if its bytes are not enough for that.
  private mutating func begin(isLast: Bool) throws(FormatError) -> Bool {
    if start == .encoding {
      guard window.count >= TextEncoding.decidingBytes || isLast else { return false }
      try findEncoding()
      start = .format
    }
    if start == .format {
      let isSuspicious = format == nil || window.dropFirst(progress.start).first.map(ForeignFile.mayBegin) ?? false
      let deciding = format == nil ? FileContent.decidingBytes : isSuspicious ? FileContent.foreignBytes : 0
      guard isLast || window.count >= deciding else { return false }
      let format = try findFormat(isSuspicious: isSuspicious)
      self.format = format
      parser = makeParser(format)
      if format == .csv, decoder == nil, charset == nil, progress.start == 0 {
        try decode(by: ByteTextDecoder())
      }
      start = .rows
    }
    return true
  }

  private mutating func findEncoding() throws(FormatError) {
    let encoding = try Self.decoding { () throws(TextEncodingError) in
      try TextEncoding(ofTextBeginningWith: window, charset: charset)
    }
    if let decoder = encoding.decoder {
      try decode(by: decoder, after: encoding.markBytes)
    } else {
      progress.start = encoding.markBytes
      progress.position = encoding.markBytes
    }
  }

  private func findFormat(isSuspicious: Bool) throws(FormatError) -> PointFormat {
    guard isSuspicious else { return format ?? .csv }
    let content = window.withUnsafeBufferPointer { bytes in
      FileContent.recognised(in: UnsafeBufferPointer(rebasing: bytes[progress.start...]))
    }
    switch content {
    case .foreign(let file): throw FormatError(file)
    case .format(let found): return format ?? found
    }
  }

  private mutating func parse(isLast: Bool, into rows: inout [Row]) throws(FormatError) {
    guard try begin(isLast: isLast) else { return }
    // Moved out, so that the parser may change while it reads.
    var window: [UInt8] = []
    swap(&window, &self.window)
    swap(&rows, &progress.rows)
    let result = window.withUnsafeBufferPointer { bytes in
      Result { () throws(FormatError) in
        try parser?.parse(bytes, isLast: isLast, progress: &progress)
      }
    }
    swap(&rows, &progress.rows)
    let end = progress.start
    window.withUnsafeBufferPointer { progress.dropStart(of: $0) }
    swap(&window, &self.window)
    try result.get()
    self.window.removeFirst(end)
  }
}

/// The reason why a text is not of its format, so that no more rows can be read from it.
package struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The row at which reading stopped, where the error is about one.
  package let row: Int?

  /// The reason, for a user.
  package let reason: String

  /// The foreign file that the text is.
  package let foreignFile: ForeignFile?

  package init(row: Int? = nil, reason: String) {
    self.row = row
    self.reason = reason
    foreignFile = nil
  }

  package init(_ file: ForeignFile) {
    row = nil
    reason = file.explanation()
    foreignFile = file
  }

  fileprivate init(encoding error: TextEncodingError) {
    switch error {
    case .utf32: self.init(reason: "the text is in UTF-32; it must be in UTF-8 or UTF-16")
    case .unavailable(let charset): self.init(reason: "the encoding \(charset.name) can't be read on this machine")
    case .undetected(let likely): self.init(.inEncoding(likely))
    }
  }

  /// The message for a user.
  package var description: String {
    if let row { "row \(row): \(reason)" } else { reason }
  }
}

/// A parser of the rows of one format.
protocol RecordParser: Sendable {
  /// A Boolean value that indicates whether a Feature had an `id` that is no UUID.
  var hasForeignIDs: Bool { get }

  /// The number of rows that were skipped, as their geometry is null.
  var rowsWithoutGeometry: Int { get }

  /// The remarks about how the text was read, for a user.
  var remarks: [String] { get }

  /// Reads the rows that end within the bytes, as far as these go.
  ///
  /// - Parameters:
  ///   - bytes: the text from `progress.start` on, scanned up to `progress.position`. The caller drops the bytes
  ///     before `progress.start` afterwards.
  ///   - isLast: a Boolean value that indicates whether the text ends with these bytes.
  /// - Throws: ``FormatError`` when no more rows can be read.
  mutating func parse(
    _ bytes: UnsafeBufferPointer<UInt8>, isLast: Bool, progress: inout ParseProgress
  ) throws(FormatError)
}

extension RecordParser {
  var remarks: [String] { [] }
}

/// The position up to which a text has been read, and the rows that were read.
struct ParseProgress {
  /// The rows that the caller has not taken yet.
  var rows: [PointParser.Row] = []

  /// The start of the current row.
  var start = 0

  /// The position at which scanning goes on.
  var position = 0

  /// The number of bytes of the text before the current ones.
  var bytesDropped = 0

  var nextRow: Int

  /// The maximum length of a row.
  let maximumRecordBytes: Int

  /// The lines on which the rows so far start.
  private(set) var lines = RowLines()

  private var counter = LineCounter()

  /// The line of a row that was skipped before its number was taken.
  private var skippedLine: Int?

  init(nextRow: Int, maximumRecordBytes: Int) {
    self.nextRow = nextRow
    self.maximumRecordBytes = maximumRecordBytes
  }

  /// Creates the progress of the part of a text that starts at a position, where a line does. Its rows are counted from
  /// 0, and its lines from 1, until it is appended to that of the text before.
  init(from start: Int, maximumRecordBytes: Int) {
    self.init(nextRow: 0, maximumRecordBytes: maximumRecordBytes)
    (self.start, position) = (start, start)
    counter = LineCounter(from: start)
  }

  /// Continues with the progress of the part of the text that starts at ``start``.
  mutating func append(_ part: ParseProgress, in bytes: UnsafeBufferPointer<UInt8>) {
    let linesBefore = counter.line(at: start, in: bytes) - 1
    rows.reserveCapacity(rows.count + part.rows.count)
    for row in part.rows {
      switch row {
      case .success(let row):
        rows.append(
          .success(
            ImportRow(
              number: nextRow + row.number, id: row.id, draft: row.draft, unreadableHours: row.unreadableHours,
              given: row.given)))
      case .failure(let row):
        var location = row.location
        location.line = location.line.map { linesBefore + $0 }
        var rejection = RejectedRow(
          number: nextRow + row.number, detail: row.detail, id: row.id, origin: row.origin)
        rejection.location = location
        rows.append(.failure(rejection))
      }
    }
    lines.append(part.lines, linesBefore: linesBefore, rowsBefore: nextRow)
    nextRow += part.nextRow
    (start, position) = (part.start, part.position)
    counter.append(part.counter)
  }

  /// Returns the line of the text at ``start``.
  mutating func line(in bytes: UnsafeBufferPointer<UInt8>) -> Int { counter.line(at: start, in: bytes) }

  /// Notes the line of the row at ``start``, of which the bytes are about to be dropped.
  mutating func noteSkippedRow(in bytes: UnsafeBufferPointer<UInt8>) {
    if skippedLine == nil { skippedLine = counter.line(at: start, in: bytes) }
  }

  /// Removes the note of ``noteSkippedRow(in:)``: it was no row.
  mutating func removeSkippedRow() { skippedLine = nil }

  /// Appends the row that starts at ``start`` and counts it. A row that the closure skips is counted alone.
  mutating func append(in bytes: UnsafeBufferPointer<UInt8>, _ row: (Int) -> PointParser.Row?) {
    let line = skippedLine ?? counter.line(at: start, in: bytes)
    skippedLine = nil
    lines.append(line, ofRow: nextRow)
    switch row(nextRow) {
    case nil: break
    case .success(let row): rows.append(.success(row))
    case .failure(var rejection):
      rejection.location.line = line
      rows.append(.failure(rejection))
    }
    nextRow += 1
  }

  /// Appends the row that starts at ``start`` as rejected.
  mutating func reject(_ detail: String, in bytes: UnsafeBufferPointer<UInt8>) {
    append(in: bytes) { .failure(RejectedRow(number: $0, detail: detail)) }
  }

  /// Appends the row that starts at ``start`` as too long.
  mutating func rejectAsTooLong(in bytes: UnsafeBufferPointer<UInt8>) {
    reject("is longer than \(maximumRecordBytes) bytes", in: bytes)
  }

  /// Prepares for the bytes before ``start`` to be dropped.
  mutating func dropStart(of bytes: UnsafeBufferPointer<UInt8>) {
    counter.drop(start, of: bytes)
    bytesDropped += start
    position -= start
    start = 0
  }
}
