import Geo
import HTTPServer
import JSONText
import NIOHTTP1
import PlaceFormats
import Points

/// `PATCH /locations/{id}`: changes some of a place's fields by a JSON merge patch (RFC 7396).
struct ChangeRoute {
  let editor: PlaceEditor
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest, id text: String) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let id = try PointID(pathText: text)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let patch = PlacePatch(try await PlaceBody.readPatch(request))

    let point: PointOfInterest
    do {
      point = try await editor.update(id: id, if: condition) { point throws(Problem) in try patch.applied(to: point) }
    } catch {
      switch error {
      case .write(let error): throw request.problem(for: error)
      case .change(let problem): throw problem
      case .contended:
        throw Problem(
          .conflict, code: "conflict", detail: "the place is being changed by many at once",
          headers: ["retry-after": "1"])
      }
    }

    return HTTPResponse(written: point, createdAt: nil, presentation)
  }
}

/// A merge patch to the fields of a place.
struct PlacePatch {
  private let patch: JSONValue

  /// Takes a patch; `lon` and `lng` are the longitude in it, as they are in a place.
  init(_ patch: JSONValue) {
    guard case .object(let members) = patch else {
      self.patch = patch
      return
    }
    self.patch = .object(
      members.map { $0.name == "lon" || $0.name == "lng" ? .init(name: "long", value: $0.value) : $0 })
  }

  /// What the patch makes of a place.
  ///
  /// - Throws: `Problem` 422 `invalid-place` with every rule that the outcome breaks.
  func applied(to point: PointOfInterest) throws(Problem) -> Place {
    var text: [UInt8] = []
    Self.fields(of: point).merging(patch).append(to: &text)
    let document = try PlaceBody.document(text)
    try document.checkID(is: point.id)
    return document.place
  }

  private static func fields(of point: PointOfInterest) -> JSONValue {
    func number(_ value: Double) -> JSONValue {
      var text: [UInt8] = []
      DecimalText.append(value, to: &text)
      return .number(String(decoding: text, as: UTF8.self))
    }
    let place = point.place
    var members: [JSONValue.Member] = [
      .init(name: "id", value: .string(point.id.description)),
      .init(name: "name", value: .string(place.name)),
      .init(name: "lat", value: number(place.coordinate.latitude)),
      .init(name: "long", value: number(place.coordinate.longitude)),
      .init(name: "tags", value: .object(place.tags.pairs.map { .init(name: $0.key, value: .string($0.value)) })),
    ]
    if let category = place.category { members.append(.init(name: "category", value: .string(category))) }
    if let origin = place.origin {
      members.append(.init(name: "source", value: .string(origin.source)))
      members.append(.init(name: "sourceId", value: .string(origin.sourceID)))
    }
    return .object(members)
  }
}
