import Foundation

/// A file system in memory that is soon full, mounted on a folder that PostgreSQL may write to.
///
/// It takes the right to mount; ``isAllowed`` says whether there is.
public final class SmallDisk: Sendable {
  /// Where it is mounted.
  public let path: String

  /// Whether this process may mount file systems; as root on most machines, and in few containers.
  public static let isAllowed: Bool = {
    guard geteuid() == 0 else { return false }
    return (try? SmallDisk(megabytes: 1)) != nil
  }()

  /// Mounts one of so many megabytes.
  ///
  /// - Throws: ``TemporaryServerError``.
  public init(megabytes: Int) throws {
    path = "/tmp/waymark-disk-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    do {
      try Self.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=0777", "tmpfs", path])
    } catch {
      try? FileManager.default.removeItem(atPath: path)
      throw error
    }
    try Self.run("/bin/chown", ["postgres", path])
  }

  deinit {
    // Also where a server still has files open there.
    try? Self.run("/bin/umount", ["-l", path])
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Makes it of so many megabytes.
  ///
  /// - Throws: ``TemporaryServerError``.
  public func resize(megabytes: Int) throws {
    try Self.run("/bin/mount", ["-o", "remount,size=\(megabytes)m", path])
  }

  private static func run(_ program: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw TemporaryServerError(description: "\(program) failed with \(process.terminationStatus)")
    }
  }
}
