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

/// The settings of the commands that call a running server.
enum ClientSettings: SettingSelection {
  static let settings = Setting.client.settings.filter { $0.optionName != nil }
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

/// The options of the commands that call a running server.
struct ClientOptions: ParsableArguments {
  @Option(help: "Address of a running server, such as http://127.0.0.1:8080.")
  var url: String?

  @OptionGroup var options: SettingOptions<ClientSettings>

  /// Returns the server that `--url` names; `nil` where it is not given.
  ///
  /// - Throws: the exit code 64 for an invalid address, key or file, after an error message.
  func target() throws -> ServerTarget? {
    guard let url else {
      for setting in ClientSettings.settings where options.values[setting.name] != nil {
        throw Exit.because("--\(setting.optionName ?? "") is for a server, which --url names", Exit.usage)
      }
      return nil
    }
    return try target(url: url)
  }

  /// Returns the server of an address.
  ///
  /// - Throws: the exit code 64 for an invalid address, key or file, after an error message.
  func target(url: String) throws -> ServerTarget {
    let settings = Settings(options: options.values)
    let authorities = Setting.client.authorities
    let variable = options.values[authorities.setting.name] == nil ? authorities.setting.name : "--ca-file"
    do {
      return try ServerTarget(
        url: url, apiKey: settings[Setting.client.apiKey],
        authorities: settings[authorities].map { AuthorityFile(variable: variable, path: $0) },
        trace: settings[Setting.client.trace].flatMap(TraceParent.init))
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

/// The exit codes of failures (sysexits.h).
enum Exit {
  /// A failure without a code of its own.
  static let failed = ExitCode(1)
  /// An invalid option or setting.
  static let usage = ExitCode(64)
  /// Invalid input.
  static let badData = ExitCode(65)
  static let unavailable = ExitCode(69)

  /// Writes the reason to standard error and returns the code.
  static func because(_ reason: some CustomStringConvertible, _ code: ExitCode) -> ExitCode {
    // A reason has a line for each rejected row.
    StandardError.write(Array("waymark: \(reason.description.escapingControls(except: "\n"))\n".utf8))
    return code
  }

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
