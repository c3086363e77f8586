import Foundation

/// A folder for one test's cache, removed with the value; it is the cache that makes it.
final class CacheFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(path: "waymark-client-\(UUID().uuidString)")

  deinit {
    try? FileManager.default.removeItem(at: url)
  }
}
