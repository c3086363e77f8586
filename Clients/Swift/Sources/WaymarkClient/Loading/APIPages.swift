import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The pages of a result, which follow the `Link` header of each page. Each page is loaded on demand.
///
/// All pages of ``PointsRequest`` together contain every matching place once, regardless of concurrent writes.
public struct APIPages<T: APIRequest>: AsyncSequence, Sendable {
  /// A page.
  public typealias Element = APIResponse<T.ResponseDataType>

  let loader: APIRequestLoader<T>
  let requestData: T.RequestDataType

  /// Returns an iterator that starts at the first page.
  public func makeAsyncIterator() -> Iterator { Iterator(loader: loader, requestData: requestData) }

  /// An iterator over the pages.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private enum Position {
      case start(T.RequestDataType)
      case page(URLRequest)
      case end
    }

    private let loader: APIRequestLoader<T>
    private var position: Position

    init(loader: APIRequestLoader<T>, requestData: T.RequestDataType) {
      self.loader = loader
      position = .start(requestData)
    }

    /// Returns the next page; `nil` after the last one, and after an error.
    ///
    /// - Throws: ``RequestError``, ``WaymarkError``, `EncodingError` or `CancellationError`.
    public mutating func next() async throws -> APIResponse<T.ResponseDataType>? {
      let request: URLRequest
      var start: T.RequestDataType?
      switch position {
      case .start(let data):
        position = .end
        start = data
        request = try loader.apiRequest.makeRequest(from: data)
      case .page(let next): request = next
      case .end: return nil
      }
      position = .end
      let page = try await loader.load(request, data: start)
      if let target = page.nextPage { position = .page(try Self.request(for: target, after: request)) }
      return page
    }

    /// Returns the request for a page. It carries the first request's credentials, so the link must lead to the same
    /// server; and it must not lead to the current page, which would never end.
    private static func request(for target: URL, after request: URLRequest) throws(WaymarkError) -> URLRequest {
      guard let current = request.url, target != current, target.scheme == current.scheme,
        target.host() == current.host(), target.port == current.port
      else { throw .untrustedLink(target.absoluteString) }
      var next = request
      next.url = target
      return next
    }
  }
}

extension APIRequestLoader {
  /// Returns all pages of a result.
  public func pages(requestData: T.RequestDataType) -> APIPages<T> {
    APIPages(loader: self, requestData: requestData)
  }
}
