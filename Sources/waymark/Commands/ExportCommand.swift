import ArgumentParser
import Foundation
import PlaceFormats
import Points
import PostgresStore
import Synchronization

/// `waymark export`: takes all places out of PostgreSQL.
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes all places of the database to a file.",
    discussion: """
      Writes NDJSON, GeoJSON, GeoJSON text sequences, CSV or JSON that import reads again as the same places. All come \
      from one moment, whatever is written meanwhile. The file appears when it is whole.

      Examples:
        waymark export places.csv
        waymark export --format geojson | gzip > places.geojson.gz
      """
  )

  @OptionGroup var database: DatabaseOptions

  @Option(help: "geojson, geojsonseq, ndjson, csv or json. (default: what the file's name ends in, else ndjson)")
  var format: String?

  @Argument(help: "File to write; - is the standard output.")
  var file = "-"

  func run() async throws {
    let configuration = try database.configuration()
    let format = try placeFormat()
    do {
      let store = try PostgresStore(
        configuration: try PostgresConfiguration(configuration),
        migrations: try Migration.all(inDirectory: configuration.migrationsPath))
      let output = try ExportFile(path: file)
      let text = Mutex(PlaceWriter(format: format))
      try output.write(text.withLock { $0.beginning() })
      try await store.exportPoints(matching: PointQuery()) { points in
        try output.write(text.withLock { $0.text(of: points) })
      }
      try output.write(text.withLock { $0.ending() })
      try output.finish()
      await store.shutDown()
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was exported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch {
      throw Exit.because("\(error); nothing was exported", Exit.failed)
    }
  }

  private func placeFormat() throws -> PlaceFormat {
    guard let name = format else { return PlaceFormat(fileName: file) ?? .ndjson }
    guard let format = PlaceFormat(name: name) else { throw Exit.unknownFormat(name) }
    return format
  }
}

extension PlaceWriter {
  fileprivate mutating func beginning() -> [UInt8] {
    var text: [UInt8] = []
    begin(to: &text)
    return text
  }

  fileprivate mutating func text(of points: [PointOfInterest]) -> [UInt8] {
    var text: [UInt8] = []
    for point in points { append(point, to: &text) }
    return text
  }

  fileprivate mutating func ending() -> [UInt8] {
    var text: [UInt8] = []
    end(to: &text)
    return text
  }
}
