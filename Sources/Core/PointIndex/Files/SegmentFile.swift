import Basics

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A column of the file of a segment. A number is never used for another content.
enum FileColumn: UInt32, CaseIterable {
  case ids = 1
  case coordinates = 5
  case idOrder = 8
  case texts = 11
  case sourceReferences = 12
  case sourceStarts = 13
  case sources = 14
  case positions = 15
  case spaceBounds = 16
  case geographicBounds = 17
  case records = 18
  case stamps = 19

  case categoryNameStarts = 20
  case categoryNames = 21
  case categoryStarts = 22
  case categorySlots = 23
  case categoryIDOrder = 24
  case categorySpaceBounds = 27
  case categoryGeographicBounds = 28

  case decimalCoordinates = 30
  case tagBeginningStarts = 31
  case tagBeginnings = 32
  case textByteCount = 33

  case wordStarts = 40
  case wordBytes = 41
  case wordLetters = 42
  case postingStarts = 43
  case postings = 44
  case wordBounds = 45
  case frequentWords = 46
  case blockStarts = 47
  case blocks = 48
  case entryStarts = 49
  case entries = 50
  case placeBounds = 52

  case hoursEdition = 60
  case hoursNumbers = 61
  case hoursEntries = 62
  case hoursZoneStarts = 63
  case hoursZones = 64
  case hoursCalendarStarts = 65
  case hoursCalendars = 66
  case hoursTextStarts = 67
  case hoursTexts = 68
  case hoursEntryStarts = 69
  case hoursEntriesByText = 70

  /// A Boolean value that indicates whether searches that return few places read hardly anything of the column.
  var isCold: Bool {
    switch self {
    case .texts, .records, .stamps, .sourceReferences: true
    default: false
    }
  }
}

/// The head of the file of a segment, in the byte order and the layout of the program that wrote it: a program with
/// another one rejects the file.
///
/// The blocks follow, from ``blocksOffset`` on, with the columns, each at a multiple of ``alignment``; and then the
/// checksums of the blocks.
private struct FileHead: BitwiseCopyable {
  static let magic: UInt64 = 0x31_54_4E_4D_47_53_4D_57  // "WMSGMNT1" in little-endian order
  static let currentVersion: UInt32 = 4
  static let alignment = 4096

  /// The offset of the first block, a multiple of the size of a page on any system.
  static let blocksOffset = MappedFile.blockSize

  /// The maximum number of columns.
  static let capacity = 64

  struct Column: BitwiseCopyable {
    var number: UInt32 = 0
    var stride: UInt32 = 0
    var offset: UInt64 = 0
    var count: UInt64 = 0
  }

  var magic = Self.magic
  var version = Self.currentVersion
  var columnCount: UInt32 = 0
  var placeCount: UInt64 = 0
  var hashKey: SipHash.Key
  var checksumsOffset: UInt64 = 0
  var checksumsChecksum: UInt32 = 0
  var unused: UInt32 = 0
  var columns = InlineArray<64, Column>(repeating: Column())
}

/// The name of a segment's file in its folder, and the checksum of its head, which has those of its columns.
struct SegmentFileName: Sendable {
  let name: String
  let checksum: UInt32
}

/// Writes the columns of a segment into a file.
struct SegmentFileWriter {
  private let file: OpenFile
  private var head: FileHead
  private var end = FileHead.blocksOffset

  /// The checksums of the complete blocks.
  private var checksums: ContiguousArray<UInt32> = []

  /// The bytes of the block that is not complete.
  private var block: ContiguousArray<UInt8> = []

  /// Creates the file.
  init(path: String, placeCount: Int, hashKey: SipHash.Key) throws(IndexFileError) {
    file = try OpenFile(path, O_CREAT | O_EXCL | O_RDWR)
    head = FileHead(placeCount: UInt64(placeCount), hashKey: hashKey)
    block.reserveCapacity(MappedFile.blockSize)
  }

  /// Appends a column.
  mutating func append<Element>(_ column: FileColumn, _ values: FixedBuffer<Element>) throws(IndexFileError) {
    let padding = (FileHead.alignment - end % FileHead.alignment) % FileHead.alignment
    try ContiguousArray<UInt8>(repeating: 0, count: padding).withUnsafeBufferPointer { bytes throws(IndexFileError) in
      try append(UnsafeRawBufferPointer(bytes))
    }
    precondition(Int(head.columnCount) < FileHead.capacity)
    head.columns[Int(head.columnCount)] = FileHead.Column(
      number: column.rawValue, stride: UInt32(MemoryLayout<Element>.stride), offset: UInt64(end),
      count: UInt64(values.count))
    head.columnCount += 1
    try append(UnsafeRawBufferPointer(start: values.pointer, count: values.byteCount))
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(IndexFileError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(MappedFile.blockSize - block.count)
      rest = rest.dropFirst(part.count)
      if part.count == MappedFile.blockSize {
        checksums.append(Checksum.of(UnsafeRawBufferPointer(rebasing: part)))
        continue
      }
      block.append(contentsOf: part)
      if block.count == MappedFile.blockSize { endBlock() }
    }
    try file.write(bytes, at: end)
    end += bytes.count
  }

