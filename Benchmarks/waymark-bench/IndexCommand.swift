import ArgumentParser
import Geo
import PointIndex
import Points
import SyntheticData

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// `waymark-bench index`: the duration and the memory of building an index.
struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index",
    abstract: "Measures how long an index of synthetic places takes to build, and its memory.",
    discussion: """
      Writes the durations, in seconds of the clock and of all processors together, then the bytes a place of each part \
      of the index, and the resident memory with its peak. Requires Linux for the latter.
      """
  )

  @Argument(help: "The number of synthetic places.") var places = 1_000_000

  /// The number of places that are made at a time.
  private static let batchSize = 10_000

  func validate() throws {
    if places < 1 { throw ValidationError("places must be at least 1, got \(places)") }
  }

  func run() throws {
    var synthetic = try SyntheticPoints(seed: 1)
    var random = SeededGenerator(seed: 2)
    let before = ResidentMemory.now
    var buffer = PointBuffer()
    buffer.reserveCapacity(places)
    var filling = Durations()
    for start in stride(from: 0, to: places, by: Self.batchSize) {
      let rows = try synthetic.rows(count: min(Self.batchSize, places - start))
      let batch = FieldBatch(rows, using: &random)
      filling.start()
      batch.append(to: &buffer)
      filling.stop()
    }
    print("fill the buffer: \(filling)")
    let textBytes = buffer.textBytes
    var building = Durations()
    building.start()
    let snapshot = PointSnapshot(consume buffer)
    building.stop()
    print("build the index: \(building)")
    let parts = snapshot.memory
    for part in parts { show(part.name, part.bytes) }
    show("all but the texts", parts.reduce(-textBytes) { $0 + $1.bytes })
    let after = ResidentMemory.now
    show("resident memory", after.bytes - before.bytes)
    show("peak of the resident memory", after.peakBytes - before.bytes)
    print("peak of the process: \(after.peakBytes >> 20) MiB")
    withExtendedLifetime(snapshot) {}
  }

  private func show(_ name: String, _ bytes: Int) {
    print("\(name): \(tenths(Double(bytes) / Double(places))) bytes a place")
  }
}

/// Synthetic places as the fields of rows, as a database sends them.
struct FieldBatch {
  private struct Row {
    let id: PointID
    let coordinate: Coordinate
    let version: Int64
    let time: Timestamp
    /// The lengths of the texts, which are one after another; -1 for none.
    let name: Int
    let tags: Int
    let category: Int
    let source: Int
    let sourceID: Int
  }

  private var rows: [Row] = []
  private var texts: [UInt8] = []

  /// The time of the first place; the others follow at 20,000 a second.
  private static let firstMicroseconds: Int64 = 1_750_000_000_000_000

  init(_ places: [ImportRow], using random: inout SeededGenerator) {
    for place in places {
      let time = Timestamp(microsecondsSinceEpoch: Self.firstMicroseconds + Int64(place.number) * 50)
      let draft = place.draft
      rows.append(
        Row(
          id: PointID(at: time, using: &random), coordinate: draft.coordinate, version: Int64(place.number), time: time,
          name: append(draft.name), tags: append(draft.tags.json), category: append(draft.category),
          source: append(draft.origin?.source), sourceID: append(draft.origin?.sourceID)))
    }
  }

  private mutating func append(_ text: String?) -> Int {
    guard let text else { return -1 }
    texts.append(contentsOf: text.utf8)
    return text.utf8.count
  }

  func append(to buffer: inout PointBuffer) {
    texts.withUnsafeBufferPointer { texts in
      var position = 0
      func next(_ length: Int) -> UnsafeBufferPointer<UInt8>? {
        guard length >= 0 else { return nil }
        defer { position += length }
        return UnsafeBufferPointer(rebasing: texts[position..<position + length])
      }
      for row in rows {
        let (name, tags, category) = (next(row.name), next(row.tags), next(row.category))
        let (source, sourceID) = (next(row.source), next(row.sourceID))
        guard let name, let tags else { continue }
        buffer.append(
          BorrowedPoint(
            id: row.id, coordinate: row.coordinate, version: row.version, createdAt: row.time, updatedAt: row.time,
            name: name, category: category, tags: tags, source: source, sourceID: sourceID))
      }
    }
  }
}

/// The total duration of some work.
private struct Durations: CustomStringConvertible {
  private var wall = 0.0
  private var processors = 0.0

  mutating func start() {
    wall -= Self.seconds(CLOCK_MONOTONIC)
    processors -= Self.seconds(CLOCK_PROCESS_CPUTIME_ID)
  }

  mutating func stop() {
    wall += Self.seconds(CLOCK_MONOTONIC)
    processors += Self.seconds(CLOCK_PROCESS_CPUTIME_ID)
  }

  var description: String { "\(hundredths(wall)) s, \(hundredths(processors)) s of processors" }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The resident memory of this process, from Linux's `/proc`; 0 elsewhere.
struct ResidentMemory {
  private(set) var bytes = 0
  private(set) var peakBytes = 0

  static var now: ResidentMemory {
    var memory = ResidentMemory()
    guard let file = fopen("/proc/self/status", "r") else { return memory }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 8192)
    let length = fread(&buffer, 1, buffer.count, file)
    let text = String(decoding: buffer[..<length], as: UTF8.self)
    for line in text.split(separator: "\n") {
      // In KiB.
      let bytes = (Int(line.filter(\.isNumber)) ?? 0) << 10
      if line.hasPrefix("VmRSS:") { memory.bytes = bytes }
      if line.hasPrefix("VmHWM:") { memory.peakBytes = bytes }
    }
    return memory
  }
}

private func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }

private func hundredths(_ number: Double) -> Double { (number * 100).rounded() / 100 }
