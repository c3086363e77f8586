import Testing

@testable import HTTPServer

@Suite struct HeldOutputTests {
  @Test func bufferIsCountedInFullUntilItsLastByteIsSent() {
    var held = PendingOutput()
    held.record(written: 400_000)

    let changes = [held.update(left: 300_000), held.update(left: 1), held.update(left: 0)]

    #expect(changes == [400_000, 0, -400_000])
    #expect(held.bytes == 0)
  }

  @Test func sentBuffersAreNoLongerCounted() {
    var held = PendingOutput()
    for _ in 0..<100 { held.record(written: 1000) }

    _ = held.update(left: 100_000)
    let before = held.bytes
    _ = held.update(left: 10_000)

    #expect(before == 100_000)
    #expect(held.bytes == 11_000)
  }

  @Test func immediatelySentBytesAreNeverCounted() {
    var held = PendingOutput()
    held.record(written: 5000)
    held.taken()
    held.record(written: 100)

    #expect(held.update(left: 50) == 100)
    #expect(held.release() == -100)
    #expect(held.release() == 0)
  }
}
