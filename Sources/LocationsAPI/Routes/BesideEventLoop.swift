/// Runs a search that may take long where it does not hold up the other connections of the event loop.
func besideEventLoop<Value: Sendable, Failure>(
  _ search: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let task = Task(executorPreference: globalConcurrentExecutor) { () -> Result<Value, Failure> in
    do throws(Failure) {
      return .success(try await search())
    } catch {
      return .failure(error)
    }
  }
  return try await task.value.get()
}
