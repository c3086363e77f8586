import APIDescription
import AccessControl
import Basics
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `POST /locations/batch`: creates, replaces, changes and deletes several places in one transaction.
struct BatchRoute: CallHandler {
  static let call = Call(
    .POST, "/locations/batch", scope: .write, joinsRestriction: true, id: "changeLocations", group: .write,
    summary: "Create, replace, change and delete several places",
    description:
      "Up to \(PointBatch.maximumOperations) operations, in one transaction, which read and rewrite at most"
      + " \(PointBatch.maximumBytes >> 20) MiB of places. Each sees the effects of those before it, and has the result that"
      + " a call of its own would have. With `atomic=true` nothing is changed if one fails, and the response is the"
      + " problem of the first.",
    parameters: [.atomic],
    body: BodyDescription(
      description: "The operations, in their order.",
      media: [.init(.json, .batch, example: .batch)]),
    responses: [.init(200, "The result of each operation.", media: .json(.batchResults))],
    problems: [.notFound, .init(412, .versionMismatch), .init(428, .ifMatchRequired)])

  let service: PointsService
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let isAtomic = values.flag(.atomic)
    try values.check()
    guard request.mediaType == "application/json" else {
      throw .unsupportedMediaType(request, accepted: "application/json", header: "accept-post")
    }
    let bytes = try await PointBody.collect(request)
    let parsed =
      bytes.readableBytes > PointBody.shortBytes
      ? try await request.computing { () throws(Problem) in try parse(bytes) } : try parse(bytes)
    let operations = parsed.map(\.operation)
    var batch = PointBatch(operations, isAtomic: isAtomic)
    batch.client = IdempotencyKey.client(of: request)
    batch.key = try IdempotencyKey.read(request, of: request.principal, body: bytes, variant: isAtomic ? "atomic" : nil)
    if isAtomic {
      for (index, (operation, content)) in parsed.enumerated() {
        if case .rejected(let rejection) = operation { throw Problem(rejection).ofOperation(index, content: content) }
      }
    }
    let results = try await request.writeResult(of: await service.apply(batch))
    if isAtomic, let problem = results.last?.problem {
      throw problem.ofOperation(results.count - 1, content: parsed[results.count - 1].content)
    }
    // Writing the problems of a thousand operations is work enough to hold up the other connections of this one's event
    // loop. The changes are made: unlike computing, this is never refused.
    let json = await withTaskExecutorPreference(request.transferExecutor) { Self.json(of: results, operations) }
    return HTTPResponse(json)
  }

  /// Parses the operations of a body.
  ///
  /// - Returns: the operations, each with the name of the member that has its place or patch.
  /// - Throws: `Problem` 400.
  private func parse(_ bytes: ByteBuffer) throws(Problem) -> [(operation: PointOperation, content: String)] {
    try bytes.readableBytesView.withContiguousBytes { bytes throws(Problem) in
      var parser = BatchParser(bytes)
      return try parser.operations().map { ($0.operation(requiresIfMatch: requiresIfMatch), $0.kind.content) }
    }
  }

  private static func json(of results: [PointOperationResult], _ operations: [PointOperation]) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    json.write(name: "results")
    json.writeArray(of: zip(results, operations)) { element, json in
      let (result, operation) = element
      switch result {
      case .created(let id, let version), .changed(let id, let version):
        var status = 200
        if case .created = result { status = 201 }
        json.write(member: "status", status)
        json.write(member: "id", id.description)
        json.write(member: "version", Int(version))
        json.write(member: "etag", EntityTag.of(version: version, format: .json))
      case .deleted(let id):
        json.write(member: "status", 204)
        json.write(member: "id", id.description)
      case .originTaken, .notFound, .conditionFailed, .forbidden, .rejected:
        guard let problem = result.problem else { return }
        json.write(member: "status", Int(problem.status.code))
        if let id = operation.id { json.write(member: "id", id.description) }
        json.write(name: "problem")
        json.write(json: String(buffer: problem.json(typePrefix: Problem.serviceTypePrefix)))
      }
    }
    json.endObject()
    return json
  }
}

