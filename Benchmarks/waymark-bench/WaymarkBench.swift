import ArgumentParser

/// What the scripts that measure need beside the service: places and query points that are the same in every run, and
/// its parts measured by themselves.
@main
struct WaymarkBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "waymark-bench",
    abstract: "Makes the data that Waymark is measured with, and measures its parts.",
    subcommands: [PlacesCommand.self, PointsCommand.self, MicroCommand.self]
  )
}
