/// A function that copies the file in which places are kept.
package typealias BackupAction = @Sendable () async throws(PointStoreError) -> BackupFile

/// A copy of the file in which places are kept, removed with the last reference to it.
package final class BackupFile: Sendable {
  /// The path of the copy.
  package let path: String

  /// The size of the copy.
  package let byteCount: Int

  private let remove: @Sendable () -> Void

  /// Creates a copy that exists.
  ///
  /// - Parameter remove: removes the file.
  package init(path: String, byteCount: Int, remove: @escaping @Sendable () -> Void) {
    self.path = path
    self.byteCount = byteCount
    self.remove = remove
  }

  deinit { remove() }
}
