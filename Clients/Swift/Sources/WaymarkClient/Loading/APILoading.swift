/// What answers calls of one kind: ``APIRequestLoader``, or what a test puts in its place.
public protocol APILoading<RequestDataType, ResponseDataType>: Sendable {
  /// What a call is made of.
  associatedtype RequestDataType: Sendable

  /// What its answer is read as.
  associatedtype ResponseDataType: Sendable

  /// The answer to a call.
  ///
  /// - Throws: ``RequestError``, ``APIError``, `EncodingError` or `CancellationError`.
  func load(requestData: RequestDataType) async throws -> APIResponse<ResponseDataType>
}
