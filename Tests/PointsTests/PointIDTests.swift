import Basics
import Points
import TestSupport
import Testing

@Suite struct PointIDTests {
  @Test func aNewIdIsOfVersion7AndBeginsWithItsTime() {
    // The example of RFC 9562, appendix A.6.
    let time = Timestamp(microsecondsSinceEpoch: 0x017F_22E2_79B0 * 1000 + 999)
    var generator = Sequence(numbers: [0xCC3, 0x18C4_DC0C_0C07_398F << 2])

    let id = PointID(at: time, using: &generator)

    #expect(id.description == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
  }

  @Test func onlyTheRandomBitsAreFilled() {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    var ones = Sequence(numbers: [.max, .max])
    var zeros = Sequence(numbers: [0, 0])

    #expect(PointID(at: time, using: &ones).description == "00000000-0000-7fff-bfff-ffffffffffff")
    #expect(PointID(at: time, using: &zeros).description == "00000000-0000-7000-8000-000000000000")
  }

  @Test func idCreatedLaterSortsLater() {
    var generator = SystemRandomNumberGenerator()
    let times = [0, 1, 999, 1_000_000, 0x7FFF_FFFF_FFFF].map { Timestamp(microsecondsSinceEpoch: $0 * 1000) }

    let ids = times.map { PointID(at: $0, using: &generator) }

    #expect(ids == ids.sorted())
    #expect(ids.map(\.description) == ids.map(\.description).sorted())
  }

  @Test(arguments: [
    (PointID(high: 0, low: 1), PointID(high: 1, low: 0)), (PointID(high: 1, low: 0), PointID(high: 1, low: 1)),
    (PointID(high: 0x7FFF_FFFF_FFFF_FFFF, low: 0), PointID(high: 0x8000_0000_0000_0000, low: 0)),
    (PointID(high: 0, low: 0x7FFF_FFFF_FFFF_FFFF), PointID(high: 0, low: 0x8000_0000_0000_0000)),
  ])
  func theOrderIsThatOfTheBytesAndOfTheText(smaller: PointID, larger: PointID) {
    #expect(smaller < larger)
    #expect(!(larger < smaller))
    #expect(!(smaller < smaller))
    #expect(smaller.description < larger.description)
  }

  @Test(arguments: [
    ("00000000-0000-0000-0000-000000000000", PointID(high: 0, low: 0)),
    ("ffffffff-ffff-ffff-ffff-ffffffffffff", PointID(high: .max, low: .max)),
    ("01234567-89ab-cdef-0123-456789abcdef", PointID(high: 0x0123_4567_89AB_CDEF, low: 0x0123_4567_89AB_CDEF)),
  ])
  func anIdIsReadAndWritten(text: String, id: PointID) {
    #expect(PointID(text) == id)
    #expect(PointID(text.uppercased()) == id)
    #expect(Array(text.utf8).withUnsafeBufferPointer { PointID(utf8: $0) } == id)
    #expect(id.description == text)
  }

  @Test func everyDigitIsWrittenInEveryPosition() {
    for position in 0..<32 {
      for digit in 0..<16 as Range<UInt64> {
        let part = digit << UInt64(60 - position % 16 * 4)
        for others in [0, UInt64.max] {
          let half = others & ~(15 << UInt64(60 - position % 16 * 4)) | part
          expectText(of: position < 16 ? PointID(high: half, low: others) : PointID(high: others, low: half))
        }
      }
    }
  }

  @Test func anyIdIsWrittenIntoItsRoom() {
    var state: UInt64 = 1
    for _ in 0..<10_000 {
      let high = SplitMix64.mix(state)
      state = SplitMix64.mix(high)
      expectText(of: PointID(high: high, low: state >> (high % 64)))
    }
  }

  private func expectText(of id: PointID) {
    var sink = GuardedSink()
    sink.write(atMost: PointID.textLength) { text in
      id.write(to: text)
      return PointID.textLength
    }
    let expected = SimpleText.uuid(id)
    if !sink.holds(expected) || id.description != expected || PointID(expected) != id {
      Issue.record("\(String(decoding: sink.bytes, as: UTF8.self)), expected \(expected)")
    }
  }

  @Test(arguments: [
    "", "0", "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdef0",
    "0123456789abcdef0123456789abcdef", "{01234567-89ab-cdef-0123-456789abcdef}",
    "01234567_89ab-cdef-0123-456789abcdef", "0123456-789ab-cdef-0123-456789abcdef",
    "g1234567-89ab-cdef-0123-456789abcdef", "٠1234567-89ab-cdef-0123-456789abcdef",
    " 1234567-89ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcde\n",
  ])
  func anythingElseIsNoId(text: String) {
    #expect(PointID(text) == nil)
  }

  @Test func aDerivedIdIsAlwaysTheSameAndOfVersion7() {
    let id = PointID(derivedFrom: Array("osm\0node/1".utf8))

    #expect(id == PointID(derivedFrom: Array("osm\0node/1".utf8)))
    #expect(id.high >> 12 == 7)
    #expect(id.low >> 62 == 0b10)
  }

  @Test func derivedIdsOfManyIdentitiesDiffer() {
    let ids = Set((0..<200_000).map { PointID(derivedFrom: Array("source/\($0)".utf8)) })

    #expect(ids.count == 200_000)
  }

  @Test func shuffleKeysOfNeighboursAreSpreadOverAllNumbers() {
    let keys = (0..<16_384).map { PointID(high: 0x0199_A1B2_0000_7000, low: 0x8000_0000_0000_0000 + $0).shuffleKey }

    let counts = keys.reduce(into: [Int](repeating: 0, count: 16)) { counts, key in counts[Int(key >> 60)] += 1 }

    #expect(Set(keys).count == keys.count)
    // 1,024 are expected in each sixteenth, with a standard deviation of 31.
    #expect(counts.allSatisfy { (1024 - 186...1024 + 186).contains($0) })
  }

  /// Generates given numbers.
  private struct Sequence: RandomNumberGenerator {
    var numbers: [UInt64]

    mutating func next() -> UInt64 { numbers.removeFirst() }
  }
}
