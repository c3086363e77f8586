/// A point of the plane in which geometries are compared.
struct FlatPoint: Hashable, BitwiseCopyable {
  var x: Double
  var y: Double

  init(_ x: Double, _ y: Double) {
    self.x = x
    self.y = y
  }

  init(_ position: FilterGeometry.Position) {
    self.init(position.x, position.y)
  }
}

/// The exact sides of points and lines (J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust
/// geometric predicates", Discrete & Computational Geometry 18, 1997).
enum Orientation {
  /// Returns 1 where the third point is left of the line from the first to the second, -1 where it is right, and 0
  /// where it is on the line.
  @inline(__always)
  static func sign(_ a: FlatPoint, _ b: FlatPoint, _ c: FlatPoint) -> Int {
    let left = (a.x - c.x) * (b.y - c.y)
    let right = (a.y - c.y) * (b.x - c.x)
    let determinant = left - right
    // (3 + 16 ε) ε for ε = 2⁻⁵³.
    let bound = 3.3306690738754716e-16 * (abs(left) + abs(right))
    if determinant > bound { return 1 }
    if -determinant > bound { return -1 }
    return exactSign(a, b, c)
  }

  /// Returns the sign of the same determinant, each product of which is the exact sum of two numbers.
  private static func exactSign(_ a: FlatPoint, _ b: FlatPoint, _ c: FlatPoint) -> Int {
    var sum: [Double] = []
    for (first, second) in [(a.x, b.y), (-a.x, c.y), (-c.x, b.y), (-a.y, b.x), (a.y, c.x), (c.y, b.x)] {
      let product = first * second
      add((-product).addingProduct(first, second), to: &sum)
      add(product, to: &sum)
    }
    guard let largest = sum.last(where: { $0 != 0 }) else { return 0 }
    return largest > 0 ? 1 : largest < 0 ? -1 : 0
  }

  /// Adds a number to an exact sum, whose numbers do not overlap and increase.
  private static func add(_ number: Double, to sum: inout [Double]) {
    var carry = number
    for index in sum.indices {
      let total = carry + sum[index]
      let virtual = total - carry
      sum[index] = (carry - (total - virtual)) + (sum[index] - virtual)
      carry = total
    }
    sum.append(carry)
  }

  /// Returns a Boolean value that indicates whether a point that is on the line through two others is between them.
  @inline(__always)
  static func isBetween(_ point: FlatPoint, _ a: FlatPoint, _ b: FlatPoint) -> Bool {
    point.x >= min(a.x, b.x) && point.x <= max(a.x, b.x) && point.y >= min(a.y, b.y) && point.y <= max(a.y, b.y)
  }

  /// Returns a Boolean value that indicates whether a point is on a segment.
  @inline(__always)
  static func isOn(_ point: FlatPoint, _ a: FlatPoint, _ b: FlatPoint) -> Bool {
    isBetween(point, a, b) && sign(a, b, point) == 0
  }
}
