/// Answers in memory, the most recently used of them: what a loader without a cache remembers entity tags by.
actor RecentAnswers: AnswerCache {
  private let maximumCount: Int
  private var answers: [String: StoredAnswer] = [:]

  /// The keys, least recently used first. There are few of them.
  private var order: [String] = []

  init(maximumCount: Int = 100) {
    self.maximumCount = maximumCount
  }

  func answer(for key: String) -> StoredAnswer? {
    if answers[key] != nil { use(key) }
    return answers[key]
  }

  func store(_ answer: StoredAnswer, for key: String) {
    answers[key] = answer
    use(key)
    if order.count > maximumCount { answers[order.removeFirst()] = nil }
  }

  private func use(_ key: String) {
    order.removeAll { $0 == key }
    order.append(key)
  }
}
