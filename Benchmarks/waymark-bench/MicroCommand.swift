import ArgumentParser

/// `waymark-bench micro`: measurements of parts of the service.
struct MicroCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "micro",
    abstract: "Measures parts of the service in process.",
    discussion: """
      Writes a line for each: its name, the least and the median duration in nanoseconds, and its allocations where they \
      are counted, separated by tabs. scripts/bench micro makes a table of them.
      """
  )

  @Option(help: "The number of synthetic places.") var places = 100_000
  @Option(help: "The number of batches.") var batches = 25
  @Option(help: "The approximate duration of a batch, in milliseconds.") var milliseconds = 20
  @Argument(help: "A part of the names of the measurements to run.") var filter: String?

  func validate() throws {
    if places < MicroBenchmark.inputCount {
      throw ValidationError("places must be at least \(MicroBenchmark.inputCount), got \(places)")
    }
    if batches < 1 || milliseconds < 1 { throw ValidationError("batches and milliseconds must be at least 1") }
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
