public import Foundation

/// A search of a ``Waymark`` client that has not been sent yet. It is the sequence of all results in order, which it
/// loads page by page, on demand, each once.
///
/// ```swift
/// for try await place in waymark.places(near: here, category: "cafe") {
///   print(place.name)
/// }
/// ```
///
/// An error ends a `for` loop, but not the iterator: its next call repeats the request that failed, and no place is
/// skipped or returned twice.
///
/// The pages that are loaded for a sequence of places are not stored in the client's cache, so that a bulk read does not
/// evict what the app has shown. ``firstPage()`` and ``pages`` are for screens, and stored.
public struct PointQuery<Element: Sendable>: AsyncSequence, Sendable {
  /// All pages of the result, with their metadata.
  public let pages: APIPages<Element>

  /// The pages of a bulk read.
  private let bulkPages: APIPages<Element>

  init<T: APIRequest>(_ request: T, _ data: T.RequestDataType, _ waymark: Waymark)
  where T.ResponseDataType == [Element] {
    var bulk = waymark
    bulk.configuration.storesResponses = false
    pages = waymark.loader(request).pages(requestData: data)
    bulkPages = bulk.loader(request).pages(requestData: data)
  }

  /// Returns the pages from a link on, the ``APIResponse/nextPage`` of an earlier page of this query.
  ///
  /// ```swift
  /// let query = waymark.places(filter, pageSize: 100)
  /// for try await page in query.pages(from: link) {
  ///   print(page.value.count)
  /// }
  /// ```
  public func pages(from link: URL) -> APIPages<Element> {
    var pages = pages
    pages.start = link
    return pages
  }

  /// Loads the first page.
  ///
  /// ```swift
  /// let places = try await waymark.places(filter, pageSize: 10).firstPage()
  /// ```
  ///
  /// - Throws: ``RequestError``, ``WaymarkError`` or `CancellationError`.
  public func firstPage() async throws -> [Element] { try await firstResponse().value }

  /// Loads the first page with its metadata.
  func firstResponse() async throws -> APIResponse<[Element]> {
    var iterator = pages.makeAsyncIterator()
    guard let page = try await iterator.next() else { throw CancellationError() }
    return page
  }

  /// Returns an iterator that starts at the first result.
  public func makeAsyncIterator() -> Iterator { Iterator(pages: bulkPages.makeAsyncIterator()) }

  /// An iterator over the results.
  ///
  /// ```swift
  /// var places = waymark.places(near: here).makeAsyncIterator()
  /// while let place = try await places.next() { print(place.name) }
  /// ```
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private var pages: APIPages<Element>.Iterator
    private var rest: ArraySlice<Element> = []

    init(pages: APIPages<Element>.Iterator) {
      self.pages = pages
    }

    /// Returns the next result; `nil` after the last one.
    ///
    /// - Throws: ``RequestError``, ``WaymarkError`` or `CancellationError`.
    public mutating func next() async throws -> Element? {
      while rest.isEmpty {
        guard let page = try await pages.next() else { return nil }
        rest = page.value[...]
      }
      return rest.popFirst()
    }
  }
}