extension Parameter {
  static let atomic = Parameter("atomic", .flag) {
    .init(
      "`true` changes nothing if an operation fails; otherwise each succeeds or fails by itself.",
      Schema(.boolean, nil, ["default": false]))
  }
}

extension PointOperationResult {
  /// The problem that a call of its own would have had; `nil` if the operation succeeded.
  fileprivate var problem: Problem? {
    if case .rejected(let rejection) = self { return Problem(rejection) }
    return error.map { Problem($0) }
  }
}

extension RejectedOperation {
  fileprivate init(_ problem: Problem) {
    let brief = Problem(
      problem.status, code: problem.code, title: problem.title,
      detail: "the response to the first request with this Idempotency-Key had the details")
    self.init(
      text: String(buffer: problem.json(typePrefix: Problem.serviceTypePrefix)),
      brief: String(buffer: brief.json(typePrefix: Problem.serviceTypePrefix)))
  }
}

extension Problem {
  /// Creates the problem that an operation was rejected with.
  fileprivate init(_ rejection: RejectedOperation) {
    self = .internal
    guard let value = try? JSONReader.value(of: rejection.text.utf8), case .number(let status)? = value["status"],
      let status = Int(status), case .string(let code)? = value["code"], case .string(let title)? = value["title"]
    else { return }
    var detail: String?
    if case .string(let text)? = value["detail"] { detail = text }
    var errors: [ProblemError] = []
    if case .array(let elements)? = value["errors"] {
      for element in elements {
        guard case .string(let text)? = element["detail"] else { continue }
        if case .string(let pointer)? = element["pointer"] { errors.append(.init(.pointer(pointer), text)) }
        if case .string(let name)? = element["parameter"] { errors.append(.init(.parameter(name), text)) }
      }
    }
    self.init(
      HTTPResponseStatus(statusCode: status), code: code, title: title, detail: detail, errors: errors)
  }

  /// Returns the problem of an atomic batch because of this one of an operation.
  ///
  /// - Parameter content: the name of the member that has the place or the patch.
  fileprivate func ofOperation(_ index: Int, content: String) -> Problem {
    Problem(
      status, code: code, title: title, detail: "operation \(index): \(detail ?? title); nothing was changed",
      errors: errors.map { error in
        let pointer =
          switch error.location {
          case .pointer(let pointer): "/\(content)\(pointer)"
          case .parameter("If-Match"): "/ifMatch"
          case .parameter("If-None-Match"): "/ifNoneMatch"
          case .parameter(let name): "/\(name)"
          case .row: ""
          }
        return ProblemError(.pointer("/operations/\(index)\(pointer)"), error.detail)
      })
  }
}

/// An operation as it stands in a body, whose members are those that its kind has.
private struct ParsedOperation {
  enum Kind: String, CaseIterable {
    case create, replace, patch, delete

    /// The name of the member that has the place or the patch.
    var content: String { self == .patch ? "patch" : "place" }
  }

  let kind: Kind
  let id: String?
  let headers: RequestFields
  /// The JSON of the place or the patch.
  let content: UnsafeBufferPointer<UInt8>?

  /// Returns the operation, rejected with the problem that a call of its own would have.
  func operation(requiresIfMatch: Bool) -> PointOperation {
    do throws(Problem) {
      return try validated(requiresIfMatch: requiresIfMatch)
    } catch {
      return .rejected(RejectedOperation(error))
    }
  }

  private func validated(requiresIfMatch: Bool) throws(Problem) -> PointOperation {
    if kind == .create { return .create(try document().draft) }
    guard let id = PointID(id ?? "") else {
      throw .invalidParameter("id", "must be a UUID, got '\((self.id ?? "").prefix(50))'")
    }
    let condition = try Preconditions.read(headers, isRequired: requiresIfMatch)
    switch kind {
    case .create, .delete: return .delete(id: id, if: condition)
    case .replace:
      let document = try document()
      try id.check(document.id, isForeign: document.hasForeignID)
      return .put(document.draft, id: id, if: condition)
    case .patch:
      let patch = PointPatch(
        try Problem.reporting(json: JSONReader.value(of: content ?? .init(start: nil, count: 0))))
      return .update(id: id, if: condition, growth: content?.count ?? 0) { point throws(RejectedOperation) in
        do throws(Problem) {
          return try ChangeRoute.draft(of: point, changedBy: patch)
        } catch {
          throw RejectedOperation(error)
        }
      }
    }
  }

