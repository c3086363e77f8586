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
    roundedSign(a, b, c) ?? exactSign(a, b, c)
  }

  /// Returns the sign as computed in floating point; `nil` where rounding errors may change it.
  @inline(__always)
  static func roundedSign(_ a: FlatPoint, _ b: FlatPoint, _ c: FlatPoint) -> Int? {
    let left = (a.x - c.x) * (b.y - c.y)
    let right = (a.y - c.y) * (b.x - c.x)
    let determinant = left - right
    // (3 + 16 ε) ε for ε = 2⁻⁵³.
    let bound = 3.3306690738754716e-16 * (abs(left) + abs(right))
    if determinant > bound { return 1 }
    if -determinant > bound { return -1 }
    // Both products are exactly zero at an end, and on a line along an axis.
    return (a.x == c.x || b.y == c.y) && (a.y == c.y || b.x == c.x) ? 0 : nil
  }

  /// Returns the sign of the same determinant, each product of which is the exact sum of two numbers.
  static func exactSign(_ a: FlatPoint, _ b: FlatPoint, _ c: FlatPoint) -> Int {
    var sum = ExactSum()
    sum.add(a.x, times: b.y)
    sum.add(-a.x, times: c.y)
    sum.add(-c.x, times: b.y)
    sum.add(-a.y, times: b.x)
    sum.add(a.y, times: c.x)
    sum.add(c.y, times: b.x)
    return sum.sign
  }

  /// An exact sum of up to six products. Its components do not overlap, and are in ascending order of magnitude.
  private struct ExactSum {
    private var numbers = InlineArray<12, Double>(repeating: 0)
    private var count = 0

    mutating func add(_ first: Double, times second: Double) {
      let product = first * second
      add((-product).addingProduct(first, second))
      add(product)
    }

    private mutating func add(_ number: Double) {
      var carry = number
      for index in 0..<count {
        let total = carry + numbers[index]
        let virtual = total - carry
        numbers[index] = (carry - (total - virtual)) + (numbers[index] - virtual)
        carry = total
      }
      numbers[count] = carry
      count += 1
    }

    /// The sign of the largest number that is not zero.
    var sign: Int {
      for index in (0..<count).reversed() where numbers[index] != 0 {
        return numbers[index] > 0 ? 1 : numbers[index] < 0 ? -1 : 0
      }
      return 0
    }
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
