import FairShares
import NIOPosix
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func computationOfTheExampleRuns() async throws {
    let queue = ComputationQueue<String, Int>(
      threads: 1, capacity: 100, timeout: .seconds(60), eventLoop: MultiThreadedEventLoopGroup.singleton.any())
    let sum = try await queue.run(from: .init(client: "a", connection: 1)) { (1...1000).reduce(0, +) }
    queue.shutDown()

    #expect(sum == 500_500)
  }
}
