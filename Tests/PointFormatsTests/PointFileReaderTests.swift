import PointFormats
import Points
import Synchronization
import Testing

@Suite struct PointFileReaderTests {
  private static func line(_ number: Int) -> String {
    #"{"name":"P\#(number)","lat":1,"long":2}"# + "\n"
  }

  @Test func allBatchesButTheLastHaveTheMinimumSize() async throws {
    let text = (1...25).map(Self.line).joined()
    let chunks = Chunks(Array(text.utf8), size: 10)
    let reader = PointFileReader(chunks, parser: PointParser(format: .ndjson), batchSize: 10) { _ in }

    var batches: [[Int]] = []
    for try await batch in reader { batches.append(batch.map(\.number)) }

    #expect(batches.map(\.count) == [10, 10, 5])
    #expect(batches.flatMap(\.self) == Array(1...25))
  }

  @Test func longRowsEndABatchBeforeItsNumberOfRows() async throws {
    let tags = (0..<50).map { #""t\#($0)":"\#(String(repeating: "x", count: 2_000))""# }.joined(separator: ",")
    let line = #"{"name":"P","lat":1,"long":2,\#(tags)}"# + "\n"
    let chunks = Chunks(Array(String(repeating: line, count: 25).utf8), size: 1 << 16)

    var counts: [Int] = []
    for try await batch in PointFileReader(chunks, parser: PointParser(format: .ndjson), onRejection: { _ in }) {
      counts.append(batch.count)
    }

    #expect(counts == [11, 11, 3])
  }

  @Test func memoryOfRowsAndOfARowThatIsNotWholeIsObserved() async throws {
    let text = (1...4).map(Self.line).joined() + #"{"name":""# + String(repeating: "x", count: 50_000)
    let observed = Mutex<[Int]>([])
    let reader = PointFileReader(
      Chunks(Array(text.utf8), size: 10), parser: PointParser(format: .ndjson), batchSize: 2, onRejection: { _ in },
      onMemory: { bytes in observed.withLock { $0.append(bytes) } })

    var batches: [(bytes: Int, before: Int, after: Int)] = []
    var former = 0
    for try await batch in reader {
      let count = observed.withLock { $0.count }
      let before = observed.withLock { $0.last ?? 0 }
      batches.append((batch.reduce(0) { $0 + $1.byteCount }, before, former))
      former = count
    }

    let held = observed.withLock { $0 }
    #expect(batches.count == 2)
    for (bytes, before, first) in batches { #expect(bytes > 0 && before >= bytes && held[first] < bytes) }
    #expect(held.max() ?? 0 >= 50_000)
  }

  @Test func errorOfTheObserverOfMemoryEndsTheReading() async {
    struct Full: Error {}
    let text = #"{"name":""# + String(repeating: "x", count: 50_000)
    let chunks = Chunks(Array(text.utf8), size: 1_000)
    let reader = PointFileReader(
      chunks, parser: PointParser(format: .ndjson), onRejection: { _ in },
      onMemory: { if $0 >= 10_000 { throw Full() } })

    await #expect(throws: Full.self) { for try await _ in reader {} }
    #expect(chunks.taken.withLock { $0 } <= 10)
  }

  @Test func memoryOfTheNotesIsObserved() async throws {
    let last = Mutex(0)
    let reader = PointFileReader(
      Chunks(Array((1...2_000).map(Self.line).joined().utf8), size: 1_000), parser: PointParser(format: .ndjson),
      notes: ImportNotes(), onRejection: { _ in }, onMemory: { bytes in last.withLock { $0 = bytes } })

    for try await _ in reader {}

    #expect(last.withLock { $0 } > 500_000)
  }

  @Test func rejectedRowsAreReportedInOrder() async throws {
    let text = Self.line(1) + "x\n" + Self.line(3) + "{}\n"
    let rejected = Mutex<[Int]>([])
    let reader = PointFileReader(Chunks(Array(text.utf8), size: 7), parser: PointParser(format: .ndjson, firstRow: 11))
    {
      row in
      rejected.withLock { $0.append(row.number) }
    }

    var rows: [Int] = []
    for try await batch in reader { rows += batch.map(\.number) }

    #expect(rows == [11, 13])
    #expect(rejected.withLock { $0 } == [12, 14])
  }

  @Test func onlyTheChunksThatABatchNeedsAreRead() async throws {
    let chunks = Chunks(Array((1...100).map(Self.line).joined().utf8), size: 20)
    let reader = PointFileReader(chunks, parser: PointParser(format: .ndjson), batchSize: 2) { _ in }
    var iterator = reader.makeAsyncIterator()

    let batch = try await iterator.next()

    #expect(batch?.count == 2)
    #expect(chunks.taken.withLock { $0 } <= 5)
  }

  @Test func aTextThatIsNotOfTheFormatEndsTheSequenceWithTheError() async {
    let reader = PointFileReader(Chunks(Array("[]".utf8), size: 1), parser: PointParser(format: .geoJSON)) { _ in }

    await #expect(throws: FormatError.self) { for try await _ in reader {} }
  }

  @Test func withoutRowsThereAreNoBatches() async throws {
    var iterator = PointFileReader(Chunks([], size: 1), parser: PointParser(format: .ndjson)) { _ in }
      .makeAsyncIterator()

    let batch = try await iterator.next()

    #expect(batch == nil)
  }

  @Test func cancellationIsNotTakenForTheEndOfTheText() async {
    let reading = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      // A stream ends when its task is cancelled.
      for try await _ in PointFileReader(
        Chunks(Array(Self.line(1).utf8), size: 4),
        parser: PointParser(format: .ndjson),
        onRejection: { _ in }
      ) {}
    }

    await #expect(throws: CancellationError.self) { try await reading.value }
  }

  /// Bytes in chunks, with a count of those that were read.
  private final class Chunks: AsyncSequence, Sendable {
    let bytes: [UInt8]
    let size: Int
    let taken = Mutex(0)

    init(_ bytes: [UInt8], size: Int) {
      self.bytes = bytes
      self.size = size
    }

    func makeAsyncIterator() -> AsyncStream<ArraySlice<UInt8>>.Iterator {
      let start = Mutex(0)
      return AsyncStream(unfolding: {
        let range = start.withLock { start in
          defer { start += self.size }
          return start..<(start + self.size)
        }
        self.taken.withLock { $0 += 1 }
        let chunk = self.bytes.dropFirst(range.lowerBound).prefix(range.count)
        return chunk.isEmpty ? nil : chunk
      }).makeAsyncIterator()
    }
  }
}
