import CMalloc
import ServiceLifecycle

/// Gives back to the system what is allocated no longer, once a second until the process is told to stop.
///
/// libpq puts rows into pieces of 2 KiB, and an import has some pieces for each row: long answers and large files leave
/// tens of megabytes of them behind, whose pages the GNU C library keeps for pieces to come. 50 clients that had asked for
/// a thousand places each left a heap of 18 MB with 0.1 MB in use. To look for such pages takes a few tenths of a
/// millisecond, beside a million places too.
struct UnusedMemory: Service {
  private static let interval: Duration = .seconds(1)

  /// Has the C library put things where they can be given back. To be called first: what is allocated already stays where
  /// it is.
  static func prepare() {
    #if canImport(Glibc)
      // What is larger than this, such as a long answer's buffer, has pages of its own, which go back when it is freed.
      // Unless told to, the library sees to that for the first of them alone, and then puts them between the small ones.
      _ = mallopt(M_MMAP_THRESHOLD, 128 << 10)
      // The smallest pieces join the free memory beside them when they are freed. Those that do so later, together, can
      // leave megabytes at the end of a thread's heap, where malloc_trim does not look.
      _ = mallopt(M_MXFAST, 0)
    #endif
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        Self.giveBack()
        try? await Task.sleep(for: Self.interval)
      }
    }
  }

  private static func giveBack() {
    #if canImport(Glibc)
      _ = malloc_trim(0)
    #endif
  }
}
