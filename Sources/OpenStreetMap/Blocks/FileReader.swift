import Foundation

/// A file that several threads read at positions of their own.
final class FileReader: Sendable {
  let descriptor: Int32

  /// The length at the time of opening.
  let count: Int

  /// Opens a file.
  ///
  /// - Throws: ``OSMError/unreadable(_:)`` if the file can't be opened or is not a regular file.
  init(path: String) throws(OSMError) {
    // A pipe would otherwise be waited for.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .unreadable(FileReader.lastError) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw .unreadable("it is not a regular file")
    }
    count = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Reads bytes at a position. They must all be there. The label is the position for errors.
  func read(_ count: Int, at offset: Int, label: Int) throws(OSMError) -> RawBlock {
    guard count <= self.count - offset else { throw .truncated(offset: label) }
    return try RawBlock(count: count, offset: label) { bytes throws(OSMError) in
      guard try read(into: UnsafeMutableRawBufferPointer(bytes), at: offset) == count else {
        throw .truncated(offset: label)
      }
    }
  }

  /// Reads as many bytes at a position as there are, and returns their number.
  func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(OSMError) -> Int {
    var done = 0
    while done < bytes.count {
      let count = pread(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .unreadable(FileReader.lastError)
      }
      done += count
    }
    return done
  }

  static var lastError: String { String(cString: strerror(errno)) }
}

/// A file without a name, which ends with its last use.
final class TemporaryFile: Sendable {
  let descriptor: Int32

  /// Creates a file in a folder.
  ///
  /// - Throws: ``OSMError/outOfSpace(_:)`` if the folder can't be written to.
  init(folder: String?) throws(OSMError) {
    let folder = folder ?? FileManager.default.temporaryDirectory.path
    var template = Array("\(folder)/waymark-osm-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw .outOfSpace("\(folder): \(FileReader.lastError)") }
    unlink(template)
  }

  deinit { close(descriptor) }

  /// Writes bytes at a position.
  func write(_ bytes: [UInt8], at offset: Int) throws(OSMError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .outOfSpace("the temporary file can't be written: \(FileReader.lastError)") }
      done += count
    }
  }

  /// Reads bytes that have been written.
  func read(_ count: Int, at offset: Int, label: Int) throws(OSMError) -> RawBlock {
    try RawBlock(count: count, offset: label) { bytes throws(OSMError) in
      var done = 0
      while done < count {
        let read = pread(descriptor, bytes.baseAddress.map { $0 + done }, count - done, off_t(offset + done))
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { throw .unreadable("the temporary file: \(FileReader.lastError)") }
        done += read
      }
    }
  }
}
