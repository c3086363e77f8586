package import ArgumentParser
import Basics
import HTTPServer
import NIOCore

/// The settings of the commands that call a running server.
package enum ClientSettings: SettingSelection {
  package static let settings = Setting.client.settings.filter { $0.optionName != nil }
}

/// The options of the commands that call a running server.
package struct ClientOptions: ParsableArguments {
  @Option(help: "Address of a running server, such as http://127.0.0.1:8080.")
  package var url: String?

  @OptionGroup package var options: SettingOptions<ClientSettings>

  package init() {}

  /// Returns the server that `--url` names; `nil` where it is not given.
  ///
  /// - Throws: the exit code 64 for an invalid address, key or file, after an error message.
  package func target() throws -> ServerTarget? {
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
  package func target(url: String) throws -> ServerTarget {
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

/// The server on this machine, as the settings describe it.
package struct LocalServer {
  /// The host to connect to: the loopback address where the server listens on every address of the machine.
  package let host: String

  package let port: Int

  package let usesTLS: Bool

  /// Creates the server of the settings.
  ///
  /// - Throws: the exit code 64 for an invalid port, after an error message.
  package init(_ settings: Settings) throws {
    do {
      port = try settings.integer(Setting.listening.port, in: 1...65_535)
    } catch {
      throw Exit.because(error, Exit.usage)
    }
    host = Self.reachableHost(settings.text(Setting.listening.host))
    usesTLS = settings[Setting.listening.certificateFile] != nil
  }

  /// The host and the port as the `Host` header has them.
  package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  package var url: String { "\(usesTLS ? "https" : "http")://\(authority)" }

  private static func reachableHost(_ host: String) -> String {
    var host = host
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return host }
    switch address {
    case .v4: return address.ipAddress == "0.0.0.0" ? "127.0.0.1" : host
    case .v6: return address.ipAddress == "::" ? "::1" : host
    case .unixDomainSocket: return host
    }
  }
}
