/// Runs a search that may take long where it does not hold up the other connections of the event loop. It is a part of the
/// request's task, and thus cancelled where the client disconnects.
func besideEventLoop<Value, Failure>(
  _ search: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  // A closure of its own is asynchronous, and so begins on the other executor, where a synchronous search would not.
  try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(Failure) -> Value in
    try await search()
  }
}
