import Basics
import CQL2
import HTTPServer
import JSONText
import LocationsAPI
import ManagementAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// A feature in the form of places, or the changes to one.
struct ConvertedFeature {
  let value: JSONValue

  /// The declared tags that were properties of their own, and are in `tags` now.
  var ownTags: Set<ExactText> = []

  /// Returns violations with the pointers of the feature as it was sent.
  func restoring(_ invalid: InvalidPoint) -> InvalidPoint {
    let pointers = Dictionary(
      uniqueKeysWithValues: ownTags.map { tag in
        let name = JSONPointer.escape(tag.text)
        return (ExactText("/properties/tags/" + name), "/properties/" + name)
      })
    return InvalidPoint(
      invalid.violations.map { .init(pointer: pointers[ExactText($0.pointer)] ?? $0.pointer, detail: $0.detail) })
  }
}

/// The feature, or the changes to one, in a request's body.
///
/// Features are as responses have them: declared tags are properties of their own, and the position is in the system
/// that `Content-Crs` names. They are brought to the form of places in GeoJSON, which ``PointDocument`` validates.
enum FeatureBody {
  /// The media types of a feature, for `Accept-Post`.
  private static let mediaTypes = "application/geo+json, application/json"

  /// The media types of a patch, for `Accept-Patch`.
  private static let patchMediaTypes = "application/merge-patch+json, application/geo+json, application/json"

  /// Reads a feature, and returns it in the form of places with the bytes of the body. A body without a media type is
  /// read as one, as some programs send none.
  ///
  /// - Throws: `Problem` 400, 415, or that of a body that did not arrive.
  static func read(
    _ request: HTTPRequest, _ properties: FeatureProperties
  ) async throws(Problem) -> (feature: ConvertedFeature, bytes: ByteBuffer) {
    switch request.mediaType {
    case nil, "application/geo+json", "application/json": break
    default: throw .unsupportedMediaType(request, accepted: mediaTypes, header: "accept-post")
    }
    return try await feature(of: request, properties)
  }

  /// Reads a merge patch of a feature, and returns it in the form of places.
  ///
  /// - Throws: `Problem` 400, 415, or that of a body that did not arrive.
  static func readPatch(
    _ request: HTTPRequest, _ properties: FeatureProperties
  ) async throws(Problem) -> ConvertedFeature {
    switch request.mediaType {
    case nil, "application/merge-patch+json", "application/geo+json", "application/json": break
    default: throw .unsupportedMediaType(request, accepted: patchMediaTypes, header: "accept-patch")
    }
    return try await feature(of: request, properties).feature
  }

  private static func feature(
    of request: HTTPRequest, _ properties: FeatureProperties
  ) async throws(Problem) -> (feature: ConvertedFeature, bytes: ByteBuffer) {
    let system = try system(of: request.headers)
    let bytes = try await PointBody.collect(request)
    guard bytes.readableBytes > PointBody.shortBytes else {
      return (try feature(of: bytes, from: system, properties), bytes)
    }
    let feature = try await request.computing { () throws(Problem) in
      try Self.feature(of: bytes, from: system, properties)
    }
    return (feature, bytes)
  }

  private static func feature(
    of bytes: ByteBuffer, from system: ReferenceSystem, _ properties: FeatureProperties
  ) throws(Problem) -> ConvertedFeature {
    do {
      let value = try JSONReader.value(of: bytes.readableBytesView)
      return converted(value, from: system, properties)
    } catch {
      throw .malformedBody(error)
    }
  }

  /// Returns the reference system of `Content-Crs`; CRS84 without it.
  private static func system(of headers: RequestFields) throws(Problem) -> ReferenceSystem {
    guard let value = headers.first(name: "content-crs") else { return .crs84 }
    guard let system = ReferenceSystem(fieldValue: value) else {
      let names = ReferenceSystem.allCases.map(\.fieldValue).joined(separator: ", ")
      throw .invalidParameter("Content-Crs", "must be one of \(names), got '\(value.prefix(100))'")
    }
    return system
  }

