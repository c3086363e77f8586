import ArgumentParser

/// `waymark-bench micro`: the parts of the service, each by itself.
struct MicroCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "micro",
    abstract: "Measures parts of the service, each by itself.",
    discussion: """
      A line for each: its name, the nanoseconds it takes at best and in the middle, and its allocations where they are \
      counted, with tabs between. scripts/bench-micro makes a table of them.
      """
  )

  @Option(help: "How many synthetic places there are.") var places = 100_000
  @Option(help: "How many batches are timed.") var batches = 25
  @Option(help: "How long a batch takes, in milliseconds.") var milliseconds = 20
  @Argument(help: "Only those whose names contain this.") var filter: String?

  func validate() throws {
    if places < MicroBenchmark.inputCount {
      throw ValidationError("there must be at least \(MicroBenchmark.inputCount) places")
    }
    if batches < 1 || milliseconds < 1 { throw ValidationError("there must be something to measure") }
  }

  func run() async throws {
    let subject = try await MicroSubject(placeCount: places)
    for benchmark in try await subject.benchmarks where filter.map(benchmark.name.contains) ?? true {
      let figures = try await benchmark.figures(batches: batches, lasting: .milliseconds(milliseconds))
      let allocations = figures.allocations.map { "\($0)" } ?? ""
      print("\(benchmark.name)\t\(figures.best)\t\(figures.median)\t\(allocations)")
    }
  }
}
