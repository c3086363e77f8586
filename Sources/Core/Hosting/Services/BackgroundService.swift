import CMalloc
import LocationsAPI
import Logging
import Points
import PostgresStore
import ServerFeatures
import ServiceLifecycle
import UnixSignals

extension Pruning {
  /// Returns the pruning of a change log.
  static func changes(
    keptFor retention: Duration, logger: Logger, _ delete: @escaping @Sendable (Timestamp) async throws -> Int
  ) -> Pruning {
    Pruning(subject: "changes", retention: retention, logger: logger, delete: delete)
  }

  static func searches(of log: any SearchLog, retention: Duration, logger: Logger) -> Pruning {
    Pruning(subject: "searches", retention: retention, logger: logger) { time in
      try await log.pruneSearches(before: time)
    }
  }
}

/// The return of freed memory to the system.
///
/// libpq puts rows into chunks of 2 KiB, and an import has some chunks for each row: long responses and large files
/// leave tens of megabytes of them behind, whose pages the GNU C library keeps for later allocations. 50 clients that
/// had requested a thousand places each left a heap of 18 MB with 0.1 MB in use. Looking for such pages takes a few
/// tenths of a millisecond, beside a million places too.
enum MemoryTrimming {
  /// Configures the C library so that freed memory can be returned. Memory that is already allocated is not affected,
  /// so it is to be called first.
  static func prepare() {
    #if canImport(Glibc)
      // An allocation above this size, such as the buffer of a long response, has pages of its own, which are returned
      // when it is freed. By default the library raises the threshold at the first of them, and puts later ones between
      // the small ones.
      _ = mallopt(M_MMAP_THRESHOLD, 128 << 10)
      // The smallest chunks join the free memory beside them when they are freed. Those that do so later, together, can
      // leave megabytes at the end of a thread's heap, where malloc_trim does not look.
      _ = mallopt(M_MXFAST, 0)
    #endif
  }

  /// The service that returns freed memory once a second.
  static var service: BackgroundService {
    BackgroundService(every: .seconds(1)) {
      #if canImport(Glibc)
        _ = malloc_trim(0)
      #endif
    }
  }
}

/// Reads files again whenever the process receives SIGHUP. A file that is invalid then changes nothing.
///
/// It runs without such files too, since the signal ends a process that does not handle it.
struct Reloading: Service {
  private let parts: [ReloadablePart]
  private let logger: Logger
  private let signals: UnixSignalsSequence

  /// Creates the service of parts.
  ///
  /// - Parameter signals: the signals, caught before the first file was read. One that came during the start is handled
  ///   by ``run()``.
  init(_ parts: [ReloadablePart], at signals: UnixSignalsSequence, logger: Logger) {
    self.parts = parts
    self.signals = signals
    self.logger = logger
  }

  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reloads all parts; the failure of one does not affect the others.
  private func reload() async {
    if parts.isEmpty { logger.notice("SIGHUP was received, but no reloadable file is configured") }
    for part in parts {
      do {
        let metadata = try await part.reload()
        logger.notice("\(part.name) was reloaded", metadata: metadata)
      } catch {
        logger.error("\(part.name) was not reloaded", metadata: ["reason": "\(error)"])
      }
    }
  }
}
