import LocationsAPI
import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the file of the API keys again whenever the process gets SIGHUP. While the file can't be used the keys stay.
struct KeyReloading: Service {
  let path: String
  let access: AccessControl
  let logger: Logger

  func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    for await _ in signals.cancelOnGracefulShutdown() { reload() }
  }

  private func reload() {
    do {
      let keys = try KeyFile(path: path).keys
      access.replaceKeys(keys)
      logger.notice("the API keys were read again", metadata: ["keys": "\(keys.count)"])
    } catch {
      logger.error("the API keys stay as they were", metadata: ["reason": "\(error)"])
    }
  }
}
