extension PointPage {
  /// Returns how many of the first places fit into a page by the length of their texts, one at least where there is one.
  ///
  /// - Parameters:
  ///   - count: the number of places that there are for the page.
  ///   - textBytes: the number of bytes that the name and the tags of a place have, by its place in the order.
  @inlinable
  public static func fittingCount(of count: Int, textBytes: (Int) -> Int) -> Int {
    var total = 0
    for index in 0..<count {
      total += textBytes(index)
      if total > maximumTextBytes { return max(index, 1) }
    }
    return count
  }
}
