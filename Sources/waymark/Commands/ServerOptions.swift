import ArgumentParser
import HTTPServer

/// The options of the commands that talk to a running server.
struct ServerOptions: ParsableArguments {
  @Option(help: "Address of a running server, such as http://127.0.0.1:8080.")
  var url: String?

  @Option(help: "API key that the server is sent. (default: WAYMARK_API_KEY)")
  var apiKey: String?

  @Option(
    help: ArgumentHelp(
      "File of the authorities' certificates that the server's may be signed with, in PEM. (default: SSL_CERT_FILE, or "
        + "those that the system trusts)", valueName: "file"))
  var caFile: String?

  /// The server that `--url` names; `nil` where it is not given.
  ///
  /// - Throws: the exit code 64, having said why, where the address, the key or the file can't be used.
  func target() throws -> ServerTarget? {
    guard let url else {
      for (option, value) in [("--api-key", apiKey), ("--ca-file", caFile)] where value != nil {
        throw Exit.because("\(option) is for a server, which --url names", Exit.usage)
      }
      return nil
    }
    return try target(url: url)
  }

  /// The server of an address.
  ///
  /// - Throws: the exit code 64, having said why, where the address, the key or the file can't be used.
  func target(url: String) throws -> ServerTarget {
    let settings = Settings(flags: ["WAYMARK_API_KEY": apiKey].compactMapValues { $0 })
    let authorities =
      caFile.map { (variable: "--ca-file", file: $0) }
      ?? settings["SSL_CERT_FILE"].map { (variable: "SSL_CERT_FILE", file: $0) }
    do {
      return try ServerTarget(
        url: url, apiKey: settings["WAYMARK_API_KEY"], authorities: authorities,
        trace: settings["TRACEPARENT"].flatMap(TraceParent.init))
    } catch {
      throw Exit.because(error, Exit.usage)
    }
  }
}
