/// Where answers to reading calls are kept.
public protocol AnswerCache: Sendable {
  /// The last answer that was stored under a key; `nil` where there is none, or none that can be read any more.
  func answer(for key: String) async -> StoredAnswer?

  /// Keeps an answer in place of the last one under that key, the address that was asked.
  ///
  /// - Throws: why it can't be kept; the last one is there then, or none.
  func store(_ answer: StoredAnswer, for key: String) async throws
}
