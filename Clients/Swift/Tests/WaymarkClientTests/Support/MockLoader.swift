import Foundation
import WaymarkClient

/// Answers calls by a closure.
struct MockLoader<RequestDataType: Sendable, ResponseDataType: Sendable>: APILoading {
  let answer: @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>

  init(_ answer: @escaping @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>) {
    self.answer = answer
  }

  func load(requestData: RequestDataType) async throws -> APIResponse<ResponseDataType> {
    try await answer(requestData)
  }
}

extension APIResponse {
  /// An answer at the beginning of time.
  init(_ value: Value, maxAge: TimeInterval? = nil, isStale: Bool = false) {
    self.init(value: value, maxAge: maxAge, receivedAt: Date(timeIntervalSince1970: 0), isStale: isStale)
  }
}