  private func document() throws(Problem) -> PointDocument {
    try Problem.reporting(document: PointDocument(content ?? .init(start: nil, count: 0)))
  }
}

/// A parser of the body of a batch. It validates which members the body and its operations have; the places and patches
/// in it are those of single calls.
private struct BatchParser {
  /// The maximum of arrays and objects around a place or a patch.
  private static let depth = 3

  private var reader: JSONReader
  private var violations = Violations()

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    reader = JSONReader(bytes, maximumDepth: JSONReader.defaultMaximumDepth + Self.depth)
  }

  /// Returns the operations.
  ///
  /// - Throws: `Problem` 400 with every violation.
  mutating func operations() throws(Problem) -> [ParsedOperation] {
    let operations: [ParsedOperation]?
    do throws(JSONError) {
      operations = try parse()
    } catch {
      throw .malformedBody(error)
    }
    if violations.isEmpty, operations == nil { note(.missing, "/operations", "must be given") }
    try violations.check()
    return operations ?? []
  }

  private mutating func note(_ kind: ParameterProblem, _ pointer: String, _ detail: String) {
    violations.note(kind, ProblemError(.pointer(pointer), detail))
  }

  private mutating func parse() throws(JSONError) -> [ParsedOperation]? {
    var operations: [ParsedOperation]?
    guard try reader.nextKind() == .object else {
      try reader.skipValue()
      try reader.finish()
      return nil
    }
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      if !name.isEqual(to: "operations") {
        let name = try reader.string(of: name)
        note(.unknown, "/\(JSONPointer.escape(String(name.prefix(100))))", "is not a member of a batch")
        try reader.skipValue()
      } else if try reader.nextKind() == .array {
        operations = try parseOperations()
      } else {
        note(.invalid, "/operations", "must be an array")
        try reader.skipValue()
      }
    }
    try reader.finish()
    return operations
  }

  private mutating func parseOperations() throws(JSONError) -> [ParsedOperation] {
    var operations: [ParsedOperation] = []
    var count = 0
    try reader.enterArray()
    while try reader.nextElement() {
      count += 1
      if count > PointBatch.maximumOperations {
        try reader.skipValue()
      } else if try reader.nextKind() == .object {
        if let operation = try parseOperation(at: "/operations/\(count - 1)") { operations.append(operation) }
      } else {
        note(.invalid, "/operations/\(count - 1)", "must be an object")
        try reader.skipValue()
      }
    }
    if count > PointBatch.maximumOperations {
      // This counts instead of violations in the operations.
      violations = Violations()
      note(.invalid, "/operations", "must have at most \(PointBatch.maximumOperations) operations, got \(count)")
    }
    return operations
  }

  /// The members of an operation.
  private enum Member: String, CaseIterable {
    case op, id, ifMatch, ifNoneMatch, place, patch
  }

  private mutating func parseOperation(at pointer: String) throws(JSONError) -> ParsedOperation? {
    let errorCount = violations.errors.count
    var texts: [Member: String] = [:]
    var contents: [Member: UnsafeBufferPointer<UInt8>] = [:]
    try reader.enterObject()
    var names = JSONReader.MemberNames()
    while let name = try reader.nextMember(&names) {
      let name = try reader.string(of: name)
      let (member, kind) = (Member(rawValue: name), try reader.nextKind())
      switch (member, kind) {
      case (nil, _):
        note(
          .unknown, "\(pointer)/\(JSONPointer.escape(String(name.prefix(100))))", "is not a member of an operation")
        try reader.skipValue()
      case (.place?, _): contents[.place] = try reader.skipValue()
      case (.patch?, _): contents[.patch] = try reader.skipValue()
      case (let member?, .string): texts[member] = try reader.string(of: try reader.readString())
      case (.ifMatch?, .number): texts[.ifMatch] = String(decoding: try reader.readNumber(), as: UTF8.self)
      case (let member?, _):
        note(.invalid, "\(pointer)/\(member.rawValue)", "must be a string")
        texts[member] = ""
        try reader.skipValue()
      }
    }
    guard violations.errors.count == errorCount else { return nil }
    guard let op = texts[.op] else {
      note(.missing, "\(pointer)/op", "must be given")
      return nil
    }
    guard let kind = ParsedOperation.Kind(rawValue: op) else {
      let kinds = ParsedOperation.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      note(.invalid, "\(pointer)/op", "must be one of \(kinds), got '\(op.prefix(50))'")
      return nil
    }
    let (needed, allowed): (Set<Member>, Set<Member>) =
      switch kind {
      case .create: ([.place], [])
      case .replace: ([.id, .place], [.ifMatch, .ifNoneMatch])
      case .patch: ([.id, .patch], [.ifMatch, .ifNoneMatch])
      case .delete: ([.id], [.ifMatch, .ifNoneMatch])
      }
    for member in Member.allCases where member != .op {
      let isGiven = texts[member] != nil || contents[member] != nil
      if isGiven, !needed.contains(member), !allowed.contains(member) {
        note(.invalid, "\(pointer)/\(member.rawValue)", "must not be given if op is \(op)")
      } else if !isGiven, needed.contains(member) {
        note(.missing, "\(pointer)/\(member.rawValue)", "must be given if op is \(op)")
      }
    }
    guard violations.errors.count == errorCount else { return nil }
    var headers = HTTPHeaders()
    if let text = texts[.ifMatch] { headers.add(name: "if-match", value: Self.entityTags(text)) }
    if let text = texts[.ifNoneMatch] { headers.add(name: "if-none-match", value: text) }
    return ParsedOperation(
      kind: kind, id: texts[.id], headers: RequestFields(headers), content: contents[.place] ?? contents[.patch])
  }

  /// Returns the entity tags of a text: a version may stand for its tag.
  private static func entityTags(_ text: String) -> String {
    let isVersion = !text.isEmpty && text.utf8.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return isVersion ? "\"\(text)\"" : text
  }
}

