import ArgumentParser
import HTTPServer

/// The settings of the server.
enum ServerSettings: SettingSelection {
  static let settings = Setting.ofServer
  static let namesVariables = false
}

/// The settings of the commands that work on the database.
enum DatabaseSettings: SettingSelection {
  static let settings = [Setting.postgres.url.setting, Setting.places.migrationsPath.setting]
}

/// The settings by which commands find the server on this machine.
enum LocalServerSettings: SettingSelection {
  static let settings = [Setting.listening.host.setting, Setting.listening.port.setting]
}

/// The settings of the commands that call a running server.
enum ClientSettings: SettingSelection {
  static let settings = Setting.client.settings.filter { $0.optionName != nil }
}

extension SettingOptions<DatabaseSettings> {
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
