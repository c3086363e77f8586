/// The work that may be spent on comparing the geometries of a filter with each other, which is quadratic in their
/// segments.
struct ComparisonBudget {
  /// The steps that are left, each a few nanoseconds; negative where more were taken than there were.
  private(set) var steps = 20_000_000

  /// The steps of an exact sign.
  static let exactSteps = 16

  /// Takes steps.
  mutating func spend(_ count: Int) { steps -= count }

  /// Checks that at least a number of steps is left.
  ///
  /// - Throws: ``FilterError``.
  func check(for further: Int = 0) throws(FilterError) {
    guard steps >= further else {
      throw FilterError(.filter, "expected simpler geometries in the predicates that compare two of them")
    }
  }

  /// Returns the sign of three points, as ``Orientation`` does.
  @inline(__always)
  mutating func sign(_ a: FlatPoint, _ b: FlatPoint, _ c: FlatPoint) -> Int {
    if let sign = Orientation.roundedSign(a, b, c) { return sign }
    spend(Self.exactSteps)
    return Orientation.exactSign(a, b, c)
  }
}
