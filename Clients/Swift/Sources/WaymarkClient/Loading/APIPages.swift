import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The pages of an answer, one after another: the `Link` of each leads to the next. A page is asked for when it is wanted.
///
/// Walked to the end, the pages of ``PlacesRequest`` have every place that matches once, whatever is written meanwhile.
public struct APIPages<T: APIRequest>: AsyncSequence, Sendable {
  /// A page.
  public typealias Element = APIResponse<T.ResponseDataType>

  let loader: APIRequestLoader<T>
  let requestData: T.RequestDataType

  /// Starts at the first page.
  public func makeAsyncIterator() -> Iterator { Iterator(loader: loader, requestData: requestData) }

  /// Walks from page to page.
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

    /// The next page; `nil` after the last, and after an error.
    ///
    /// - Throws: ``RequestError``, ``APIError``, `EncodingError` or `CancellationError`.
    public mutating func next() async throws -> APIResponse<T.ResponseDataType>? {
      let request: URLRequest
      switch position {
      case .start(let data):
        position = .end
        request = try loader.apiRequest.makeRequest(from: data)
      case .page(let next): request = next
      case .end: return nil
      }
      position = .end
      let page = try await loader.load(request)
      if let target = page.nextPage { position = .page(try Self.request(for: target, after: request)) }
      return page
    }

    /// The request for a page. It carries what the first one did, so that a link may not lead it to another server; and
    /// none leads to where it stands, which would have no end.
    private static func request(for target: URL, after request: URLRequest) throws(APIError) -> URLRequest {
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
  /// All pages of an answer.
  public func pages(requestData: T.RequestDataType) -> APIPages<T> {
    APIPages(loader: self, requestData: requestData)
  }
}
