import ArgumentParser
import Foundation
import Geo
import HTTPServer
import Hosting
import PointFormats
import Points
import ServerFeatures

/// The settings of the server.
enum ServerSettings: SettingSelection {
  static let settings = Setting.ofServer(with: Features.all)
  static let namesVariables = false
}

/// The settings of the commands that work on the database.
enum DatabaseSettings: SettingSelection {
  static let settings = [Setting.postgres.url.setting, Setting.places.migrationsPath.setting]
}

/// The settings of the command that only reads the database.
enum ExportSettings: SettingSelection {
  static let settings = [Setting.postgres.url.setting]
}

/// The settings by which commands find the server on this machine.
enum LocalServerSettings: SettingSelection {
  static let settings = [Setting.listening.host.setting, Setting.listening.port.setting]
}

extension SettingOptions {
  /// A Boolean value that indicates whether the option for the address of the database was given.
  var namesDatabase: Bool { values[Setting.postgres.url.setting.name] != nil }

  /// Returns the configuration of the database.
  ///
  /// - Throws: the exit code 64 for an invalid value, after an error message.
  func configuration() throws -> DatabaseConfiguration {
    do {
      return try DatabaseConfiguration(Settings(options: values))
    } catch {
      throw Exit.because(error, Exit.usage)
    }
  }
}

/// `waymark settings`: prints the texts that are generated from the declarations of the settings.
struct SettingsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings",
    abstract: "Prints all settings of the server as an example environment file.",
    shouldDisplay: false
  )

  @Flag(help: "Print the page of the documentation instead.")
  var markdown = false

  func run() {
    print(markdown ? SettingsDocumentation.page : SettingsDocumentation.environmentFile, terminator: "")
  }
}

extension Exit {
  /// Writes the error of a command on the database to standard error and returns the code.
  ///
  /// - Parameter outcome: the effect of the failure, where it is known, such as `nothing was imported`.
  static func because(_ error: PointStoreError, didNothing outcome: String) -> ExitCode {
    switch error {
    case .unavailable(let reason): because("the database can't be reached: \(reason)", unavailable)
    case .readOnly(let reason): because("the database refuses writes: \(reason); \(outcome)", unavailable)
    case .schemaMismatch(let reason): because("the schema is not current: \(reason)", failed)
    case .misconfigured(let reason): because("\(reason); \(outcome)", failed)
    case .indexRequired, .indexNotReady: because("the call needs the index of places in memory", failed)
    case .editsExhausted:
      because("the database has as many edits as EDITS_MAX allows; \(outcome)", failed)
    case .overloaded, .uploadTooSlow, .keysExhausted, .timeout, .filterTimeout, .stepLimit:
      because("the database took too long", unavailable)
    case .outcomeUnknown(let reason): because("the outcome is unknown: \(reason)", unavailable)
    case .unexpected(let reason): because("\(reason); \(outcome)", failed)
    }
  }

  /// Writes that a format is unknown to standard error and returns the code.
  static func unknownFormat(_ name: String) -> ExitCode {
    let names = PointFormat.allCases.map(\.rawValue).joined(separator: ", ")
    return because("--format must be one of \(names), got '\(name)'", usage)
  }
}

extension BoundingBox {
  /// Creates the box of an option `--bbox`.
  ///
  /// - Throws: the exit code 64, after an error message.
  init(option text: String) throws {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map {
      Double($0.trimmingCharacters(in: .whitespaces))
    }
    if numbers.count == 4, let west = numbers[0], let south = numbers[1], let east = numbers[2], let north = numbers[3],
      let box = try? BoundingBox(west: west, south: south, east: east, north: north)
    {
      self = box
      return
    }
    throw Exit.because("--bbox must be west,south,east,north in degrees, got '\(text)'", Exit.usage)
  }
}
