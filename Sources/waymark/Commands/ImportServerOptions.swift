import ArgumentParser
import HTTPServer
import PlaceFormats

/// The options of `waymark import` that name a server.
struct ImportServerOptions: ParsableArguments {
  @Option(help: "Address of a running server to send the files to, such as http://127.0.0.1:8080.")
  var url: String?

  @Option(help: "API key that the server is sent. (default: WAYMARK_API_KEY)")
  var apiKey: String?

  /// The server that is meant; `nil` where none is.
  ///
  /// - Throws: the exit code 64, having said why, where the address or the key can't be used.
  func server(isAtomic: Bool, isDryRun: Bool, options: RowOptions) throws -> ImportServer? {
    guard let url else {
      guard apiKey == nil else { throw Exit.because("--api-key is for a server, which --url names", Exit.usage) }
      return nil
    }
    let settings = Settings(flags: ["WAYMARK_API_KEY": apiKey].compactMapValues { $0 })
    do {
      return try ImportServer(
        url: url, apiKey: settings["WAYMARK_API_KEY"], trace: settings["TRACEPARENT"].flatMap(TraceParent.init),
        isAtomic: isAtomic, isDryRun: isDryRun, options: options)
    } catch {
      throw Exit.because(error, Exit.usage)
    }
  }
}
