import Basics
import SyntheticData
import Testing

@Suite struct TraceParentTests {
  private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test func traceParentIsWrittenAsItWasRead() throws {
    let parent = try #require(TraceParent(Self.text))

    #expect(parent.traceID.description == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(parent.spanText == "00f067aa0ba902b7")
    #expect(parent.flags == 1)
    #expect(parent.description == Self.text)
  }

  @Test(arguments: [
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-will-be",
    "fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
  ])
  func knownPartsOfALaterVersionAreParsed(text: String) {
    #expect(TraceParent(text)?.description == Self.text)
  }

  @Test(arguments: [
    "", "00", "nonsense", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01",
    "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
    " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
    "00-4bf92f3577b34da6a3ce929d0e0e473\u{E9}-00f067aa0ba902b7-01",
  ])
  func malformedTraceParentsAreRejected(text: String) {
    #expect(TraceParent(text) == nil)
  }

  @Test func childKeepsTheTraceIDAndChangesTheSpanID() throws {
    var generator = SeededGenerator(seed: 1)
    let parent = try #require(TraceParent(Self.text))

    let child = parent.child(using: &generator)

    #expect(child.traceID == parent.traceID)
    #expect(child.flags == parent.flags)
    #expect(child.spanID != parent.spanID)
    #expect(TraceParent(child.description) == child)
  }
}
