package import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The pages of a result, which follow the `Link` header of each page. Each page is loaded on demand.
///
/// All pages together contain every match once, regardless of concurrent writes.
///
/// An error ends a `for` loop, but not the iterator: its next call loads the same page again. To continue later, or
/// after a restart of the app, start at the link of the last page, ``APIResponse/nextPage``.
///
/// ```swift
/// for try await page in waymark.places(filter).pages {
///   print(page.value.count, page.receivedAt)
/// }
/// ```
public struct APIPages<Row: Sendable>: AsyncSequence, Sendable {
  /// A page.
  public typealias Element = APIResponse<[Row]>

  /// Creates the request for the first page.
  let firstRequest: @Sendable () throws -> URLRequest

  /// Loads the page of a request; the second argument is whether it is the first one.
  let load: @Sendable (URLRequest, Bool) async throws -> APIResponse<[Row]>

  /// The link of the page to start at; `nil` for the first page.
  var start: URL?

  /// Returns an iterator that starts at the first page, or at the given link.
  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  /// An iterator over the pages.
  ///
  /// ```swift
  /// var pages = waymark.places(filter).pages.makeAsyncIterator()
  /// let first = try await pages.next()
  /// ```
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private enum Position {
      case start(URL?)
      case page(URLRequest)
      case invalidLink(WaymarkError)
      case end
    }

    private let pages: APIPages<Row>
    private var position: Position

    /// The hashes of the loaded pages' URLs. Even a million pages need no more than some megabytes.
    private var loaded: Set<Int> = []

    init(pages: APIPages<Row>) {
      self.pages = pages
      position = .start(pages.start)
    }

    /// Returns the next page; `nil` after the last one. After an error of a request, the next call repeats the request.
    ///
    /// - Throws: ``RequestError``, ``WaymarkError``, `EncodingError` or `CancellationError`.
    public mutating func next() async throws -> APIResponse<[Row]>? {
      let request: URLRequest
      var isFirstPage = false
      switch position {
      case .start(let link):
        let first = try pages.firstRequest()
        request = try link.map { try Self.request(for: $0, after: first) } ?? first
        isFirstPage = link == nil
      case .page(let next): request = next
      case .invalidLink(let error):
        position = .end
        throw error
      case .end: return nil
      }
      let page = try await pages.load(request, isFirstPage)
      loaded.insert(request.url.hashValue)
      position = page.nextPage.map { position(for: $0, after: request) } ?? .end
      return page
    }

    private func position(for target: URL, after request: URLRequest) -> Position {
      do {
        let next = try Self.request(for: target, after: request)
        return loaded.contains(next.url.hashValue)
          ? .invalidLink(.repeatedPage(target.absoluteString)) : .page(next)
      } catch {
        return .invalidLink(error)
      }
    }

    /// Returns the request for a page. It carries the first request's credentials, so the link must lead to the same
    /// server and resource.
    ///
    /// Behind a proxy that adds a prefix to the path, the service does not know that prefix, and its links lack it.
    private static func request(for target: URL, after request: URLRequest) throws(WaymarkError) -> URLRequest {
      guard let current = request.url, let origin = Origin(current), Origin(target) == origin,
        target.path().hasPrefix("/"), current.path().hasSuffix(target.path()),
        var parts = URLComponents(url: current, resolvingAgainstBaseURL: true)
      else { throw .untrustedLink(target.absoluteString) }
      parts.percentEncodedQuery = target.query()
      guard let url = parts.url else { throw .untrustedLink(target.absoluteString) }
      var next = request
      next.url = url
      return next
    }
  }
}

extension APIRequestLoader {
  /// Returns all pages of a result, from a link on; `nil` for the first page.
  package func pages<Row>(
    requestData: T.RequestDataType, from start: URL? = nil
  ) -> APIPages<Row> where T.ResponseDataType == [Row] {
    APIPages(
      firstRequest: { try self.apiRequest.makeRequest(from: requestData) },
      load: { try await self.load($0, data: requestData, isFirstPage: $1) }, start: start)
  }
}
