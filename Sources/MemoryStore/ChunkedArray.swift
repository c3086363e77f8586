/// An array in pieces of a fixed length: it grows without being copied, and without holding twice what is in it.
struct ChunkedArray<Element> {
  private static var shift: Int { 12 }
  private static var chunkLength: Int { 1 << shift }

  private var chunks: [ContiguousArray<Element>] = []

  /// How many elements there are.
  private(set) var count = 0

  /// Adds an element at the end.
  mutating func append(_ element: Element) {
    if count & (Self.chunkLength - 1) == 0 {
      var chunk = ContiguousArray<Element>()
      chunk.reserveCapacity(Self.chunkLength)
      chunks.append(chunk)
    }
    chunks[chunks.count - 1].append(element)
    count += 1
  }

  /// Removes all but the first elements.
  mutating func truncate(to count: Int) {
    let kept = (count + Self.chunkLength - 1) >> Self.shift
    chunks.removeLast(chunks.count - kept)
    if let last = chunks.indices.last { chunks[last].removeLast(chunks[last].count - (count - last << Self.shift)) }
    self.count = count
  }

  subscript(index: Int) -> Element {
    get { chunks[index >> Self.shift][index & (Self.chunkLength - 1)] }
    set { chunks[index >> Self.shift][index & (Self.chunkLength - 1)] = newValue }
  }
}

extension ChunkedArray: Sendable where Element: Sendable {}
