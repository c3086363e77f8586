import Basics
package import Points
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif
#if canImport(Darwin)
  import Foundation
#else
  import FoundationEssentials
#endif

/// The files of an index in a folder: one for each segment, and a manifest that names those of one snapshot.
///
/// A segment's file is written once and never changed. The manifest is written to another name, synchronized and
/// renamed, after the files that it names: whenever the process or the system stops, it names complete files. Files
/// that it does not name are removed.
///
/// The folder is trusted as a database's files are: checksums find damage, not malice.
package final class IndexFiles: Sendable {
  private let folder: String

  /// Holds the lock of the folder.
  private let lock: OpenFile

  /// The names of the pieces that no manifest names yet. Held while files are written or read, so that none is removed
  /// that another manifest names.
  private let pieceNames = Mutex<Set<ExactText>>([])

  private static let manifestName = "manifest"
  private static let temporaryName = "manifest.new"
  private static let segmentSuffix = ".segment"

  /// Opens a folder, which is created if it is missing, and keeps other processes from using it.
  ///
  /// - Parameter folder: the path of the folder.
  /// - Throws: ``IndexFileError`` if the folder can't be used, or another process uses it.
  package init(folder: String) throws(IndexFileError) {
    self.folder = folder
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw IndexFileError(call: "mkdir \(folder)") }
    lock = try OpenFile("\(folder)/lock", O_CREAT | O_RDWR)
    guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw IndexFileError("another process uses \(folder)")
    }
  }

  // A child that is being started has the descriptor, and the lock with it, until it executes its program.
  deinit { _ = flock(lock.descriptor, LOCK_UN) }

  /// Returns the snapshot of the files, whose columns stay there, and its state; `nil` if there are no files.
  ///
  /// All of each file is verified before, on all processors: it takes as long as the disk needs to read them.
  ///
  /// - Parameter configuration: the fields that texts are searched in.
  /// - Returns: the snapshot, and the text that ``save(_:standingFor:)`` was given.
  /// - Throws: ``IndexFileError`` if a file is missing, damaged, or of another version or configuration.
  package func load(
    text configuration: TextIndexConfiguration
  ) throws(IndexFileError) -> (snapshot: PointSnapshot, state: String)? {
    try pieceNames.withLock { pieces throws(IndexFileError) in try read(text: configuration, keeping: pieces) }
  }

  private func read(
    text configuration: TextIndexConfiguration, keeping pieces: Set<ExactText>
  ) throws(IndexFileError) -> (snapshot: PointSnapshot, state: String)? {
    let manifest: Manifest
    do throws(IndexFileError) {
      guard let bytes = try contents(of: Self.manifestName) else {
        removeFiles(except: pieces)
        return nil
      }
      manifest = try Manifest(bytes)
    } catch {
      removeFiles(except: pieces)
      throw error
    }
    // A process that was killed while it wrote has left others, which may fill the disk.
    removeFiles(except: pieces.union(manifest.parts.map { ExactText($0.file.name) }))
    guard manifest.configuration == configuration.description else {
      throw IndexFileError("the fields that are searched have changed")
    }
    let parts = try manifest.parts.map { part throws(IndexFileError) in
      let segment = try Segment(SegmentFile(part.file, in: folder), name: part.file, text: configuration)
      return try PointSnapshot.Part(segment: segment, tombstoneWords: part.tombstones)
    }
    for part in parts { part.segment.evaluateHours() }
    let pyramid = DeferredPyramid(manifest.pyramid)
    return (PointSnapshot(parts: parts, text: configuration, pyramid: pyramid), manifest.state)
  }

  private func contents(of name: String) throws(IndexFileError) -> ContiguousArray<UInt8>? {
    do throws(IndexFileError) {
      let file = try OpenFile("\(folder)/\(name)", O_RDONLY)
      let size = try file.size()
      var bytes = ContiguousArray<UInt8>(repeating: 0, count: size)
      let count = try bytes.withUnsafeMutableBufferPointer { bytes throws(IndexFileError) in
        try file.read(UnsafeMutableRawBufferPointer(bytes), at: 0)
      }
      bytes.removeLast(size - count)
      return bytes
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
  }

  /// The segments that a save has put into files.
  package struct SavedSegments: Sendable {
    fileprivate var segments: [(former: Segment, saved: Segment)] = []

    /// A Boolean value that indicates whether all segments were in files before.
    package var isEmpty: Bool { segments.isEmpty }
  }

  /// Writes the segments of a snapshot that are not in files, and a manifest of the snapshot.
  ///
  /// - Parameters:
  ///   - snapshot: the snapshot.
  ///   - state: the text from which the position of the snapshot is found again.
  /// - Returns: the segments that were written, for ``PointSnapshot/reading(_:)``.
  /// - Throws: ``IndexFileError``; the files of the former manifest are unchanged then.
  package func save(
    _ snapshot: PointSnapshot, standingFor state: String
  ) throws(IndexFileError) -> SavedSegments {
    try pieceNames.withLock { pieces throws(IndexFileError) in
      try write(snapshot, standingFor: state, pieces: &pieces)
    }
  }

  private func write(
    _ snapshot: PointSnapshot, standingFor state: String, pieces: inout Set<ExactText>
  ) throws(IndexFileError) -> SavedSegments {
    var saved = SavedSegments()
    var written: [String] = []
    do throws(IndexFileError) {
      var parts: [Manifest.Part] = []
      for part in snapshot.parts {
        let name: SegmentFileName
        if let known = part.segment.fileName {
          name = known
        } else {
          let segment = try inFile(part.segment, text: snapshot.textConfiguration, noting: &written)
          segment.takeIndexes(of: part.segment)
          guard let known = segment.fileName else { preconditionFailure("the segment is in a file") }
          name = known
          saved.segments.append((part.segment, segment))
        }
        parts.append(Manifest.Part(file: name, tombstones: part.tombstones?.words ?? []))
      }
      let manifest = Manifest(
        configuration: snapshot.textConfiguration.description, state: state, parts: parts, pyramid: snapshot.pyramid)
      try replaceManifest(manifest)
      let names = Set(parts.map { ExactText($0.file.name) })
      pieces.subtract(names)
      removeFiles(except: names.union(pieces))
      return saved
    } catch {
      for name in written { unlink("\(folder)/\(name)") }
      throw error
    }
  }

  /// Writes a segment into a new file, and returns it as it is read from there.
  ///
  /// - Parameter names: gets the name of the file, before it is written.
  private func inFile(
    _ segment: Segment, text configuration: TextIndexConfiguration, noting names: inout [String]
  ) throws(IndexFileError) -> Segment {
    let text = String(SipHash.Key.random().first, radix: 16) + Self.segmentSuffix
    names.append(text)
    var file = try SegmentFileWriter(
      path: "\(folder)/\(text)", placeCount: segment.count, hashKey: segment.hashKey)
    try segment.write(to: &file)
    let name = SegmentFileName(name: text, checksum: try file.finish())
    return try Segment(SegmentFile(name, in: folder, isWritten: true), name: name, text: configuration)
  }

  /// Some places of a snapshot that is built in pieces, because it does not fit into memory at once.
  package struct Piece: Sendable {
    fileprivate let part: PointSnapshot.Part

    /// The number of places.
    package var count: Int { part.count }
  }

  /// Builds the index of some places and writes it into a file, which the next manifest has to name.
  ///
  /// - Parameters:
  ///   - buffer: at least one place.
  ///   - text: the fields that texts are searched in.
  package func writePiece(
    _ buffer: consuming PointBuffer, text configuration: TextIndexConfiguration
  ) throws(IndexFileError) -> Piece {
    let segment = Segment(buffer, text: configuration)
    return try pieceNames.withLock { pieces throws(IndexFileError) in
      var written: [String] = []
      do throws(IndexFileError) {
        let segment = try inFile(segment, text: configuration, noting: &written)
        pieces.formUnion(written.map { ExactText($0) })
        return Piece(part: PointSnapshot.Part(segment: segment))
      } catch {
        for name in written { unlink("\(folder)/\(name)") }
        throw error
      }
    }
  }

  /// Removes the files of pieces that no manifest names.
  package func remove(_ pieces: [Piece]) {
    pieceNames.withLock { names in
      for piece in pieces {
        guard let name = piece.part.segment.fileName?.name, names.remove(ExactText(name)) != nil else { continue }
        unlink("\(folder)/\(name)")
      }
    }
  }

  /// The time between two writes of the files, at least.
  private static let interval = Duration.seconds(60)

  /// Has the index written once a minute, until the task is cancelled. Large indexes are written less often, so that
  /// writing takes a twentieth of the time at most.
  ///
  /// - Parameters:
  ///   - isReady: returns a Boolean value that indicates whether there is an index; if not, it is called again soon.
  ///   - onFailure: is called with the reason of a failure, once for each that differs from the one before.
  ///   - save: writes the index by ``save(_:standingFor:)``, or returns `false` if there is nothing to write.
  package func keep(
    isReady: @Sendable () -> Bool = { true }, onFailure: @Sendable (String) -> Void,
    _ save: @Sendable () async throws -> Bool
  ) async {
    var failure: String?
    while !Task.isCancelled {
      let start = ContinuousClock.now
      do {
        if try await save() { failure = nil }
      } catch {
        if failure != "\(error)" {
          failure = "\(error)"
          onFailure("\(error)")
        }
      }
      let interval = max(Self.interval, (ContinuousClock.now - start) * 20)
      try? await Task.sleep(for: isReady() ? interval : .seconds(1))
    }
  }

  private func replaceManifest(_ manifest: Manifest) throws(IndexFileError) {
    let path = "\(folder)/\(Self.temporaryName)"
    unlink(path)
    let file = try OpenFile(path, O_CREAT | O_EXCL | O_WRONLY)
    try manifest.encoded().withUnsafeBufferPointer { bytes throws(IndexFileError) in
      try file.write(UnsafeRawBufferPointer(bytes), at: 0)
    }
    try file.synchronize()
    // The names of the segments' files must be on disk before the manifest's.
    let directory = try OpenFile(folder, O_RDONLY)
    try directory.synchronize()
    guard rename(path, "\(folder)/\(Self.manifestName)") == 0 else { throw IndexFileError(call: "rename") }
    try directory.synchronize()
  }

  /// Removes the files of segments that no manifest names. Mappings of removed files stay valid.
  private func removeFiles(except names: Set<ExactText>) {
    let contents = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in contents where name.hasSuffix(Self.segmentSuffix) && !names.contains(ExactText(name)) {
      unlink("\(folder)/\(name)")
    }
  }
}

