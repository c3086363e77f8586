import CExpat
import Foundation
import Geo
import Gzip

/// Parses OSM XML and osmChange XML once, and writes its objects to a temporary file as blocks.
final class XMLBlocks {
  /// The maximum bytes that a tag of XML, and that an object in the temporary file, may have.
  private static let maximumTagBytes = 1 << 20
  private static let maximumObjectBytes = 8 << 20
  private static let maximumDepth = 16
  private static let chunkBytes = 64 << 10

  private let reader: FileReader
  private let isChangeFile: Bool
  private let temporary: TemporaryFile
  private let parser: XML_Parser

  private var entries: [BlockEntry] = []
  private var temporaryBytes = 0
  private var writer = BlockWriter()
  private var writerKind = OSMKind.node
  private var writerAction: OSMChange.Action?
  private var writerLabel = 0

  private var depth = 0
  private var action: OSMChange.Action?
  private var object: ObjectDraft?
  private var objectBytes = 0
  private var failure: OSMError?

  init(_ reader: FileReader, _ file: OSMFile, _ temporary: TemporaryFile) throws(OSMError) {
    self.reader = reader
    isChangeFile = file.format == .changes
    self.temporary = temporary
    guard let parser = XML_ParserCreate(nil) else { throw .outOfSpace("no memory for the XML parser") }
    self.parser = parser
  }

  deinit { XML_ParserFree(parser) }

