import ArgumentParser
import Foundation
import AccessControl
import HTTPServer
import Hosting
import LocationsAPI
import MemoryStore
import NIOSSL
import PointFormats
import Points
import PostgresClient
import PostgresStore
import SQLiteJournal
import ServerFeatures
import TextFiles

/// `waymark check`: examines settings, files and the database before `waymark serve` needs them.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Checks the settings, files and database before the server needs them.",
    discussion: """
      Takes the options and variables of `waymark serve` and checks them: the settings, the address to listen on, \
      certificates and key files, the keys of JWT_JWKS, data files, the kind of the file MEMORY_STORE_PATH, the \
      connection to the database, PostGIS, the schema, the privileges of the role and the mode of a pooler in \
      between. It changes nothing.

      Exits with 0 if no problem was found, 1 if one was, and 69 if the database can't be reached.

      Examples:
        waymark check
        waymark check --database-url postgresql://waymark@db/places
      """
  )

  @OptionGroup var options: SettingOptions<ServerSettings>

  func run() async throws {
    let settings = Settings(options: options.values)
    var report = CheckReport()
    let configuration: ServeConfiguration
    do {
      _ = try LogConfiguration(settings)
      configuration = try ServeConfiguration(settings, features: Features.all)
      report.note(.fine("the settings"))
    } catch {
      report.note(.problem("\(error)"))
      throw ExitCode(1)
    }
    await checkListening(configuration, &report)
    await checkFiles(configuration, &report)
    switch configuration.store {
    case .memory(let files, let path, _): await checkMemory(files, path, &report)
    case .postgres(let database):
      let isAnalysing = configuration.analytics == .postgres
      await checkDatabase(database, uses: isAnalysing ? [.serving, .analytics] : [.serving], &report)
    }
    if let exit = report.exit { throw exit }
  }

  private func checkListening(_ configuration: ServeConfiguration, _ report: inout CheckReport) async {
    let (host, port) = (configuration.http.host, configuration.http.port)
    await report.examine {
      try ListeningFailed.check(host: host, port: port)
      return "the address \(host):\(port) is free"
    }
    let access = configuration.access
    if access.keysFile == nil, !access.acceptsTokens, !Loopback.contains(host: host) {
      report.note(
        .warning("without \(access.credentialNames) a server on \(host) takes no changes"))
    }
  }

  // MARK: Files

  private func checkFiles(_ configuration: ServeConfiguration, _ report: inout CheckReport) async {
    if let files = configuration.tls {
      await report.examine {
        _ = try TLSIdentity(files)
        return "the certificate \(files.certificate) and its key"
      }
      checkValidity(of: files.certificate, &report)
    }
    if let path = configuration.access.keysFile {
      await report.examine {
        let queryables = (try? configuration.queryables) ?? Queryables()
        let file = try KeyFile(path: path, scopes: configuration.access.scopes, queryables: queryables)
        return "the keys of \(path): \(file.keys.count)"
      }
    }
    if let path = configuration.queryablesFile {
      await report.examine { "the types of tags of \(path): \(try Queryables(path: path).types.count)" }
    }
    for check in configuration.features.flatMap(\.checks) { await report.examine(check) }
  }

  private func checkValidity(of file: String, _ report: inout CheckReport) {
    guard let certificate = try? NIOSSLCertificate.fromPEMFile(file).first else { return }
    let end = Date(timeIntervalSince1970: Double(certificate.notValidAfter))
    let start = Date(timeIntervalSince1970: Double(certificate.notValidBefore))
    let days = Int(end.timeIntervalSinceNow / 86_400)
    if end < .now {
      report.note(.problem("the certificate \(file) has expired, on \(end.formatted(.iso8601))"))
    } else if start > .now {
      report.note(.problem("the certificate \(file) is not valid before \(start.formatted(.iso8601))"))
    } else if days < 14 {
      let time = days == 1 ? "1 day" : "\(days) days"
      report.note(.warning("the certificate \(file) expires in \(time), on \(end.formatted(.iso8601))"))
    }
  }

  private func checkMemory(_ files: [String], _ path: String?, _ report: inout CheckReport) async {
    for file in files where file != MemoryStore.sampleName {
      await report.examine {
        _ = try PointFiles.File(path: file)
        guard FileManager.default.isReadableFile(atPath: file) else {
          throw FileError(path: file, reason: "can't be read")
        }
        return "the data file \(file)"
      }
    }
    guard let path else { return report.note(.warning("places are in memory only, as MEMORY_STORE_PATH is not set")) }
    let folder = URL(filePath: path).deletingLastPathComponent().path
    // SQLite keeps its log beside the file.
    if !FileManager.default.isWritableFile(atPath: folder) {
      report.note(.problem("the folder \(folder) of MEMORY_STORE_PATH can't be written to"))
    } else if FileManager.default.fileExists(atPath: path), !FileManager.default.isWritableFile(atPath: path) {
      report.note(.problem("\(path) can't be written to"))
    } else {
      do throws(PointStoreError) {
        if FileManager.default.fileExists(atPath: path) { try SQLiteJournal.checkKind(path: path) }
        report.note(.fine("places are kept in \(path)"))
      } catch .schemaMismatch(let reason), .unavailable(let reason), .unexpected(let reason) {
        report.note(.problem(reason))
      } catch {
        report.note(.problem("\(error)"))
      }
    }
  }

  // MARK: Database

  private func checkDatabase(
    _ database: DatabaseConfiguration, uses: Set<DatabaseCheck.Use>, _ report: inout CheckReport
  ) async {
    do {
      let migrations = try database.migrations()
      report.note(.fine("the migrations of \(database.migrationsPath ?? "the program"): \(migrations.count)"))
      let check = DatabaseCheck(configuration: try PostgresConfiguration(database), migrations: migrations)
      for finding in try await check.findings(for: uses) { report.note(finding) }
    } catch let error as DatabaseCheck.Unreachable {
      report.noteUnreachable("the database can't be reached: \(error)")
    } catch {
      report.note(.problem("\(error)"))
    }
  }
}

/// Prints findings as they are made, and keeps the exit code.
struct CheckReport {
  /// The exit code; `nil` for 0.
  private(set) var exit: ExitCode?

  /// Prints a finding.
  mutating func note(_ finding: DatabaseCheck.Finding) {
    switch finding {
    case .fine(let text): StandardOutput.print("ok       \(text)")
    case .warning(let text): StandardOutput.print("warning  \(text)")
    case .problem(let text):
      StandardOutput.print("problem  \(text)")
      if exit == nil { exit = Exit.failed }
    }
  }

  /// Prints that the database can't be reached.
  mutating func noteUnreachable(_ text: String) {
    note(.problem(text))
    exit = Exit.unavailable
  }

  /// Prints the subject of a check that passed, or the error with which it failed.
  mutating func examine(_ check: () async throws -> String) async {
    do {
      note(.fine(try await check()))
    } catch {
      note(.problem("\(error)"))
    }
  }
}
