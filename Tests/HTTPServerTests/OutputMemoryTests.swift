import NIOCore
import Testing

@testable import HTTPServer

@Suite struct OutputMemoryTests {
  @Test func returnedBufferIsReusedAndEmpty() {
    let memory = OutputMemory()
    var answer = ByteBuffer(string: "an answer")

    memory.giveBack(&answer)
    let taken = memory.take()

    #expect(taken.capacity > 0)
    #expect(taken.readableBytes == 0)
    #expect(memory.take().capacity == 0)
  }

  @Test func bufferThatTheChannelHoldsIsNotReused() {
    let memory = OutputMemory()
    var answer = ByteBuffer(string: "an answer")
    let held = answer

    memory.giveBack(&answer)

    #expect(memory.take().capacity == 0)
    #expect(String(buffer: held) == "an answer")
  }

  @Test func bufferOfAHugeResponseIsNotKept() {
    let memory = OutputMemory()
    var answer = ByteBuffer(repeating: 0, count: 1_000_000)

    memory.giveBack(&answer)

    #expect(memory.take().capacity == 0)
  }
}
