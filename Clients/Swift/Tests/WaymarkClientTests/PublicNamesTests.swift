import Foundation
import Testing

/// Keeps the public names of the library apart from those of libraries that apps often import beside it.
@Suite struct PublicNamesTests {
  /// The public types of Get 2.2.
  private static let get: Set = ["APIClient", "APIClientDelegate", "APIError", "HTTPMethod", "Request", "Response"]

  /// The public types of Alamofire 5.12 outside other types.
  private static let alamofire: Set = [
    "AFDataResponse", "AFDownloadResponse", "AFError", "AFInfo", "AFResult", "AdaptHandler", "Adapter",
    "AlamofireExtended", "AlamofireExtension", "AlamofireNotifications", "AuthenticationCredential",
    "AuthenticationError", "AuthenticationInterceptor", "Authenticator", "CachedResponseHandler",
    "ClosureEventMonitor", "CompositeEventMonitor", "CompositeTrustEvaluator", "ConnectionLostRetryPolicy",
    "DataDecoder", "DataPreprocessor", "DataRequest", "DataResponse", "DataResponsePublisher",
    "DataResponseSerializer", "DataResponseSerializerProtocol", "DataStreamPublisher", "DataStreamRequest",
    "DataStreamSerializer", "DataStreamTask", "DataTask", "DecodableResponseSerializer", "DecodableStreamSerializer",
    "DecodableWebSocketMessageDecoder", "DefaultTrustEvaluator", "DeflateRequestCompressor", "DisabledEvaluator",
    "DisabledTrustEvaluator", "DownloadRequest", "DownloadResponse", "DownloadResponsePublisher",
    "DownloadResponseSerializerProtocol", "DownloadTask", "Empty", "EmptyResponse", "EventMonitor",
    "GoogleXSSIPreprocessor", "HTTPHeader", "HTTPHeaders", "HTTPMethod", "Interceptor", "JSONEncoding",
    "JSONParameterEncoder", "JSONResponseSerializer", "MultipartFormData", "NetworkReachabilityManager",
    "OfflineRetrier", "ParameterEncoder", "ParameterEncoding", "Parameters", "PassthroughPreprocessor",
    "PassthroughStreamSerializer", "PinnedCertificatesTrustEvaluator", "PublicKeysTrustEvaluator", "RedirectHandler",
    "Redirector", "Request", "RequestAdapter", "RequestAdapterState", "RequestDelegate", "RequestInterceptor",
    "RequestRetrier", "ResponseCacher", "ResponseSerializer", "Retrier", "RetryHandler", "RetryPolicy", "RetryResult",
    "RevocationTrustEvaluator", "ServerTrustEvaluating", "ServerTrustManager", "Session", "SessionDelegate",
    "StreamOf", "StringResponseSerializer", "StringStreamSerializer", "URLConvertible", "URLEncodedFormEncoder",
    "URLEncodedFormParameterEncoder", "URLEncoding", "URLRequestConvertible", "URLResponseSerializer",
    "UploadConvertible", "UploadRequest", "UploadableConvertible", "WebSocketMessageSerializer",
  ]

  /// The types that the library declares at the beginning of a line, which excludes nested ones.
  private func publicTypes() throws -> Set<String> {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var names: Set<String> = []
    let declaration = /^public (?:final |indirect )?(?:struct|class|enum|protocol|actor|typealias) ([A-Za-z]+)/
      .anchorsMatchLineEndings()
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      let text = try String(contentsOf: file, encoding: .utf8)
      names.formUnion(text.matches(of: declaration).map { String($0.1) })
    }
    return names
  }

  @Test func typesHaveOtherNamesThanThoseOfGetAndAlamofire() throws {
    let names = try publicTypes()

    #expect(names.contains("PointOfInterest"))
    #expect(names.intersection(Self.get) == [])
    #expect(names.intersection(Self.alamofire) == [])
  }
}
