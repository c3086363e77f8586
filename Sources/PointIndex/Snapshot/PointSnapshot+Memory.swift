extension PointSnapshot {
  /// The bytes of the columns and indexes of all places, removed ones included, by their names.
  package var memory: [(name: String, bytes: Int)] {
    let segments = parts.map(\.segment.memory)
    guard let first = segments.first else { return [] }
    let columns = first.indices.map { index in (first[index].name, segments.reduce(0) { $0 + $1[index].bytes }) }
    return columns + [("map", pyramid.root?.byteCount ?? 0)]
  }
}
