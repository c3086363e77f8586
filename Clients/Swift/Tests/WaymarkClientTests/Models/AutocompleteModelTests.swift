import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@MainActor
@Suite(.timeLimit(.minutes(5))) struct AutocompleteModelTests {
  private func model(
    clock: any Clock<Duration> = RecordingClock(), _ search: @escaping @Sendable (String) async throws -> [String]
  ) -> AutocompleteModel<String> {
    AutocompleteModel(clock: clock, search: search)
  }

  @Test func suggestionsAreOfTheTrimmedText() async throws {
    let clock = RecordingClock()
    let model = model(clock: clock) { ["\($0)!"] }
    model.text = "  ca fe \n"

    await model.search()

    #expect(model.suggestions == ["ca fe!"])
    #expect(model.searchedText == "ca fe")
    #expect(clock.sleeps == [.milliseconds(250)])
    #expect(!model.isSearching)
  }

  @Test func tooShortTextHasNoSuggestions() async throws {
    let searches = Counter()
    let model = model { _ in
      searches.add()
      return ["A"]
    }
    model.text = "ab"
    await model.search()
    #expect(model.suggestions == ["A"])
    model.text = " a "

    await model.search()

    #expect(model.suggestions.isEmpty)
    #expect(searches.value == 1)
  }

  @Test func sameTextIsNotSearchedForAgain() async throws {
    let searches = Counter()
    let model = model { _ in ["\(searches.add())"] }
    model.text = "abc"
    await model.search()
    model.text = "abc "

    await model.search()

    #expect(model.suggestions == ["1"])
  }

  @Test func failedSearchKeepsTheSuggestionsAndCanBeRepeated() async throws {
    let calls = Counter()
    let model = model { text in
      if calls.add() == 2 { throw WaymarkError.unreachable(.timedOut) }
      return [text]
    }
    model.text = "ab"
    await model.search()
    model.text = "abc"

    await model.search()
    #expect(model.suggestions == ["ab"])
    #expect(model.error as? WaymarkError == .unreachable(.timedOut))
    await model.search()

    #expect(model.suggestions == ["abc"])
    #expect(model.error == nil)
  }

  @Test func cancelledSearchChangesNothing() async throws {
    let clock = StoppedClock()
    let searches = Counter()
    let model = model(clock: clock) { _ in ["\(searches.add())"] }
    model.text = "abc"
    let search = Task { await model.search() }
    await clock.isWaitedFor.pass()
    #expect(model.isSearching)

    search.cancel()
    await search.value

    #expect(searches.value == 0)
    #expect(model.error == nil)
    #expect(!model.isSearching)
  }

  @Test func newestOfOverlappingSearchesCounts() async throws {
    let (isStarted, mayEnd) = (Gate(), Gate())
    let model = model { text in
      guard text == "ab" else { return [text] }
      isStarted.open()
      await mayEnd.pass()
      return [text]
    }
    model.text = "ab"
    let first = Task { await model.search() }
    await isStarted.pass()
    model.text = "abc"
    await model.search()

    mayEnd.open()
    await first.value

    #expect(model.suggestions == ["abc"])
    #expect(model.searchedText == "abc")
  }
}
