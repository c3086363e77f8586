import Points
import PostgresClient
import Testing

@testable import PostgresStore

extension PostgresStore {
  /// Waits until the notification of the last write was sent, which uses a connection too.
  func waitUntilNotified() async {
    while !changeNotifier.isIdle { await Task.yield() }
  }

  /// Checks that of many calls, a third of them by cancelled tasks, only those fail.
  func expectCancellationsToAffectNoOtherCall() async throws {
    let brief = Statement("brief", "SELECT 1::int8 FROM pg_sleep(0.002)")
    let tasks = (0..<400).map { number in
      let task = Task { try await read(brief, Parameters()) }
      if number % 3 == 0 { task.cancel() }
      return (number, task)
    }
    var successes = 0
    for (number, task) in tasks {
      switch await task.result {
      case .success: successes += 1
      case .failure(let error): #expect(number % 3 == 0 && error as? PointStoreError == .timeout)
      }
    }

    #expect(successes >= 266)
  }
}
