import Points

/// The counting of all places by category: one statement at a time, for all callers.
///
/// It reads the whole index of categories, for a second with ten million places. Callers with a statement each would
/// take all connections and the server's processors from the other reads.
///
/// A caller gets the result of a statement that began after the call, so that it contains what was committed before.
/// A caller that is cancelled leaves the statement to the others.
actor SharedCount {
  private typealias Count = Task<Result<[CategoryCount], PointStoreError>, Never>

  private var running: Count?

  /// The statement that begins when the one that runs has ended.
  private var next: Count?

  /// Returns the counts by the next statement.
  func counts(
    _ read: @escaping @Sendable () async throws(PointStoreError) -> [CategoryCount]
  ) async throws(PointStoreError) -> [CategoryCount] {
    if let next { return try await next.value.get() }
    let count = Count { [running] in
      _ = await running?.value
      self.noteStart()
      do throws(PointStoreError) {
        return .success(try await read())
      } catch {
        return .failure(error)
      }
    }
    next = count
    return try await count.value.get()
  }

  private func noteStart() { (running, next) = (next, nil) }
}
