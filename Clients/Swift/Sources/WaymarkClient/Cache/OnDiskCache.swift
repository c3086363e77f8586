public import Foundation

/// A cache that stores each response as a file in a folder.
///
/// The folder is its only state. Processes that share it, such as an app and its widget, see each other's responses.
/// Each file is replaced atomically by a rename, so that a reader sees the old or the new one, also after a crash. A
/// damaged file counts as missing.
public struct OnDiskCache: ResponseCache {
  /// A file of the cache, as a ``CleanupPolicy`` sees it.
  public struct Item: Hashable, Sendable {
    /// The path of the file.
    public let path: String

    /// The time since the file was written, in seconds.
    public let age: TimeInterval

    /// The size of the file in bytes.
    public let size: Int

    /// Creates an item.
    public init(path: String, age: TimeInterval, size: Int) {
      self.path = path
      self.age = age
      self.size = size
    }
  }

  private let folder: URL
  private let policies: [any CleanupPolicy]
  private let now: @Sendable () -> Date

  /// Creates a cache.
  ///
  /// - Parameters:
  ///   - folder: the folder of its files, created on demand. It must not contain other files, because policies may
  ///   remove any file there.
  ///   - policies: the policies that are applied when a response is stored. By default they remove what is older than
  ///   30 days or exceeds 20 MB.
  ///   - now: returns the current time.
  public init(
    folder: URL,
    policies: [any CleanupPolicy] = [
      MaxAgeCleanupPolicy(maxAge: 30 * 24 * 60 * 60), MaxSizeCleanupPolicy(maxSize: 20_000_000),
    ],
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.folder = folder
    self.policies = policies
    self.now = now
  }

  /// Returns the last response that any process stored for a key; `nil` where there is none or it can't be read.
  public func response(for key: String) -> StoredResponse? {
    guard let data = try? Data(contentsOf: file(for: key)) else { return nil }
    return CacheEntry.response(from: data, key: key)
  }

  /// Stores a response in place of the previous one for the key, and applies the policies.
  ///
  /// - Throws: `CocoaError` where the file can't be written.
  public func store(_ response: StoredResponse, for key: String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try CacheEntry.data(of: response, key: key).write(to: file(for: key), options: .atomic)
    for policy in policies { try cleanCache(policy: policy) }
  }

  /// The files in the folder, including incomplete ones that a crash left behind.
  public var currentItems: Set<Item> {
    let keys: Set<URLResourceKey> = [.contentModificationDateKey, .fileSizeKey, .isRegularFileKey]
    let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys))
    let now = now()
    let items = (files ?? []).compactMap { file -> Item? in
      guard let values = try? file.resourceValues(forKeys: keys), values.isRegularFile == true,
        let size = values.fileSize, let date = values.contentModificationDate
      else { return nil }
      return Item(path: file.path(percentEncoded: false), age: now.timeIntervalSince(date), size: size)
    }
    return Set(items)
  }

  /// Removes the items that a policy selects.
  ///
  /// - Throws: `CocoaError` where a file can't be removed, except because it no longer exists.
  public func cleanCache(policy: any CleanupPolicy) throws {
    for item in policy.itemsToRemove(from: currentItems) {
      do {
        try FileManager.default.removeItem(atPath: item.path)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        // Another process has removed it.
      }
    }
  }

  /// Removes all responses, for example when another user signs in.
  ///
  /// - Throws: `CocoaError` where a file can't be removed.
  public func removeAll() throws {
    try cleanCache(policy: Everything())
  }

  private struct Everything: CleanupPolicy {
    func itemsToRemove(from items: Set<Item>) -> Set<Item> { items }
  }

  private func file(for key: String) -> URL { folder.appending(path: CacheEntry.fileName(for: key)) }
}
