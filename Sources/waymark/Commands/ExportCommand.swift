import ArgumentParser
import Foundation
import Hosting
import NIOHTTP1
import PointFormats
import Points
import PostgresClient
import PostgresStore
import ServerFeatures
import Synchronization

/// `waymark export`: writes all places of PostgreSQL, or of a server, to a file.
struct ExportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes all places of the database, or of a server, to a file.",
    discussion: """
      Writes NDJSON, GeoJSON, GeoJSON text sequences, CSV or JSON that `waymark import` reads as the same places. All places \
      are of one snapshot. The file appears when it is complete.

      With --url the places come from a running server, whatever its store.

      The last line on the standard error names the position of the places, from which /changes has what has changed \
      since.

      Examples:
        waymark export places.csv
        waymark export --url https://places.example.org --api-key wm_… places.ndjson
        waymark export --format geojson | gzip > places.geojson.gz
      """
  )

  @OptionGroup var database: SettingOptions<ExportSettings>

  @OptionGroup var server: ClientOptions

  @Option(help: "geojson, geojsonseq, ndjson, csv or json. (default: what the file's name ends in, else ndjson)")
  var format: String?

  @Argument(help: "File to write; - is the standard output.")
  var file = "-"

  func run() async throws {
    let format = try placeFormat()
    if let target = try server.target() {
      guard !database.namesDatabase else {
        throw Exit.because("--url and --database-url can't be given both", Exit.usage)
      }
      try await download(format, from: target)
    } else {
      try await exportDatabase(as: format)
    }
  }

  private func download(_ format: PointFormat, from target: ServerTarget) async throws {
    let request = target.request(.GET, "/locations/export?f=\(format.rawValue)")
    let mediaType = String(format.mediaType.prefix { $0 != ";" })
    try await ExportFile.writing(file, didNothing: "nothing was exported") { output in
      let headers = try await target.download(request, mediaType, to: output)
      try output.finish()
      if let position = headers.first(name: "waymark-position") { Self.report(position) }
    }
  }

  private static func report(_ position: String) {
    StandardError.write(Array("position \(position.escapingControls())\n".utf8))
  }

  private func exportDatabase(as format: PointFormat) async throws {
    let configuration = try database.configuration()
    do {
      // The schema is not verified, so that places can be written to a file whatever program has migrated it.
      let store = try PostgresStore(configuration: PostgresConfiguration(configuration), migrations: [])
      // Before the places are read. A standby has no positions.
      let position = try? await ChangeFeed(store).presentPosition()
      let output = try ExportFile(path: file)
      let writer = Mutex(PointFileWriter(format: format))
      try output.write(writer.withLock { $0.bytes { $0.begin(to: &$1) } })
      try await store.exportPoints(matching: PointQuery()) { points in
        try output.write(
          writer.withLock { $0.bytes { writer, bytes in for point in points { writer.append(point, to: &bytes) } } })
      }
      try output.write(writer.withLock { $0.bytes { $0.end(to: &$1) } })
      try output.finish()
      if let position { Self.report(position) }
      await store.shutDown()
    } catch let error as PointStoreError {
      throw Exit.because(error, didNothing: "nothing was exported")
    } catch let error as ConfigurationError {
      throw Exit.because(error, Exit.usage)
    } catch {
      throw Exit.because("\(error); nothing was exported", Exit.failed)
    }
  }

  private func placeFormat() throws -> PointFormat {
    guard let name = format else { return PointFormat(fileName: file) ?? .ndjson }
    guard let format = PointFormat(name: name) else { throw Exit.unknownFormat(name) }
    return format
  }
}

extension PointFileWriter {
  /// Returns the bytes that a closure appends.
  fileprivate mutating func bytes(_ append: (inout PointFileWriter, inout [UInt8]) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    append(&self, &bytes)
    return bytes
  }
}

/// A file that is written under a temporary name and renamed when it is complete; or the standard output.
final class ExportFile: Sendable {
  private let path: String?
  private let handle: FileHandle

  /// Creates the file; `-` is the standard output.
  ///
  /// - Parameter isPrivate: a Boolean value that indicates whether the file is for its owner alone, unless it replaces
  ///   one with another mode.
  /// - Throws: ``ExportFileError``.
  init(path: String, isPrivate: Bool = false) throws {
    guard path != "-" else {
      self.path = nil
      handle = .standardOutput
      return
    }
    let partial = Self.partial(path)
    let mode: mode_t? = isPrivate ? Self.mode(ofFileAt: path) ?? 0o600 : nil
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode ?? 0o666)
    guard descriptor >= 0 else { throw ExportFileError(path: path) }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.path = path
    // The umask may have taken some of the mode, or the file may be left from before.
    if let mode, fchmod(descriptor, mode) != 0 { throw ExportFileError(path: path) }
  }

  /// Returns who may read and write a regular file, or the one that a symbolic link leads to; `nil` if there is none.
  private static func mode(ofFileAt path: String) -> mode_t? {
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    let attributes = try? FileManager.default.attributesOfItem(atPath: target)
    guard attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
    return (attributes?[.posixPermissions] as? Int).map { mode_t($0) & 0o666 }
  }

  /// The path until the file is finished; `nil` for the standard output.
  var temporaryPath: String? { path.map(Self.partial) }

  /// Appends bytes.
  ///
  /// - Throws: when the file can't be written.
  func write(_ bytes: [UInt8]) throws {
    try handle.write(contentsOf: bytes)
  }

  /// Renames the file once it is synchronised to disk.
  ///
  /// - Throws: when the file can't be written.
  func finish() throws {
    guard let path else { return }
    try handle.synchronize()
    try handle.close()
    guard rename(Self.partial(path), path) == 0 else { throw ExportFileError(path: path) }
  }

  /// Removes a file that is not finished.
  func discard() {
    guard let path else { return }
    try? handle.close()
    unlink(Self.partial(path))
  }

  private static func partial(_ path: String) -> String { path + ".partial" }
}

/// The error of a file that can't be written.
struct ExportFileError: Error, CustomStringConvertible {
  let path: String

  var description: String { "'\(path)' can't be written" }
}

extension ExportFile {
  /// Writes a file from a server, and removes it where that fails.
  ///
  /// - Throws: the exit code, after an error message.
  static func writing(
    _ path: String, isPrivate: Bool = false, didNothing outcome: String, _ body: (ExportFile) async throws -> Void
  ) async throws {
    var output: ExportFile?
    do {
      let file = try ExportFile(path: path, isPrivate: isPrivate)
      output = file
      try await body(file)
    } catch {
      output?.discard()
      let isUnavailable = (error as? ServerCallError)?.isUnavailable == true
      throw Exit.because("\(error); \(outcome)", isUnavailable ? Exit.unavailable : Exit.failed)
    }
  }
}
