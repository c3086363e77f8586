import CMalloc
import LocationsAPI
import Logging
import Points
import PostgresStore
import ServiceLifecycle
import UnixSignals

/// Work in the background that is cancelled at shutdown.
struct BackgroundService: Service {
  private let work: @Sendable () async -> Void

  /// Creates a service of work that ends when its task is cancelled.
  init(_ work: @escaping @Sendable () async -> Void) {
    self.work = work
  }

  /// Creates a service that repeats work, with a pause after each time.
  init(every interval: Duration, _ work: @escaping @Sendable () async -> Void) {
    self.init {
      while !Task.isCancelled {
        await work()
        try? await Task.sleep(for: interval)
      }
    }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { await work() }
  }
}

/// The pruning of entries that are older than their retention.
struct Pruning: Sendable {
  /// The plural of the pruned entries, for log messages.
  let subject: String
  let retention: Duration
  let logger: Logger
  /// Deletes the entries before a time and returns their number.
  let delete: @Sendable (Timestamp) async throws -> Int

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

  /// The service that prunes once an hour.
  var service: BackgroundService { BackgroundService(every: .seconds(60 * 60)) { await prune() } }

  /// Deletes the expired entries. If the store is unavailable, the next run deletes them.
  func prune(clock: any WallClock = SystemClock()) async {
    let now = clock.now().microsecondsSinceEpoch
    let start = Timestamp(microsecondsSinceEpoch: now - retention.components.seconds * 1_000_000)
    do {
      let count = try await delete(start)
      if count > 0 { logger.info("old \(subject) were deleted", metadata: ["\(subject)": .stringConvertible(count)]) }
    } catch PointStoreError.readOnly {
      // The entries of a standby are deleted on its primary.
    } catch {
      logger.warning("old \(subject) could not be deleted", metadata: ["reason": "\(error)"])
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
  /// A part that was made from files.
  struct Part: Sendable {
    /// The name in the log, such as `the file of API keys`.
    let name: String

    /// Reads the files again and returns the fields of the log line. Where it throws, nothing has changed.
    let reload: @Sendable () async throws -> Logger.Metadata
  }

  private let parts: [Part]
  private let logger: Logger
  private let signals: UnixSignalsSequence

  /// Creates the service of parts.
  ///
  /// - Parameter signals: the signals, caught before the first file was read. One that came during the start is handled
  ///   by ``run()``.
  init(_ parts: [Part], at signals: UnixSignalsSequence, logger: Logger) {
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
