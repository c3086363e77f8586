import Foundation
import Points

/// The progress of a copy: the position up to which it is complete, and the ids of the places that came from the server.
///
/// The position is in a file that is replaced atomically after the changes before it are durable. The ids are in a file
/// beside it, to which an id is appended before its place is copied and from which it is taken after the place was
/// deleted: after any stop the file has at least the ids of the copy.
struct FollowProgress {
  /// The contents of the state file.
  private struct State: Codable {
    var query: String
    var position: String
  }

  /// A line of the file of ids: a sign, the id and the end of the line.
  private static let lineLength = PointID.textLength + 2

  /// The number of superfluous lines at which the file of ids is written anew.
  private static let maximumSurplus = 1000

  private let path: String?
  private var state: State?
  private var file: LockedFile?

  /// The ids of the places that came from the server.
  private(set) var ids: Set<PointID> = []

  /// Reads the progress; there is none if the path has no file.
  ///
  /// - Parameter path: the path of the state file; `nil` to keep nothing beyond the process.
  /// - Throws: ``FollowError``.
  init(path: String?) throws(FollowError) {
    self.path = path
    guard let path else { return }
    if let data = FileManager.default.contents(atPath: path) {
      guard let state = try? JSONDecoder().decode(State.self, from: data) else {
        throw .damaged("'\(path)' is not a state file of waymark follow")
      }
      self.state = state
    } else if FileManager.default.fileExists(atPath: path) {
      throw .damaged("'\(path)' can't be read")
    }
    try openIDs(at: path + ".ids")
  }

  /// The path of the file of the areas, beside the others; `nil` to keep nothing beyond the process.
  var areasPath: String? { path.map { $0 + ".areas" } }

  /// Returns the position up to which the copy of places with certain conditions is complete; `nil` if it is not known.
  func position(of query: FollowQuery) -> String? {
    guard let state, state.query == query.text else { return nil }
    return state.position
  }

  /// Stores the position up to which the copy is complete.
  mutating func advance(to position: String, _ query: FollowQuery) async throws {
    let next = State(query: query.text, position: position)
    if let path {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let file = try ExportFile(path: path, isPrivate: true)
      try file.write(Array(try encoder.encode(next)) + [UInt8(ascii: "\n")])
      try file.finish()
    }
    state = next
  }

  // MARK: Ids

  /// Adds ids, durably, before their places are copied.
  mutating func insert(_ new: [PointID]) throws {
    let unknown = new.filter { ids.insert($0).inserted }
    guard !unknown.isEmpty, let handle = file?.handle else { return }
    do {
      try handle.write(contentsOf: Self.lines(unknown, sign: "+"))
      try handle.synchronize()
    } catch {
      // The places are not copied, and the next attempt adds the ids again.
      ids.subtract(unknown)
      throw error
    }
  }

  /// Removes ids after their places were deleted.
  mutating func remove(_ old: [PointID]) throws {
    let known = old.filter { ids.remove($0) != nil }
    guard !known.isEmpty else { return }
    try file?.handle.write(contentsOf: Self.lines(known, sign: "-"))
  }

  private mutating func openIDs(at path: String) throws(FollowError) {
    let data = FileManager.default.contents(atPath: path) ?? Data()
    // The last line may be cut.
    let length = data.count / Self.lineLength * Self.lineLength
    var start = 0
    while start < length {
      let line = data[start..<start + Self.lineLength]
      let id = line.dropFirst().dropLast().withUnsafeBytes { PointID(utf8: $0.assumingMemoryBound(to: UInt8.self)) }
      guard let id else { throw .damaged("'\(path)' is not a file of ids of waymark follow") }
      if line.first == UInt8(ascii: "+") { ids.insert(id) } else { ids.remove(id) }
      start += Self.lineLength
    }
    do {
      if length / Self.lineLength > ids.count * 2 + Self.maximumSurplus { try rewrite(path) }
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw FollowError.damaged("'\(path)' can't be written") }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      guard let file = LockedFile(handle) else {
        throw FollowError.damaged("'\(path)' is used by another waymark follow")
      }
      let end = try handle.seekToEnd()
      try handle.truncate(atOffset: end / UInt64(Self.lineLength) * UInt64(Self.lineLength))
      try handle.seekToEnd()
      self.file = file
    } catch let error as FollowError {
      throw error
    } catch {
      throw .damaged("'\(path)' can't be written: \(error)")
    }
  }

  /// Replaces the file of ids by one with a line for each.
  private func rewrite(_ path: String) throws {
    let file = try ExportFile(path: path, isPrivate: true)
    try file.write(Array(Self.lines(Array(ids), sign: "+")))
    try file.finish()
  }

  private static func lines(_ ids: [PointID], sign: Character) -> Data {
    var text = Data(capacity: ids.count * lineLength)
    for id in ids { text.append(contentsOf: "\(sign)\(id)\n".utf8) }
    return text
  }
}

/// A file that no other process may lock until the last reference is released.
private final class LockedFile: Sendable {
  let handle: FileHandle

  /// Locks a file; `nil` if it is locked.
  init?(_ handle: FileHandle) {
    guard flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    self.handle = handle
  }

  // A child that is being started has the descriptor, and the lock with it, until it executes its program.
  deinit { _ = flock(handle.fileDescriptor, LOCK_UN) }
}
