import Foundation

/// A small in-memory file system, mounted on a folder to which PostgreSQL may write.
///
/// Mounting requires a privilege; ``isAllowed`` indicates whether this process has it.
package final class SmallDisk: Sendable {
  /// The mount point.
  package let path: String

  /// A Boolean value that indicates whether this process may mount file systems. Root may on most machines, but in few
  /// containers.
  package static let isAllowed: Bool = (try? SmallDisk(megabytes: 1)) != nil

  /// Mounts a file system of the given size.
  ///
  /// - Throws: ``TemporaryServerError``.
  package init(megabytes: Int) throws {
    path = "/tmp/waymark-disk-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    do {
      try Self.mount(path, megabytes: megabytes, flags: 0)
    } catch {
      try? FileManager.default.removeItem(atPath: path)
      throw error
    }
  }

  deinit {
    #if canImport(Glibc)
      // This also works where a server still has open files there.
      umount2(path, Int32(MNT_DETACH))
    #endif
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Resizes the file system.
  ///
  /// - Throws: ``TemporaryServerError``.
  package func resize(megabytes: Int) throws {
    #if canImport(Glibc)
      try Self.mount(path, megabytes: megabytes, flags: UInt(MS_REMOUNT))
    #endif
  }

  private static func mount(_ path: String, megabytes: Int, flags: UInt) throws {
    #if canImport(Glibc)
      guard let user = getpwnam("postgres")?.pointee.pw_uid else {
        throw TemporaryServerError(description: "there is no user postgres")
      }
      guard Glibc.mount("tmpfs", path, "tmpfs", flags, "size=\(megabytes)m,uid=\(user)") == 0 else {
        throw TemporaryServerError(description: "\(path) can't be mounted: \(String(cString: strerror(errno)))")
      }
    #else
      throw TemporaryServerError(description: "file systems in memory are mounted on Linux only")
    #endif
  }
}
