import Foundation

/// A file system in memory that is soon full, mounted on a folder that PostgreSQL may write to.
///
/// It takes the right to mount; ``isAllowed`` says whether there is.
public final class SmallDisk: Sendable {
  /// Where it is mounted.
  public let path: String

  /// Whether this process may mount file systems; as root on most machines, and in few containers.
  public static let isAllowed: Bool = (try? SmallDisk(megabytes: 1)) != nil

  /// Mounts one of so many megabytes.
  ///
  /// - Throws: ``TemporaryServerError``.
  public init(megabytes: Int) throws {
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
      // Also where a server still has files open there.
      umount2(path, Int32(MNT_DETACH))
    #endif
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Resizes it to so many megabytes.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func resize(megabytes: Int) throws {
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