extension PointSnapshot {
  /// Creates a snapshot of the places of pieces, of which no two have the same id or the same source reference. O(n).
  package convenience init(_ pieces: [IndexFiles.Piece], text configuration: TextIndexConfiguration) {
    self.init(parts: pieces.map(\.part), text: configuration)
  }

  /// Returns this snapshot with segments that were saved read from their files, so that the system may evict them from
  /// memory.
  package func reading(_ saved: IndexFiles.SavedSegments) -> PointSnapshot {
    let segments = Dictionary(
      uniqueKeysWithValues: saved.segments.map { (ObjectIdentifier($0.former), $0.saved) })
    let next = parts.map { part in segments[ObjectIdentifier(part.segment)].map { part.replacingSegment($0) } ?? part }
    return PointSnapshot(parts: next, text: textConfiguration, pyramid: deferredPyramid)
  }
}

/// The description of a snapshot whose segments are in files.
struct Manifest {
  struct Part {
    let file: SegmentFileName

    /// The bits of the removed places; empty if none was removed.
    let tombstones: ContiguousArray<UInt64>
  }

  /// The fields that texts are searched in.
  let configuration: String

  /// The text from which the position of the snapshot is found again.
  let state: String
  let parts: [Part]
  let pyramid: Pyramid

  private static let magic: UInt64 = 0x31_46_4E_4D_58_49_4D_57  // "WMIXMNF1" in little-endian order