  private mutating func endBlock() {
    checksums.append(block.withUnsafeBytes { Checksum.of($0) })
    block.removeAll(keepingCapacity: true)
  }

  /// Completes the file, and returns the checksum of its head once all of it is on disk.
  mutating func finish() throws(IndexFileError) -> UInt32 {
    if !block.isEmpty { endBlock() }
    head.checksumsOffset = UInt64(end)
    head.checksumsChecksum = checksums.withUnsafeBytes { Checksum.of($0) }
    try checksums.withUnsafeBufferPointer { values throws(IndexFileError) in
      try file.write(UnsafeRawBufferPointer(values), at: end)
    }
    let checksum = try withUnsafeBytes(of: head) { bytes throws(IndexFileError) -> UInt32 in
      try file.write(bytes, at: 0)
      return Checksum.of(bytes)
    }
    try file.synchronize()
    return checksum
  }
}

/// The columns of a segment in a file.
struct SegmentFile: Sendable {
  private let mapped: MappedFile
  private let head: FileHead

  var placeCount: Int { Int(head.placeCount) }

  /// The key of the hashes of source references.
  var hashKey: SipHash.Key { head.hashKey }

  /// Maps a file once all of it is verified: searches follow the numbers in its columns without checking them.
  ///
  /// - Parameters:
  ///   - name: the name of the file in the folder, and the checksum of its head.
  ///   - isWritten: a Boolean value that indicates whether this process has written the file, so that its columns are not
  ///     verified.
  init(_ name: SegmentFileName, in folder: String, isWritten: Bool = false) throws(IndexFileError) {
    let file = try OpenFile("\(folder)/\(name.name)", O_RDONLY)
    let size = try file.size()
    var head = FileHead(hashKey: .init(first: 0, second: 0))
    let count = try withUnsafeMutableBytes(of: &head) { bytes throws(IndexFileError) in
      try file.read(bytes, at: 0)
    }
    guard count == MemoryLayout<FileHead>.size, head.magic == FileHead.magic, head.version == FileHead.currentVersion
    else { throw IndexFileError("\(name.name) is not a segment of this program's version") }
    guard withUnsafeBytes(of: head, { Checksum.of($0) }) == name.checksum else {
      throw IndexFileError("\(name.name) has another head than when it was written")
    }
    let byteCount = Int(head.checksumsOffset) - FileHead.blocksOffset
    let blockCount = (byteCount + MappedFile.blockSize - 1) / MappedFile.blockSize
    guard byteCount > 0, size == Int(head.checksumsOffset) + blockCount * MemoryLayout<UInt32>.stride else {
      throw IndexFileError("\(name.name) has another size than when it was written")
    }
    var checksums = ContiguousArray<UInt32>(repeating: 0, count: blockCount)
    let end = try checksums.withUnsafeMutableBufferPointer { values throws(IndexFileError) in
      try file.read(UnsafeMutableRawBufferPointer(values), at: Int(head.checksumsOffset))
    }
    guard end == blockCount * MemoryLayout<UInt32>.stride,
      checksums.withUnsafeBytes({ Checksum.of($0) }) == head.checksumsChecksum
    else { throw IndexFileError("\(name.name) has other checksums than when it was written") }
    self.head = head
    do throws(IndexFileError) {
      mapped = try MappedFile(
        file, offset: FileHead.blocksOffset, count: byteCount, checksums: isWritten ? nil : checksums)
    } catch {
      throw IndexFileError("\(name.name): \(error)")
    }
    advise()
  }

  /// Returns the values of a column.
  ///
  /// - Parameter count: the number of values that the column must have; `nil` for any.
  func column<Element: BitwiseCopyable>(
    _ column: FileColumn, as type: Element.Type = Element.self, count: Int? = nil
  ) throws(IndexFileError) -> FixedBuffer<Element> {
    guard let entry = entry(column), Int(entry.stride) == MemoryLayout<Element>.stride else {
      throw IndexFileError("the column \(column) is missing or has another layout")
    }
    if let count, Int(entry.count) != count { throw IndexFileError("the column \(column) has \(entry.count) values") }
    return FixedBuffer(in: mapped, at: Int(entry.offset) - FileHead.blocksOffset, count: Int(entry.count))
  }

  /// Returns a Boolean value that indicates whether the file has a column.
  func has(_ column: FileColumn) -> Bool { entry(column) != nil }

  /// Returns the range of a column in the file, in bytes; `nil` if the file does not have the column.
  func range(of column: FileColumn) -> Range<Int>? {
    guard let entry = entry(column) else { return nil }
    return Int(entry.offset)..<Int(entry.offset) + Int(entry.count) * Int(entry.stride)
  }

  private func entry(_ column: FileColumn) -> FileHead.Column? {
    for index in 0..<min(Int(head.columnCount), FileHead.capacity) where head.columns[index].number == column.rawValue {
      return head.columns[index]
    }
    return nil
  }

  /// Advises the system which columns are hardly read, so that it reads no more of them than is needed.
  private func advise() {
    for column in FileColumn.allCases where column.isCold {
      guard let range = range(of: column), !range.isEmpty else { continue }
      mapped.adviseRandomReads(range.lowerBound - FileHead.blocksOffset..<range.upperBound - FileHead.blocksOffset)
    }
  }
}
