import ArgumentParser
import Foundation
import Hosting
import Points
import PostgresClient
import PostgresStore
import ServerFeatures

/// `waymark sources`: lists the data sets of the places with licence and attribution.
struct SourcesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sources",
    abstract: "Lists the data sets that places come from, with licence and attribution.",
    discussion: """
      An import registers its data set: that of its mapping, of --replace-source, or of --source with --licence and \
      --attribution. \
      A line has the name, the licence, the attribution and the address, separated by tabs. Controls in them are \
      escaped as in JSON. GET /sources lists the data sets of a server.
      """
  )

  @OptionGroup var database: SettingOptions<DatabaseSettings>

  func run() async throws {
    let configuration = try database.configuration()
    do {
      let store = try configuration.makeStore()
      try await store.checkReadiness()
      for source in try await store.sources() {
        StandardOutput.print(
          columns: [source.name, source.licence ?? "", source.attribution ?? "", source.url ?? ""])
      }
      await store.shutDown()
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was read")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch {
      throw Exit.because("\(error)", Exit.failed)
    }
  }
}