  /// A number that grows with each change of what the files contain, such as the kinds of names.
  private static let version: UInt32 = 2
}

extension Manifest {
  /// The encoded manifest: a checksum, and what it is of.
  func encoded() -> ContiguousArray<UInt8> {
    var encoder = PlainEncoder()
    encoder.append(Self.magic)
    encoder.append(Self.version)
    encoder.append(configuration)
    encoder.append(state)
    encoder.append(UInt32(parts.count))
    for part in parts {
      encoder.append(part.file.name)
      encoder.append(part.file.checksum)
      encoder.append(part.tombstones)
    }
    pyramid.encode(into: &encoder)
    var bytes = ContiguousArray<UInt8>()
    withUnsafeBytes(of: encoder.bytes.withUnsafeBytes { Checksum.of($0) }) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: encoder.bytes)
    return bytes
  }

  init(_ bytes: ContiguousArray<UInt8>) throws(IndexFileError) {
    let damage = IndexFileError("the manifest is damaged")
    var decoder = PlainDecoder(bytes)
    guard let checksum: UInt32 = decoder.next(),
      bytes.withUnsafeBytes({ Checksum.of(UnsafeRawBufferPointer(rebasing: $0.dropFirst(4))) }) == checksum
    else { throw damage }
    guard decoder.next() == Self.magic, decoder.next() == Self.version else {
      throw IndexFileError("the manifest is of another version of the program")
    }
    guard let configuration = decoder.nextText(), let state = decoder.nextText(), let count: UInt32 = decoder.next()
    else { throw damage }
    var parts: [Part] = []
    for _ in 0..<count {
      guard let name = decoder.nextText(), let checksum: UInt32 = decoder.next(),
        let tombstones: ContiguousArray<UInt64> = decoder.nextValues(), !name.utf8.contains(UInt8(ascii: "/"))
      else { throw damage }
      parts.append(Part(file: SegmentFileName(name: name, checksum: checksum), tombstones: tombstones))
    }
    guard let pyramid = Pyramid(&decoder) else { throw damage }
    self.init(configuration: configuration, state: state, parts: parts, pyramid: pyramid)
  }
}

/// Appends plain values to bytes, in the layout of the process.
struct PlainEncoder {
  private(set) var bytes = ContiguousArray<UInt8>()

