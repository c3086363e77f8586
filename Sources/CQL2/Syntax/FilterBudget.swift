/// The counts that limit what a parser builds.
struct FilterBudget {
  let limits: FilterLimits
  private var level = 0
  private var vertices = 0

  init(_ limits: FilterLimits) {
    self.limits = limits
  }

  var depthReason: String { "expected expressions at most \(limits.depth) deep" }

  var vertexReason: String { "expected at most \(limits.vertices) vertices in all geometries" }

  /// Enters an expression; returns `false` where it is too deep.
  mutating func enter() -> Bool {
    level += 1
    return level <= limits.depth
  }

  mutating func leave() { level -= 1 }

  /// Counts a vertex; returns `false` where it is one too many.
  mutating func countVertex() -> Bool {
    vertices += 1
    return vertices <= limits.vertices
  }
}
