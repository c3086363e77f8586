import CPrefetch

/// Has the processor fetch values that will be read soon.
///
/// Among millions of places hardly anything of one is in a cache. What is asked for early, and together, arrives while
/// other work is done; asking costs a cycle or two, and does no harm where there is no memory.
@inline(__always)
func prefetch<Element>(_ values: UnsafePointer<Element>, count: Int = 1) {
  let lineSize = 64
  for offset in stride(from: 0, to: count * MemoryLayout<Element>.stride, by: lineSize) {
    CPrefetch.prefetch(UnsafeRawPointer(values) + offset)
  }
}