  /// Returns the feature of a place, in the form of places.
  static func feature(of point: PointOfInterest) throws(Problem) -> JSONValue {
    var text: [UInt8] = []
    PointGeoJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: .all, to: &text)
    do {
      return try JSONReader.value(of: text)
    } catch {
      throw .internal
    }
  }

  /// Returns the draft of a feature in the form of places.
  ///
  /// - Parameter id: the id of the path, which the feature must not contradict; `nil` where its own is ignored.
  /// - Throws: `Problem` 400 or 422.
  static func draft(
    of feature: ConvertedFeature, id: PointID?, in collection: PointCollection
  ) throws(Problem) -> PointDraft {
    let document: PointDocument
    do {
      document = try PointDocument(feature.value.text, form: .feature)
    } catch .invalid(let invalid) {
      throw Problem(feature.restoring(invalid))
    } catch {
      throw Problem(error)
    }
    if let id { try id.check(document.id, isForeign: document.hasForeignID) }
    guard collection.contains(category: document.draft.category) else {
      let names = collection.categories.joined(separator: ", ")
      throw Problem(
        InvalidPoint([
          .init(pointer: "/properties/category", detail: "must be one of those of the collection, \(names)")
        ]))
    }
    return document.draft
  }

  // MARK: Form

  /// Returns a feature in the form of places. What is no feature stays as it is, and is rejected later.
  private static func converted(
    _ value: JSONValue, from system: ReferenceSystem, _ properties: FeatureProperties
  ) -> ConvertedFeature {
    guard case .object(let members) = value else { return ConvertedFeature(value: value) }
    var ownTags: Set<ExactText> = []
    let converted = members.compactMap { member -> JSONValue.Member? in
      switch member.name {
      case "properties": .init(name: member.name, value: withTags(member.value, properties, own: &ownTags))
      case "geometry": .init(name: member.name, value: inDegrees(member.value, from: system))
      case "links": nil
      default: member
      }
    }
    return ConvertedFeature(value: .object(converted), ownTags: ownTags)
  }

  /// Returns properties with the declared tags as members of `tags`, which may be text that is JSON, as GDAL and QGIS
  /// have objects.
  ///
  /// - Parameter ownTags: set to the declared tags that are properties.
  private static func withTags(
    _ value: JSONValue, _ properties: FeatureProperties, own ownTags: inout Set<ExactText>
  ) -> JSONValue {
    guard case .object(let members) = value else { return value }
    var rest: [JSONValue.Member] = []
    var own: [JSONValue.Member] = []
    var tags: JSONValue?
    for member in members {
      if member.name == "tags" {
        tags = member.value
        if case .string(let text) = member.value { tags = text.isEmpty ? .null : try? JSONReader.value(of: text.utf8) }
        if tags == nil { tags = member.value }
      } else if let property = properties.tags.first(where: { $0.name.hasSameBytes(as: member.name) }) {
        own.append(.init(name: property.tag ?? property.name, value: text(of: member.value)))
      } else {
        rest.append(member)
      }
    }
    guard !own.isEmpty || tags != nil else { return value }
    ownTags = Set(own.map { ExactText($0.name) })
    switch tags {
    case .object(let members)?:
      // A property of its own takes precedence over a tag of the name.
      tags = .object(members.filter { !ownTags.contains(ExactText($0.name)) } + own)
    case nil, .null?: tags = own.isEmpty ? .null : .object(own)
    default: break
    }
    return .object(rest + [.init(name: "tags", value: tags ?? .null)])
  }

  /// Returns the text of a declared tag: the elements of a list with semicolons between.
  private static func text(of value: JSONValue) -> JSONValue {
    guard case .array(let elements) = value else { return value }
    let texts = elements.compactMap { element -> String? in
      if case .string(let text) = element { text } else { nil }
    }
    return texts.count == elements.count ? .string(texts.joined(separator: ";")) : value
  }

  private static func inDegrees(_ geometry: JSONValue, from system: ReferenceSystem) -> JSONValue {
    guard system != .crs84, case .object(let members) = geometry else { return geometry }
    return .object(
      members.map { member in
        guard member.name == "coordinates", case .array(let numbers) = member.value, numbers.count >= 2,
          case .number(let first) = numbers[0], case .number(let second) = numbers[1],
          let first = Double(first), let second = Double(second)
        else { return member }
        let degrees = system.degrees(first: first, second: second)
        var json = JSONWriter()
        json.beginArray()
        json.write(number: degrees.longitude)
        json.write(number: degrees.latitude)
        json.endArray()
        guard let position = try? JSONReader.value(of: json.sink) else { return member }
        return .init(name: member.name, value: position)
      })
  }
}
