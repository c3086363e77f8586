import Basics
import HTTPServer
package import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
package import Points

extension HTTPResponse {
  /// Creates a response of a page of places. The caller adds the `Vary` header.
  ///
  /// - Parameter links: the links of the collection, for formats that have them.
  init(_ points: [FoundPoint], fields: FieldSet, format: PointFormat, links: [PointGeoJSON.Link] = []) {
    var buffer = ByteBuffer()
    switch format {
    case .json: PointJSON.appendArray(of: points, fields: fields, to: &buffer)
    case .geoJSON: PointGeoJSON.appendCollection(of: points, fields: fields, links: links, to: &buffer)
    case .geoJSONSequence: for point in points { PointGeoJSON.appendRecord(point, fields: fields, to: &buffer) }
    case .ndjson:
      for point in points {
        PointJSON.append(point, fields: fields, to: &buffer)
        buffer.write("\n")
      }
    case .csv:
      var text: [UInt8] = []
      PointCSV.append(points, fields: fields, to: &text)
      buffer.writeBytes(text)
    }
    self.init(contentType: format.mediaType, bytes: buffer)
  }

  /// Creates a response of borrowed places, as JSON. The caller adds the `Vary` header.
  ///
  /// - Parameter link: the value of `Link`; `nil` for none.
  init(_ points: any PagePoints, fields: FieldSet, link: String?) {
    var buffer = ByteBuffer()
    PointJSON.appendArray(of: points, fields: fields, to: &buffer)
    self.init(contentType: PointFormat.json.mediaType, link: link, bytes: buffer)
  }

  /// Creates a response of one place. The caller adds the `Vary` header.
  package init(_ point: PointOfInterest, _ presentation: PresentationArguments) {
    self.init(FoundPoint(point: point, distanceMetres: nil), presentation)
  }

  /// Creates a response of one place. The caller adds the `Vary` header.
  init(_ found: FoundPoint, _ presentation: PresentationArguments) {
    self.init(found, fields: presentation.fields, format: presentation.format)
  }

  /// Creates a response of one place. The caller adds the `Vary` header.
  init(_ found: FoundPoint, fields: FieldSet, format: PointFormat) {
    var buffer = ByteBuffer()
    switch format {
    case .json: PointJSON.append(found, fields: fields, to: &buffer)
    case .geoJSON: PointGeoJSON.append(found, fields: fields, to: &buffer)
    case .geoJSONSequence, .ndjson, .csv:
      self.init([found], fields: fields, format: format)
      return
    }
    self.init(contentType: format.mediaType, bytes: buffer)
  }

  package init(_ json: JSONWriter<[UInt8]>) {
    self.init(contentType: PointFormat.json.mediaType, bytes: json.sink)
  }
}

extension JSONWriter<[UInt8]> {
  /// Returns an object, whose members a closure writes.
  package static func object(_ writeMembers: (inout JSONWriter) -> Void) -> JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    writeMembers(&json)
    json.endObject()
    return json
  }
}