  /// Parses the file.
  ///
  /// - Throws: ``OSMError``.
  func parse(_ onProgress: (Int) -> Void) throws(OSMError) -> [BlockEntry] {
    // The parser has the address while this method runs.
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser,
      { data, name, attributes in
        guard let data, let name, let attributes else { return }
        Unmanaged<XMLBlocks>.fromOpaque(data).takeUnretainedValue().start(name, Attributes(attributes))
      },
      { data, _ in
        guard let data else { return }
        Unmanaged<XMLBlocks>.fromOpaque(data).takeUnretainedValue().end()
      })
    // Without a document type there are no entities but the five of XML.
    XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, _ in
      guard let data else { return }
      let blocks = Unmanaged<XMLBlocks>.fromOpaque(data).takeUnretainedValue()
      blocks.fail(blocks.malformed("a document type declaration is not allowed"))
    }
    guard reader.count > 0 else { throw .malformed(offset: 0, "the file is empty") }

    var isCompressed = false
    var decoder: GzipDecoder?
    var offset = 0
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: XMLBlocks.chunkBytes, alignment: 1)
    defer { chunk.deallocate() }
    while true {
      let count = try reader.read(into: chunk, at: offset)
      if count == 0 { break }
      let bytes = UnsafeRawBufferPointer(rebasing: chunk[..<count])
      if offset == 0, bytes.starts(with: [0x1F, 0x8B]) {
        isCompressed = true
        decoder = try mapped { () throws(GzipError) in try GzipDecoder() }
      }
      if let decoder { try decompress(bytes, decoder) } else { try feed(bytes) }
      offset += count
      onProgress(offset)
    }
    if isCompressed, let decoder { try mapped { () throws(GzipError) in try decoder.finish() } }
    try feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true)
    try flush()
    return entries
  }

  private func decompress(_ bytes: UnsafeRawBufferPointer, _ decoder: GzipDecoder) throws(OSMError) {
    var rest = bytes
    while true {
      let (taken, output) = try mapped { () throws(GzipError) in
        try decoder.decode(rest, atMost: XMLBlocks.chunkBytes)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
      var problem: OSMError?
      output.withUnsafeBytes { output in
        do throws(OSMError) { try feed(output) } catch { problem = error }
      }
      if let problem { throw problem }
      if output.count < XMLBlocks.chunkBytes, rest.isEmpty { return }
    }
  }

  private func mapped<Value>(_ body: () throws(GzipError) -> Value) throws(OSMError) -> Value {
    do throws(GzipError) {
      return try body()
    } catch {
      switch error {
      case .truncated: throw .truncated(offset: reader.count)
      case .outOfMemory: throw .outOfSpace("no memory to decompress")
      case .malformed, .tooMuch: throw malformed("the file \(error)")
      }
    }
  }

  // MARK: - Parser

  private var fedBytes = 0

  private func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool = false) throws(OSMError) {
    let status = XML_Parse(
      parser, bytes.assumingMemoryBound(to: CChar.self).baseAddress, Int32(bytes.count), isLast ? 1 : 0)
    if let failure { throw failure }
    guard status == XML_STATUS_OK else {
      let code = XML_GetErrorCode(parser)
      if isLast, depth > 0 || code == XML_ERROR_NO_ELEMENTS { throw .truncated(offset: position) }
      throw malformed(XML_ErrorString(code).map { String(cString: $0) } ?? "the XML is invalid")
    }
    fedBytes += bytes.count
    guard fedBytes - position <= XMLBlocks.maximumTagBytes else {
      throw .tooLarge("the XML tag", bytes: fedBytes - position, limit: XMLBlocks.maximumTagBytes, offset: position)
    }
  }

  /// The position in the decompressed text.
  private var position: Int { max(0, Int(XML_GetCurrentByteIndex(parser))) }

  private func malformed(_ detail: String) -> OSMError {
    .malformed(offset: position, "\(detail) (line \(XML_GetCurrentLineNumber(parser)))")
  }

  private func fail(_ error: OSMError) {
    guard failure == nil else { return }
    failure = error
    XML_StopParser(parser, 0)
  }

  private func start(_ name: UnsafePointer<CChar>, _ attributes: Attributes) {
    guard failure == nil else { return }
    depth += 1
    do throws(OSMError) {
      guard depth <= XMLBlocks.maximumDepth else { throw malformed("elements are nested too deeply") }
      if depth == 1 {
        let expected = isChangeFile ? "osmChange" : "osm"
        guard matches(name, expected) else {
          throw malformed("the root element is '\(String(cString: name).prefix(40))', expected '\(expected)'")
        }
      } else if object == nil {
        try startObject(name, attributes)
      } else {
        try startPart(name, attributes)
      }
    } catch {
      fail(error)
    }
  }

  private func startObject(_ name: UnsafePointer<CChar>, _ attributes: Attributes) throws(OSMError) {
    if isChangeFile, depth == 2 {
      action = OSMChange.Action(rawValue: String(cString: name))
      return
    }
    guard depth == (isChangeFile ? 3 : 2), !isChangeFile || action != nil,
      let kind = OSMKind.allCases.first(where: { matches(name, $0.rawValue) })
    else { return }
    // Of a file that an editor wrote, objects that it has deleted, or that were.
    if !isChangeFile,
      attributes["action"].map({ matches($0, "delete") }) == true
        || attributes["visible"].map({ matches($0, "false") }) == true
    {
      return
    }
    objectDepth = depth
    objectBytes = 0
    var draft = ObjectDraft(kind: kind, id: try id(attributes["id"], kind))
    draft.version = attributes["version"].flatMap { Int32(String(cString: $0)) }
    if kind == .node { draft.position = try position(draft.id, attributes) }
    object = draft
  }

  private var objectDepth = 0

  private func startPart(_ name: UnsafePointer<CChar>, _ attributes: Attributes) throws(OSMError) {
    guard var draft = object.take(), depth == objectDepth + 1 else { return }
    defer { object = draft }
    objectBytes += 8
    if matches(name, "tag") {
      guard let key = attributes["k"], let value = attributes["v"] else {
        throw malformed("a tag has no key or no value")
      }
      let tag = OSMTag(String(cString: key), String(cString: value))
      objectBytes += tag.key.utf8.count + tag.value.utf8.count
      draft.tags.append(tag)
    } else if draft.kind == .way, matches(name, "nd") {
      draft.refs.append(try id(attributes["ref"], .node))
    } else if draft.kind == .relation, matches(name, "member") {
      let kind = attributes["type"].flatMap { OSMKind(rawValue: String(cString: $0)) }
      guard let kind else { throw malformed("a member has no type that is node, way or relation") }
      let role = attributes["role"].map { String(cString: $0) } ?? ""
      objectBytes += role.utf8.count
      draft.members.append(ObjectDraft.Member(kind: kind, id: try id(attributes["ref"], kind), role: role))
    }
    guard objectBytes <= XMLBlocks.maximumObjectBytes else {
      throw .tooLarge(
        "\(draft.kind) \(draft.id)", bytes: objectBytes, limit: XMLBlocks.maximumObjectBytes, offset: position)
    }
  }

  private func end() {
    guard failure == nil else { return }
    defer { depth -= 1 }
    guard depth == objectDepth, let draft = object.take() else { return }
    do throws(OSMError) {
      if draft.kind != writerKind || action != writerAction || writer.isFull { try flush() }
      if writer.count == 0 { (writerKind, writerAction, writerLabel) = (draft.kind, action, position) }
      writer.append(draft)
    } catch {
      fail(error)
    }
  }

  private func flush() throws(OSMError) {
    guard writer.count > 0 else { return }
    let bytes = writer.finish()
    try temporary.write(bytes, at: temporaryBytes)
    entries.append(
      BlockEntry(
        offset: temporaryBytes, count: bytes.count, kinds: ObjectKinds(writerKind), action: writerAction,
        label: writerLabel))
    temporaryBytes += bytes.count
  }

  // MARK: - Values

  private func matches(_ name: UnsafePointer<CChar>, _ expected: String) -> Bool { strcmp(name, expected) == 0 }

  private func id(_ text: UnsafePointer<CChar>?, _ kind: OSMKind) throws(OSMError) -> Int64 {
    guard let text else { throw malformed("a \(kind) or a reference to one has no id") }
    guard let id = Int64(String(cString: text)) else {
      throw .idOutOfRange(kind, "'\(String(cString: text).prefix(40))'")
    }
    return id
  }

  /// Returns the position of a node. Only a deleted one may have none.
  private func position(_ id: Int64, _ attributes: Attributes) throws(OSMError) -> FixedPosition? {
    let texts = (attributes["lat"], attributes["lon"])
    if action == .delete { return nil }
    guard let latitude = texts.0, let longitude = texts.1 else {
      throw .invalidCoordinate(.node, id, "lat or lon is missing")
    }
    return FixedPosition(
      latitude: try fixed(latitude, limit: 90, id, "lat"), longitude: try fixed(longitude, limit: 180, id, "lon"))
  }

  private func fixed(_ text: UnsafePointer<CChar>, limit: Double, _ id: Int64, _ name: String) throws(OSMError) -> Int32
  {
    var end: UnsafeMutablePointer<CChar>?
    let value = strtod(text, &end)
    guard let end, end.pointee == 0, UnsafePointer(end) != text, abs(value) <= limit else {
      throw .invalidCoordinate(
        .node, id,
        "\(name) must be a number from -\(Int(limit)) to \(Int(limit)), got '\(String(cString: text).prefix(40))'")
    }
    return Int32((value * PlanePoint.unitsPerDegree).rounded())
  }
}

/// The attributes of an element, as the parser has them.
private struct Attributes {
  private let pairs: UnsafeMutablePointer<UnsafePointer<CChar>?>

  init(_ pairs: UnsafeMutablePointer<UnsafePointer<CChar>?>) { self.pairs = pairs }

  subscript(name: String) -> UnsafePointer<CChar>? {
    var index = 0
    while let key = pairs[index] {
      if strcmp(key, name) == 0 { return pairs[index + 1] }
      index += 2
    }
    return nil
  }
}
