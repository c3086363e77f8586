import ArgumentParser
import Foundation
import Geo
import PointIndex
import Points
import SyntheticData

/// `waymark-bench index-start`: the start with an index in files, and its first searches.
struct IndexStartCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index-start",
    abstract: "Measures how long an index in files takes to start, and the searches after it, without a database.",
    discussion: """
      Writes the files of synthetic places into the folder, unless it has files, and starts with them. Writes the seconds \
      until the files are verified and searches are answered; the milliseconds of the first searches, each of the nearest \
      20 and by name, on one thread; and the searches of each second after that. Requires Linux.
      """
  )

  @Argument(help: "The number of synthetic places. They need about 420 bytes each on the disk.") var places = 1_000_000
  @Option(help: "The folder of the files, which stay there.") var folder: String
  @Option(help: "The number of places that are built in memory at once.") var piece = 2_000_000
  @Option(help: "The number of first searches.") var first = 100
  @Option(help: "The seconds of searches after them.") var seconds = 10
  @Flag(help: "Drop the files from the page cache before the start, so that they are read from the disk.") var cold =
    false

  func validate() throws {
    if places < 1_000 { throw ValidationError("places must be at least 1000, got \(places)") }
    if piece < 1_000 { throw ValidationError("--piece must be at least 1000, got \(piece)") }
    if first < 1 { throw ValidationError("--first must be at least 1, got \(first)") }
  }

  func run() throws {
    if !FileManager.default.fileExists(atPath: "\(folder)/manifest") { try writeFiles() }
    let queries = try queries()
    if cold { try dropFiles() }
    let files = try IndexFiles(folder: folder)
    let start = ContinuousClock.now
    guard let snapshot = try files.load(text: .init())?.snapshot else {
      throw ValidationError("there is no index in \(folder)")
    }
    print("\(snapshot.count) places, start: \((ContinuousClock.now - start).formattedSeconds) s")
    var milliseconds: [Double] = []
    for query in queries.prefix(first) { milliseconds.append(try Self.milliseconds(of: query, in: snapshot)) }
    print("the first search: \(milliseconds[0].formattedMilliseconds) ms")
    show("the first \(milliseconds.count)", milliseconds)
    var next = first
    for second in 1...max(1, seconds) {
      milliseconds = []
      let end = ContinuousClock.now + .seconds(1)
      while ContinuousClock.now < end {
        milliseconds.append(try Self.milliseconds(of: queries[next % queries.count], in: snapshot))
        next += 1
      }
      show("second \(second): \(milliseconds.count) searches", milliseconds)
    }
    let memory = ResidentMemory.now
    print("resident: \(memory.bytes >> 20) MiB")
  }

  private func show(_ name: String, _ milliseconds: [Double]) {
    let sorted = milliseconds.sorted()
    let quantiles = [sorted.count / 2, sorted.count * 99 / 100, sorted.count - 1].map {
      sorted[$0].formattedMilliseconds
    }
    print("\(name): median \(quantiles[0]), p99 \(quantiles[1]), maximum \(quantiles[2]) ms")
  }

  private typealias Query = (nearest: PointQuery, name: TextQuery)

  private static func milliseconds(of query: Query, in snapshot: PointSnapshot) throws -> Double {
    let start = ContinuousClock.now
    _ = try snapshot.page(matching: query.nearest)
    _ = snapshot.matches(of: query.name)
    return (ContinuousClock.now - start) / .milliseconds(1)
  }

  private func synthetic(seed: UInt64) throws -> SyntheticPoints {
    try SyntheticPoints(seed: seed, townCount: max(400, places / 2500), categoryCount: 2000, content: .contacts)
  }

  /// Returns searches near and for places, in random order.
  private func queries() throws -> [Query] {
    var (synthetic, random) = (try synthetic(seed: 1), SeededGenerator(seed: 3))
    return try synthetic.rows(count: min(places, 20_000)).shuffled(using: &random).map { row in
      let center = row.draft.coordinate
      return (
        PointQuery(proximity: .init(center: center)),
        TextQuery(text: row.draft.name, bias: LocationBias(center: center))
      )
    }
  }

  private func writeFiles() throws {
    var (synthetic, random) = (try synthetic(seed: 1), SeededGenerator(seed: 2))
    let files = try IndexFiles(folder: folder)
    let start = ContinuousClock.now
    var pieces: [IndexFiles.Piece] = []
    for first in stride(from: 0, to: places, by: piece) {
      var buffer = PointBuffer()
      let end = min(first + piece, places)
      for batch in stride(from: first, to: end, by: 10_000) {
        FieldBatch(try synthetic.rows(count: min(10_000, end - batch)), using: &random).append(to: &buffer)
      }
      pieces.append(try files.writePiece(consume buffer, text: .init()))
    }
    _ = try files.save(PointSnapshot(pieces, text: .init()), standingFor: "synthetic places")
    print("the files were made in \((ContinuousClock.now - start).formattedSeconds) s")
  }

  private func dropFiles() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let file = open("\(folder)/\(name)", O_RDONLY)
      guard file >= 0 else { continue }
      // The system drops only pages that are on the disk.
      _ = fsync(file)
      _ = posix_fadvise(file, 0, 0, CInt(POSIX_FADV_DONTNEED))
      close(file)
    }
  }
}

extension Double {
  /// The number with two decimals.
  fileprivate var formattedMilliseconds: String { "\((self * 100).rounded() / 100)" }
}
