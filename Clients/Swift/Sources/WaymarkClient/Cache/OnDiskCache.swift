public import Foundation

/// A cache that stores each response as a file in a folder.
///
/// The folder is its only lasting state. Processes that share it, such as an app and its widget, see each other's
/// responses. Each file is replaced atomically by a rename, so that a reader sees the old or the new one, also after a
/// crash. A damaged file counts as missing.
///
/// ```swift
/// let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
/// ```
public struct OnDiskCache: Sendable {
  /// A file of the cache, as a ``CleanupPolicy`` sees it.
  ///
  /// ```swift
  /// let size = OnDiskCache(folder: folder).currentItems.reduce(0) { $0 + $1.size }
  /// let item = OnDiskCache.Item(path: "/item1", age: 5, size: 7)
  /// let itemsToRemove = MaxSizeCleanupPolicy(maxSize: 5).itemsToRemove(from: [item])
  /// ```
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
  private let maximumEntrySize: Int
  private let schedule: CleanupSchedule
  private let now: @Sendable () -> Date

  /// Creates a cache.
  ///
  /// ```swift
  /// let cache = OnDiskCache(folder: folder, policies: [MaxSizeCleanupPolicy(maxSize: 100_000_000)])
  /// ```
  ///
  /// - Parameters:
  ///   - folder: the folder of its files, created on demand. It must not contain other files, because policies may
  ///   remove any file there.
  ///   - policies: the policies that choose the files to remove. By default they remove what is older than 30 days or
  ///   exceeds 20 MB.
  ///   - maximumEntrySize: the maximum size of a file in bytes. A larger response is not stored, so that it does not
  ///   evict all others.
  ///   - cleanupInterval: the number of bytes after which the policies are applied again. They are also applied when
  ///   this value stores its first response. Between that, the cache may exceed its size by this number, and storing a
  ///   response does not list the folder.
  ///   - now: returns the current time.
  public init(
    folder: URL,
    policies: [any CleanupPolicy] = [
      MaxAgeCleanupPolicy(maxAge: 30 * 24 * 60 * 60), MaxSizeCleanupPolicy(maxSize: 20_000_000),
    ],
    maximumEntrySize: Int = 2_000_000,
    cleanupInterval: Int = 2_000_000,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.folder = folder
    self.policies = policies
    self.maximumEntrySize = maximumEntrySize
    schedule = CleanupSchedule(interval: cleanupInterval)
    self.now = now
  }

  /// Creates a cache in a folder of the user's caches, which the system removes when the disk is full.
  ///
  /// ```swift
  /// let waymark = Waymark(baseURL: baseURL, cache: OnDiskCache(named: "Waymark"))
  /// ```
  public init(named name: String) {
    let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
    self.init(folder: (caches ?? FileManager.default.temporaryDirectory).appending(path: name))
  }

  /// Returns the last response that any process stored for a key; `nil` where there is none or it can't be read.
  package func response(for key: String) -> StoredResponse? {
    guard let data = try? Data(contentsOf: file(for: key)) else { return nil }
    return CacheEntry.response(from: data, key: key)
  }

  /// Stores a response in place of the previous one for the key, and applies the policies if that is due.
  ///
  /// - Throws: ``OnDiskCacheError``, or `CocoaError` where the file can't be written.
  package func store(_ response: StoredResponse, for key: String) throws {
    let data = try CacheEntry.data(of: response, key: key)
    guard data.count <= maximumEntrySize else {
      throw OnDiskCacheError.entryTooLarge(size: data.count, maximumSize: maximumEntrySize)
    }
    do {
      try data.write(to: file(for: key), options: .atomic)
    } catch {
      // Usually the folder is missing: the system may remove it at any time.
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try data.write(to: file(for: key), options: .atomic)
    }
    guard schedule.isCleanupDue(afterStoring: data.count) else { return }
    for policy in policies { try cleanCache(policy: policy) }
  }

  /// Removes the response that was stored for a key.
  ///
  /// - Throws: `CocoaError` where the file can't be removed, except because it does not exist.
  package func removeResponse(for key: String) throws {
    try remove(file(for: key).path(percentEncoded: false))
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
  /// ```swift
  /// try OnDiskCache(folder: folder).cleanCache(policy: MaxAgeCleanupPolicy(maxAge: 60 * 60))
  /// ```
  ///
  /// - Throws: `CocoaError` where a file can't be removed, except because it no longer exists.
  public func cleanCache(policy: any CleanupPolicy) throws {
    for item in policy.itemsToRemove(from: currentItems) { try remove(item.path) }
  }

  private func remove(_ path: String) throws {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch let error as CocoaError where error.code == .fileNoSuchFile {
      // Another process has removed it.
    }
  }

  /// Removes all responses, for example when another user signs in.
  ///
  /// ```swift
  /// try OnDiskCache(folder: folder).removeAll()
  /// ```
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

extension OnDiskCache: ResponseCache {}

/// The error of a response that ``OnDiskCache`` does not store.
package enum OnDiskCacheError: Error, Hashable, Sendable {
  /// The file would exceed the maximum size in bytes.
  case entryTooLarge(size: Int, maximumSize: Int)
}

/// The number of bytes that a cache has stored since it was last cleaned.
private struct CleanupSchedule: Sendable {
  /// The size of the blocks of a file system: what a file occupies at least.
  private static let blockSize = 4096

  private let interval: Int

  /// `nil` before the first response.
  private let storedBytes = Locked<Int?>(nil)

  init(interval: Int) {
    self.interval = interval
  }

  /// Counts a response, and returns whether the cache must be cleaned, which the caller does then.
  func isCleanupDue(afterStoring size: Int) -> Bool {
    storedBytes.withLock { storedBytes in
      guard let bytes = storedBytes.map({ $0 + max(size, Self.blockSize) }), bytes < interval else {
        storedBytes = 0
        return true
      }
      storedBytes = bytes
      return false
    }
  }
}
