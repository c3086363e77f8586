import Points
import TestSupport
import Testing

/// The memory of suggestions, and its division among senders.
@Suite struct SuggestionMemoryTests {
  private static func isAdded(_ addition: SuggestionAddition) -> Bool {
    if case .added = addition { true } else { false }
  }

  /// Adds suggestions of an address until one is refused, and returns their number.
  private static func fill(
    _ suggestions: inout Suggestions, from first: Int, address: String, key: String? = nil
  ) -> Int {
    for count in 0..<Suggestion.maximumOpenCountOfAddress {
      switch suggestions.add(.sample(first + count, address: address, key: key)) {
      case .added: continue
      case .refused(.noMemory): return count
      case .refused, .repeated, .unreadable:
        Issue.record("refused for another reason")
        return count
      }
    }
    return Suggestion.maximumOpenCountOfAddress
  }

  @Test(arguments: [("app", "other"), (nil, nil)] as [(String?, String?)])
  func senderHasAsMuchMemoryAsIsFreeBesideItsOwn(key: String?, otherKey: String?) {
    var suggestions = Suggestions(memoryLimit: 64 * 1024)

    let first = Self.fill(&suggestions, from: 0, address: "192.0.2.1", key: key)
    let second = Self.fill(&suggestions, from: 1_000, address: "192.0.2.2", key: otherKey)

    #expect((20...32).contains(first), "\(first)")
    #expect((first / 2 - 2...first / 2 + 2).contains(second), "\(second)")
  }

  @Test func decidedSuggestionTakesMemoryUntilItIsRemoved() throws {
    var suggestions = Suggestions(memoryLimit: 64 * 1024)
    let count = Self.fill(&suggestions, from: 0, address: "192.0.2.1")
    let first = try #require(suggestions[Suggestion.sample(0).id])
    let decision = Suggestion.Decision(isAccepted: false, reason: nil, time: first.createdAt)
    suggestions.apply([first.id: first.decided(decision, nil)])

    let decided = Self.isAdded(suggestions.add(.sample(1_000, key: nil)))
    suggestions.apply([first.id: nil])
    let removed = Self.isAdded(suggestions.add(.sample(1_000, key: nil)))

    #expect(count > 0 && !decided && removed)
  }
}
