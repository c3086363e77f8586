import CZlib
import Foundation
import Synchronization
@testable import OpenStreetMap

/// Builds PBF files of test objects.
struct PBFBytes {
  enum Compression { case none, zlib, other(field: UInt64) }

  private(set) var bytes: [UInt8] = []

  init(features: [String] = ["OsmSchema-V0.6", "DenseNodes"]) {
    var header = WireWriter()
    for feature in features { header.field(4, bytes: feature.utf8) }
    append(type: "OSMHeader", header.bytes)
  }

  /// A file with a block for each array of objects.
  init(blocks: [[ObjectDraft]], compression: Compression = .zlib) {
    self.init()
    for objects in blocks { append(objects, compression: compression) }
  }

  mutating func append(_ objects: [ObjectDraft], compression: Compression = .zlib) {
    var writer = BlockWriter()
    for object in objects { writer.append(object) }
    append(type: "OSMData", writer.finish(), compression: compression)
  }

  mutating func append(type: String, _ block: [UInt8], compression: Compression = .none, rawSize: Int? = nil) {
    var blob = WireWriter()
    switch compression {
    case .none: blob.field(1, bytes: block)
    case .zlib:
      var count = compressBound(uLong(block.count))
      var compressed = [UInt8](repeating: 0, count: Int(count))
      compress(&compressed, &count, block, uLong(block.count))
      blob.field(2, UInt64(bitPattern: Int64(rawSize ?? block.count)))
      blob.field(3, bytes: compressed.prefix(Int(count)))
    case .other(let field):
      blob.field(2, UInt64(block.count))
      blob.field(field, bytes: block)
    }
    append(type: type, blob: blob.bytes)
  }

  mutating func append(type: String, blob: [UInt8], dataSize: UInt64? = nil) {
    var header = WireWriter()
    header.field(1, bytes: type.utf8)
    header.field(3, dataSize ?? UInt64(blob.count))
    bytes += withUnsafeBytes(of: UInt32(header.bytes.count).bigEndian) { Array($0) } + header.bytes + blob
  }

  mutating func append(raw: [UInt8]) { bytes += raw }
}

/// A file that ends with its owner.
final class TestFile {
  let path: String

  init(_ bytes: [UInt8], name: String) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)-\(name)").path
    try Data(bytes).write(to: URL(filePath: path))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func places(
    _ selection: OSMSelection = OSMSelection(), options: OSMReaderOptions = OSMReaderOptions()
  ) throws -> (places: [OSMPlace], report: OSMReport) {
    let reader = try OSMFile(path: path).places(selection, options: options)
    var places: [OSMPlace] = []
    while let batch = try reader.next() { places += batch }
    return (places, reader.report)
  }

  func changes(_ selection: OSMSelection = OSMSelection()) throws -> [OSMChange] {
    let reader = try OSMFile(path: path).changes(selection)
    var changes: [OSMChange] = []
    while let batch = try reader.next() { changes += batch }
    return changes
  }
}

func places(of bytes: [UInt8], name: String = "test.osm.pbf") throws -> [OSMPlace] {
  try TestFile(bytes, name: name).places().places
}

/// Returns a node at degrees.
func node(_ id: Int64, _ latitude: Double, _ longitude: Double, _ tags: [String: String] = [:]) -> ObjectDraft {
  let position = FixedPosition(
    latitude: Int32((latitude * 1e7).rounded()), longitude: Int32((longitude * 1e7).rounded()))
  return ObjectDraft(kind: .node, id: id, version: 3, position: position, tags: sorted(tags))
}

func way(_ id: Int64, _ refs: [Int64], _ tags: [String: String] = [:]) -> ObjectDraft {
  ObjectDraft(kind: .way, id: id, version: 2, tags: sorted(tags), refs: refs)
}

func relation(_ id: Int64, _ members: [(OSMKind, Int64, String)], _ tags: [String: String]) -> ObjectDraft {
  ObjectDraft(
    kind: .relation, id: id, version: 1, tags: sorted(tags),
    members: members.map { ObjectDraft.Member(kind: $0.0, id: $0.1, role: $0.2) })
}

private func sorted(_ tags: [String: String]) -> [OSMTag] {
  tags.sorted { $0.key < $1.key }.map { OSMTag($0.key, $0.value) }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), with a fixed seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// The last report of each phase.
final class ProgressRecorder: Sendable {
  private let reports = Mutex<[OSMProgress]>([])

  func append(_ progress: OSMProgress) {
    reports.withLock { reports in
      if reports.last?.phase == progress.phase { reports.removeLast() }
      reports.append(progress)
    }
  }

  var last: [OSMProgress] { reports.withLock { $0 } }
}
