import Logging
import Points
package import ServerFeatures
import UnixSignals

/// The error that ends the process of a server.
package struct ServingError: Error {
  /// The exit codes (sysexits.h).
  package enum Code: Int32, Sendable {
    /// A failure without a code of its own.
    case failed = 1
    /// An invalid setting.
    case usage = 64
    case badData = 65
    case unavailable = 69
  }

  package let reason: String
  package let code: Code
}

extension Application {
  /// Serves clients until shutdown.
  ///
  /// - Parameter features: the features of the server.
  package static func serve(
    _ settings: Settings, features: [any ServerFeature.Type]
  ) async throws(ServingError) {
    MemoryTrimming.prepare()
    let reloadSignals = await UnixSignalsSequence(trapping: .sighup)
    let configuration: ServeConfiguration
    let logger: Logger
    do {
      logger = try LogConfiguration(settings).logger
      configuration = try ServeConfiguration(settings, features: features)
    } catch {
      throw ServingError(reason: "\(error)", code: .usage)
    }
    let application: Application
    do {
      application = try await Application(configuration, logger: logger)
    } catch let error as ConfigurationError {
      throw ServingError(reason: "\(error)", code: .usage)
    } catch let error as PointStoreError {
      throw ServingError(opening: error)
    } catch let error as ListeningFailed {
      throw ServingError(reason: "\(error)", code: .failed)
    } catch {
      throw ServingError(reason: "\(error)", code: .badData)
    }
    guard !configuration.isUnitTesting else {
      logger.info("IS_UNIT_TESTING is set; no socket, no database and no analytics were set up")
      return
    }
    do {
      try await application.run(reloadSignals: reloadSignals)
    } catch {
      throw ServingError(reason: "\(error)", code: .failed)
    }
  }
}

extension ServingError {
  /// Creates the error of opening the places.
  fileprivate init(opening error: PointStoreError) {
    switch error {
    case .unavailable(let reason), .readOnly(let reason), .outcomeUnknown(let reason):
      self.init(reason: reason, code: .unavailable)
    case .schemaMismatch(let reason): self.init(reason: reason, code: .badData)
    case .overloaded, .uploadTooSlow, .keysExhausted, .editsExhausted, .timeout, .indexRequired, .indexNotReady,
      .filterTimeout,
      .stepLimit:
      self.init(reason: "the places could not be opened in time", code: .unavailable)
    case .misconfigured(let reason), .unexpected(let reason): self.init(reason: reason, code: .badData)
    }
  }
}