extension Schema {
  /// The body of a batch.
  fileprivate static let batch = Schema(
    .object(
      [
        .required(
          "operations",
          Schema(
            .array(of: .batchOperation), nil, ["maxItems": .count(PointBatch.maximumOperations)]))
      ], others: nil)
  ).named("Batch", order: 300)

  /// An operation of a batch.
  fileprivate static let batchOperation = Schema(
    .object(
      [
        .required("op", .oneOf(ParsedOperation.Kind.allCases.map(\.rawValue))),
        .optional("id", Schema(.string, "The id of the place; not of `create`.", ["format": "uuid"])),
        .optional(
          "ifMatch",
          Schema(
            .anyOf([Schema(.string), Schema(.integer)]),
            "The version that the place must have, or a value of `If-Match`.")),
        .optional("ifNoneMatch", .oneOf(["*"])),
        .optional("place", .placeDraft),
        .optional("patch", .placePatch),
      ], others: nil),
    "`create` has a `place`, `replace` an `id` and a `place`, `patch` an `id` and a `patch` (RFC 7396), `delete` an `id`."
  ).named("BatchOperation", order: 310)

  /// The response to a batch.
  fileprivate static let batchResults = Schema(
    .object(
      [
        .required(
          "results",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("status", Schema(.integer, "The status that a call of its own would have had.")),
                    .optional("id", uuid),
                    .optional("version", Schema(.integer, nil, ["minimum": 1])),
                    .optional("etag", Schema(.string, "The entity tag of the place, for `If-Match`.")),
                    .optional("problem", .problem),
                  ], others: nil))),
            "In the order of the operations."))
      ], others: nil)
  ).named("BatchResults", order: 320)
}

extension JSONValue {
  fileprivate static let batch: JSONValue = [
    "operations": [
      ["op": "create", "place": Examples.draft],
      ["op": "patch", "id": .string(Examples.id), "ifMatch": "3", "patch": ["name": "New Café"]],
      ["op": "delete", "id": "0199a1c2-7b3f-7c44-8a11-2f6d5e9b0c22"],
    ]
  ]
}
