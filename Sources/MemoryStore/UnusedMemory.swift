import CMalloc

/// What is allocated no longer but not yet given back to the system.
enum UnusedMemory {
  /// Gives it back. An import's rows are a million small pieces that go at once; the C library would keep their pages for
  /// pieces to come, which take up half as much again as the places do. Takes a fraction of a second.
  static func giveBack() {
    #if canImport(Glibc)
      _ = malloc_trim(0)
    #endif
  }
}
