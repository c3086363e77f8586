import JSONText
import Points

/// The keys of requests that were answered: for as long as they have to be remembered, and so many at most.
///
/// Looking one up, adding one and forgetting one take constant time on average.
struct KeyMemory: Sendable {
  /// How much is remembered; of more the oldest is forgotten before its time.
  struct Limits: Sendable {
    /// How many keys.
    var count = 100_000
    /// About how many bytes of answers.
    var bytes = 64 << 20
  }

  private let limits: Limits
  private var answers: [ExactText: AnsweredKey] = [:]
  private var byAge: ContiguousArray<String> = []
  private var oldest = 0
  private var bytes = 0

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// How many there are.
  var count: Int { answers.count }

  /// What is remembered of a key at a time.
  func answer(to text: String, at time: Timestamp) -> AnsweredKey? {
    answers[ExactText(text)].flatMap { Self.isOver($0, at: time) ? nil : $0 }
  }

  /// Remembers a key; answers which others are forgotten for it or because their time is over.
  ///
  /// - Parameter answered: a key that is not remembered, or whose time is over.
  mutating func remember(_ answered: AnsweredKey) -> [String] {
    let text = ExactText(answered.key.text)
    remove(text)
    var forgotten: [String] = []
    while oldest < byAge.count {
      let first = ExactText(byAge[oldest])
      if let answer = answers[first] {
        let isNeeded = answers.count < limits.count && bytes < limits.bytes && !Self.isOver(answer, at: answered.time)
        if isNeeded { break }
        remove(first)
        forgotten.append(first.text)
      }
      oldest += 1
    }
    if oldest > byAge.count / 2 {
      byAge.removeFirst(oldest)
      oldest = 0
    }
    byAge.append(text.text)
    answers[text] = answered
    bytes += Self.size(of: answered)
    return forgotten
  }

  private mutating func remove(_ text: ExactText) {
    if let answer = answers.removeValue(forKey: text) { bytes -= Self.size(of: answer) }
  }

  private static func isOver(_ answered: AnsweredKey, at time: Timestamp) -> Bool {
    let age = time.microsecondsSinceEpoch - answered.time.microsecondsSinceEpoch
    return age >= IdempotencyKey.lifetime.components.seconds * 1_000_000
  }

  private static func size(of answered: AnsweredKey) -> Int {
    let answer =
      switch answered.answer {
      case .place(let point): point.place.name.utf8.count + point.place.tags.json.utf8.count
      case .report(let report): report.rejections.reduce(0) { $0 + 32 + $1.detail.utf8.count }
      }
    return 200 + answered.key.text.utf8.count + answer
  }
}
