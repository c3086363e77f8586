public import Foundation

/// A search of a ``Waymark`` client that has not been sent yet: its result page by page, or place by place.
///
/// ```swift
/// for try await place in waymark.places(near: here, category: "cafe").all {
///   print(place.name)
/// }
/// ```
public struct PointQuery: Sendable {
  let loader: APIRequestLoader<PointsRequest>
  let filter: PointFilter

  /// All matching places in order. They are loaded page by page, on demand, each once.
  public var all: PointSequence { PointSequence(pages: pages) }

  /// All pages of the result, with their metadata.
  public var pages: APIPages<PointsRequest> { loader.pages(requestData: filter) }

  /// Returns the pages from a link on, the ``APIResponse/nextPage`` of an earlier page of this query.
  ///
  /// ```swift
  /// let query = waymark.query(filter, limit: 100)
  /// for try await page in query.pages(from: link) {
  ///   print(page.value.count)
  /// }
  /// ```
  public func pages(from link: URL) -> APIPages<PointsRequest> { loader.pages(requestData: filter, from: link) }

  /// Loads the first page with its metadata.
  ///
  /// ```swift
  /// let page = try await waymark.query(filter).firstPage()
  /// print(page.value.count, page.nextPage == nil ? "in all" : "and more")
  /// ```
  ///
  /// - Throws: ``RequestError``, ``WaymarkError`` or `CancellationError`.
  public func firstPage() async throws -> APIResponse<[PointOfInterest]> { try await loader.load(requestData: filter) }
}

/// The places of all pages of a result.
///
/// An error ends a `for` loop, but not the iterator: its next call repeats the request that failed, and no place is
/// skipped or returned twice.
///
/// ```swift
/// var places = waymark.places(in: box).all.makeAsyncIterator()
/// let first = try await places.next()
/// ```
public struct PointSequence: AsyncSequence, Sendable {
  /// A place.
  public typealias Element = PointOfInterest

  let pages: APIPages<PointsRequest>

  /// Returns an iterator that starts at the first place.
  public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

  /// An iterator over the places.
  ///
  /// ```swift
  /// var places = waymark.places(near: here).all.makeAsyncIterator()
  /// while let place = try await places.next() { print(place.name) }
  /// ```
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private var pages: APIPages<PointsRequest>.Iterator
    private var rest: ArraySlice<PointOfInterest> = []

    init(pages: APIPages<PointsRequest>.Iterator) {
      self.pages = pages
    }

    /// Returns the next place; `nil` after the last one.
    ///
    /// - Throws: ``RequestError``, ``WaymarkError`` or `CancellationError`.
    public mutating func next() async throws -> PointOfInterest? {
      while rest.isEmpty {
        guard let page = try await pages.next() else { return nil }
        rest = page.value[...]
      }
      return rest.popFirst()
    }
  }
}
