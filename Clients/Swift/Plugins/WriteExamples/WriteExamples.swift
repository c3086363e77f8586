import Foundation
import PackagePlugin

/// Writes the examples of the package's documentation comments to a source file, for the tests to compile.
@main
struct WriteExamples: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let sources = context.package.directoryURL.appending(path: "Sources")
    let file = context.pluginWorkDirectoryURL.appending(path: "Examples.swift")
    let inputs = context.package.sourceModules
      .filter { $0.directoryURL.path().hasPrefix(sources.path()) }
      .flatMap { $0.sourceFiles(withSuffix: "swift").map(\.url) }
    return [
      .buildCommand(
        displayName: "Writing the examples of the documentation comments",
        executable: try context.tool(named: "ExampleWriter").url, arguments: [sources.path(), file.path()],
        inputFiles: inputs, outputFiles: [file])
    ]
  }
}
