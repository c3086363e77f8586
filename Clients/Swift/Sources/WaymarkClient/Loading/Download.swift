import Foundation

/// The transfer of a response's body to a file, which appears when the body is complete.
final class Download: Sendable {
  private struct State {
    var handle: FileHandle?
    var count = 0
    var error: (any Error)?
  }

  private let file: URL

  /// The file with what has arrived, in the same folder, so that it can be renamed.
  private let part: URL
  private let progress: @Sendable (Int) -> Void
  private let open: @Sendable (URL) throws -> FileHandle
  private let state = Locked(State())

  /// Creates a download that has not begun.
  ///
  /// - Parameters:
  ///   - file: the file that is replaced.
  ///   - progress: called with the number of bytes so far.
  ///   - open: opens the file with what has arrived, which exists.
  init(
    file: URL, progress: @escaping @Sendable (Int) -> Void,
    open: @escaping @Sendable (URL) throws -> FileHandle = { try FileHandle(forWritingTo: $0) }
  ) {
    self.open = open
    self.file = file
    part = file.deletingLastPathComponent().appending(path: ".\(file.lastPathComponent).\(UUID().uuidString)")
    self.progress = progress
  }

  /// The error of writing; `nil` if there was none.
  var error: (any Error)? { state.withLock { $0.error } }

  /// Starts with an empty file.
  func begin() {
    attempt { state in
      try state.handle?.close()
      state.handle = nil
      try Data().write(to: part)
      state.handle = try open(part)
      state.count = 0
    }
  }

  /// Appends a part of the body.
  ///
  /// - Returns: whether it was written.
  func append(_ data: Data) -> Bool {
    let count = attempt { state in
      try state.handle?.write(contentsOf: data)
      state.count += data.count
    }
    guard let count else { return false }
    progress(count)
    return true
  }

  /// Moves the complete body to its place.
  ///
  /// - Throws: `CocoaError`.
  func commit() throws {
    attempt { state in
      try state.handle?.synchronize()
      try state.handle?.close()
      state.handle = nil
      // FileManager does not replace a file on Linux.
      guard rename(part.path(percentEncoded: false), file.path(percentEncoded: false)) == 0 else {
        throw CocoaError(.fileWriteUnknown)
      }
    }
    if let error { throw error }
  }

  /// Removes what has not been moved to its place.
  func discard() {
    state.withLock { state in
      try? state.handle?.close()
      state.handle = nil
    }
    try? FileManager.default.removeItem(at: part)
  }

  /// Does something with the file unless an earlier attempt failed.
  ///
  /// - Returns: the number of bytes in the file; `nil` after an error.
  @discardableResult
  private func attempt(_ body: (inout State) throws -> Void) -> Int? {
    state.withLock { state in
      guard state.error == nil else { return nil }
      do {
        try body(&state)
        return state.count
      } catch {
        state.error = error
        return nil
      }
    }
  }
}
