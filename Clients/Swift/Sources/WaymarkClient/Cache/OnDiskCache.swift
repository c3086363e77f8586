public import Foundation

/// Keeps answers in a folder, a file each.
///
/// The folder is all its state. Processes that share it, such as an app and its widget, see each other's answers; each
/// file is put in place as a whole by a rename, so that a reader has the old one or the new, and so has the next start
/// after a crash. A file that is damaged all the same is an answer that is not there.
public struct OnDiskCache: AnswerCache {
  /// A file of the cache, as a ``CleanupPolicy`` sees it.
  public struct Item: Hashable, Sendable {
    /// Where it is.
    public let path: String

    /// How many seconds ago it was written.
    public let age: TimeInterval

    /// How many bytes it has.
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
  ///   - folder: where its files are; made when the first is written. Nothing else may be in it: what a policy removes is
  ///     any file there.
  ///   - policies: what goes when an answer is added; by default what is older than 30 days or beyond 20 MB.
  ///   - now: tells what time it is.
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

  /// The last answer that was stored under a key, by whichever process; `nil` where there is none that can be read.
  public func answer(for key: String) -> StoredAnswer? {
    guard let data = try? Data(contentsOf: file(for: key)) else { return nil }
    return CacheEntry.answer(from: data, key: key)
  }

  /// Keeps an answer in place of the last one under that key, and cleans up.
  ///
  /// - Throws: `CocoaError` where the file can't be written.
  public func store(_ answer: StoredAnswer, for key: String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try CacheEntry.data(of: answer, key: key).write(to: file(for: key), options: .atomic)
    for policy in policies { try cleanCache(policy: policy) }
  }

  /// The files that there are, those included that a crash left behind half written.
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

  /// Removes what a policy says.
  ///
  /// - Throws: `CocoaError` where a file can't be removed, other than because it is gone already.
  public func cleanCache(policy: any CleanupPolicy) throws {
    for item in policy.itemsToRemove(from: currentItems) {
      do {
        try FileManager.default.removeItem(atPath: item.path)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        // Another process was first.
      }
    }
  }

  /// Removes all answers, as when another person signs in.
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
