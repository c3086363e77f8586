#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A reader of ZIP archives (APPNOTE.TXT 6.3.10) with one table, of which the directory is read at once and the table
/// chunk by chunk.
package struct ZipArchiveReader: Sendable {
  /// A file in the archive.
  struct Entry {
    let name: String
    let isEncrypted: Bool
    let method: UInt16
    let checksum: UInt32
    let packedBytes: Int
    let bytes: Int
    let headerOffset: Int
  }

  private static let signature: [UInt8] = [0x50, 0x4B, 0x03, 0x04]

  private let isDocument: @Sendable (_ start: [UInt8]) -> Bool
  private let isTable: @Sendable (_ name: String) -> Bool

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - isDocument: returns a Boolean value that indicates whether an archive that begins with some bytes is a document
  ///     of another program, such as a workbook, which is not unpacked.
  ///   - isTable: returns a Boolean value that indicates whether a file in an archive is a table, by its name.
  package init(
    isDocument: @escaping @Sendable (_ start: [UInt8]) -> Bool, isTable: @escaping @Sendable (_ name: String) -> Bool
  ) {
    self.isDocument = isDocument
    self.isTable = isTable
  }

  /// The limit of the directory's length.
  private static let maximumDirectoryBytes = 16 << 20

  /// The length of the record at the end, and of the longest comment behind it.
  private static let endBytes = 22
  private static let maximumCommentBytes = 0xFFFF

  /// Returns a Boolean value that indicates whether a file is an archive with a table.
  ///
  /// - Parameter start: the first bytes of the file.
  /// - Throws: ``FileError`` if the archive is damaged, or has several tables or one that can't be read.
  package func hasTable(_ path: String, beginningWith start: [UInt8]) throws(FileError) -> Bool {
    try table(at: path, beginningWith: start) != nil
  }

  /// Returns the table of an archive with the position of its bytes; `nil` if the file is no archive with a table, or is
  /// another program's document, or if the path is none of a regular file.
  ///
  /// - Parameter start: the first bytes of the file.
  /// - Throws: ``FileError`` if the archive is damaged, or has several tables or one that can't be read.
  func table(
    at path: String, beginningWith start: [UInt8]
  ) throws(FileError) -> (entry: Entry, bytes: Range<Int>)? {
    guard start.starts(with: Self.signature), !isDocument(start) else { return nil }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let entries = try Self.entries(descriptor, size: Int(status.st_size), path)
    guard !entries.contains(where: { $0.name.hasPrefix("xl/") || $0.name == "mimetype" }) else { return nil }
    let tables = entries.filter { isVisibleTable($0.name) }
    guard let table = tables.first else { return nil }
    func error(_ reason: String) -> FileError { FileError(path: path, reason: reason) }
    guard tables.count == 1 else {
      let names = tables.prefix(10).map { "'\($0.name.prefix(100))'" }.joined(separator: ", ")
      throw error("the archive has \(tables.count) tables, \(names); unpack it first and import them one by one")
    }
    let name = "'\(table.name.prefix(100))' in the archive"
    guard !table.isEncrypted else { throw error("\(name) is encrypted; unpack it first") }
    guard table.method == 0 || table.method == 8 else {
      throw error("\(name) is compressed by method \(table.method), other than deflate; unpack it first")
    }
    guard let header = Self.bytes(descriptor, at: table.headerOffset, count: 30), header.starts(with: Self.signature)
    else {
      throw error("the archive is damaged: \(name) is not where its directory says")
    }
    let dataStart = table.headerOffset + 30 + Int(header.number16(at: 26)) + Int(header.number16(at: 28))
    guard dataStart + table.packedBytes <= Int(status.st_size) else {
      throw error("the archive ends before \(name) does")
    }
    return (table, dataStart..<dataStart + table.packedBytes)
  }

  /// Returns a Boolean value that indicates whether a file is a table, and neither hidden nor of the metadata that macOS
  /// adds to archives.
  private func isVisibleTable(_ name: String) -> Bool {
    let last = name.split(separator: "/").last ?? ""
    guard !name.hasSuffix("/"), !last.hasPrefix("."), !name.hasPrefix("__MACOSX/") else { return false }
    return isTable(name)
  }

  private static func entries(_ descriptor: CInt, size: Int, _ path: String) throws(FileError) -> [Entry] {
    func error(_ reason: String) -> FileError { FileError(path: path, reason: "the archive \(reason)") }
    let tailStart = max(0, size - endBytes - maximumCommentBytes)
    guard let tail = bytes(descriptor, at: tailStart, count: size - tailStart), tail.count >= endBytes,
      let end = (0...tail.count - endBytes).last(where: { tail[$0...].starts(with: [0x50, 0x4B, 0x05, 0x06]) })
    else { throw error("is damaged: it has no directory at its end") }
    let count = Int(tail.number16(at: end + 10))
    let length = Int(tail.number32(at: end + 12))
    let offset = Int(tail.number32(at: end + 16))
    guard count != 0xFFFF, length != 0xFFFF_FFFF, offset != 0xFFFF_FFFF else {
      throw error("is in ZIP64, which is not read; unpack it first")
    }
    guard length <= maximumDirectoryBytes else { throw error("has too long a directory; unpack it first") }
    guard let directory = bytes(descriptor, at: offset, count: length) else {
      throw error("is damaged: its directory is not where its end says")
    }
    var entries: [Entry] = []
    var position = 0
    for _ in 0..<count {
      guard position + 46 <= directory.count, directory[position...].starts(with: [0x50, 0x4B, 0x01, 0x02]) else {
        throw error("is damaged: its directory ends too early")
      }
      let nameEnd = position + 46 + Int(directory.number16(at: position + 28))
      guard nameEnd <= directory.count else { throw error("is damaged: its directory ends too early") }
      let entry = Entry(
        name: String(decoding: directory[position + 46..<nameEnd], as: UTF8.self),
        isEncrypted: directory.number16(at: position + 8) & 1 == 1, method: directory.number16(at: position + 10),
        checksum: directory.number32(at: position + 16), packedBytes: Int(directory.number32(at: position + 20)),
        bytes: Int(directory.number32(at: position + 24)), headerOffset: Int(directory.number32(at: position + 42)))
      guard ![entry.packedBytes, entry.bytes, entry.headerOffset].contains(0xFFFF_FFFF) else {
        throw error("is in ZIP64, which is not read; unpack it first")
      }
      entries.append(entry)
      position = nameEnd + Int(directory.number16(at: position + 30)) + Int(directory.number16(at: position + 32))
    }
    return entries
  }

  /// Returns bytes of a file; `nil` if it has not that many.
  private static func bytes(_ descriptor: CInt, at offset: Int, count: Int) -> [UInt8]? {
    guard offset >= 0, count >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let result = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
      }
      if result < 0, errno == EINTR { continue }
      guard result > 0 else { return nil }
      filled += result
    }
    return bytes
  }
}

extension [UInt8] {
  /// Returns the number in two bytes, the lowest first.
  fileprivate func number16(at index: Int) -> UInt16 { UInt16(self[index]) | UInt16(self[index + 1]) << 8 }

  /// Returns the number in four bytes, the lowest first.
  fileprivate func number32(at index: Int) -> UInt32 {
    UInt32(number16(at: index)) | UInt32(number16(at: index + 2)) << 16
  }
}