  mutating func append(_ value: some BitwiseCopyable) {
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ text: String) { append(ContiguousArray(text.utf8)) }

  mutating func append(_ values: ContiguousArray<some BitwiseCopyable>) {
    append(UInt64(values.count))
    values.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }
}

/// Reads what a ``PlainEncoder`` has appended. The results are `nil` behind the end.
struct PlainDecoder {
  private let bytes: ContiguousArray<UInt8>
  private var position = 0

  init(_ bytes: ContiguousArray<UInt8>) { self.bytes = bytes }

  mutating func next<Value: BitwiseCopyable>() -> Value? {
    let size = MemoryLayout<Value>.size
    guard bytes.count - position >= size else { return nil }
    defer { position += size }
    return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: Value.self) }
  }

  mutating func nextText() -> String? {
    (nextValues() as ContiguousArray<UInt8>?).map { String(decoding: $0, as: UTF8.self) }
  }

  mutating func nextValues<Value: BitwiseCopyable>() -> ContiguousArray<Value>? {
    guard let count: UInt64 = next() else { return nil }
    let stride = MemoryLayout<Value>.stride
    guard count <= UInt64((bytes.count - position) / stride) else { return nil }
    let size = Int(count) * stride
    defer { position += size }
    return ContiguousArray(unsafeUninitializedCapacity: Int(count)) { memory, initializedCount in
      bytes.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(memory).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + size]))
      }
      initializedCount = Int(count)
    }
  }
}

extension Pyramid {
  /// The plain values of a node's totals.
  private struct Totals: BitwiseCopyable {
    let count: Int
    let sumX: UInt64
    let sumY: UInt64
    let digest: ContentDigest
    let sample: SamplePlace

    /// A bit for each quarter that has a node, and ``hasCategories``.
    let flags: UInt64

    static let hasCategories: UInt64 = 1 << 4
  }

  /// Appends the pyramid, each node before those of its quarters. O(n).
  func encode(into encoder: inout PlainEncoder) {
    encoder.append(UInt64(builtCategoryCount))
    encoder.append(UInt64(categories.texts.count))
    for text in categories.texts { encoder.append(text) }
    encoder.append(UInt8(root == nil ? 0 : 1))
    if let root { Self.encode(root, into: &encoder) }
  }

  private static func encode(_ node: Node, into encoder: inout PlainEncoder) {
    let totals = node.totals
    // The sample of a node is known: it is unknown only while a change is computed.
    guard let sample = totals.sample else { preconditionFailure("a node has places") }
    var flags: UInt64 = totals.categories == nil ? 0 : Totals.hasCategories
    for index in node.quarters.indices where node.quarters[index] != nil { flags |= 1 << UInt64(index) }
    encoder.append(
      Totals(
        count: totals.count, sumX: totals.sumX, sumY: totals.sumY, digest: totals.digest, sample: sample, flags: flags))
    if let categories = totals.categories { encoder.append(categories.tallies) }
    for index in node.quarters.indices {
      if let quarter = node.quarters[index] { encode(quarter, into: &encoder) }
    }
  }

  /// Creates a pyramid from what ``encode(into:)`` has appended; `nil` if it is incomplete.
  init?(_ decoder: inout PlainDecoder) {
    guard let builtCategoryCount: UInt64 = decoder.next(), let count: UInt64 = decoder.next() else { return nil }
    var texts: [String] = []
    for _ in 0..<count {
      guard let text = decoder.nextText() else { return nil }
      texts.append(text)
    }
    categories = TextNumbers(texts)
    self.builtCategoryCount = Int(builtCategoryCount)
    guard let hasRoot: UInt8 = decoder.next() else { return nil }
    root = nil
    if hasRoot == 1 {
      guard let node = Self.node(&decoder, level: 0) else { return nil }
      root = node
    }
  }

  private static func node(_ decoder: inout PlainDecoder, level: Int) -> Node? {
    guard level <= MapSquare.maximumLevel, let plain: Totals = decoder.next() else { return nil }
    var totals = MapTotals()
    (totals.count, totals.sumX, totals.sumY) = (plain.count, plain.sumX, plain.sumY)
    (totals.digest, totals.sample) = (plain.digest, plain.sample)
    totals.categories = nil
    if plain.flags & Totals.hasCategories != 0 {
      guard let tallies: ContiguousArray<CategoryTallies.Tally> = decoder.nextValues() else { return nil }
      totals.categories = CategoryTallies(tallies)
    }
    var quarters = Quarters(repeating: nil)
    for index in quarters.indices where plain.flags & 1 << UInt64(index) != 0 {
      guard let quarter = node(&decoder, level: level + 1) else { return nil }
      quarters[index] = quarter
    }
    return Node(totals, quarters: quarters)
  }
}
