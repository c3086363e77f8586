/// Runs a search that may take long where it does not hold up the other connections of the event loop. It runs in the
/// request's task, so that a disconnect cancels it.
func besideEventLoop<Value, Failure>(
  _ search: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  // The closure is asynchronous, so that it starts on the global executor: a synchronous one would run on the caller's.
  try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(Failure) -> Value in
    try await search()
  }
}
