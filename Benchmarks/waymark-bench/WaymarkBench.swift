import ArgumentParser

/// What `scripts/bench` needs beside the service: places and query points that are the same in every run.
@main
struct WaymarkBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "waymark-bench",
    abstract: "Makes the data that Waymark is measured with.",
    subcommands: [PlacesCommand.self, PointsCommand.self]
  )
}
