import HTTPServer
import NIOCore
import NIOHTTP1
import Points

extension HTTPResponse {
  /// Creates a response of a page of places; what it varies by is left to be said.
  ///
  /// - Parameter next: the target of the next page, for formats that carry it.
  init(_ points: [FoundPoint], fields: FieldSet, format: ResponseFormat, next: String?) {
    var buffer = ByteBuffer()
    switch format {
    case .json: PlaceJSON.writeArray(of: points, fields: fields, to: &buffer)
    case .geoJSON: PlaceGeoJSON.writeCollection(of: points, fields: fields, next: next, to: &buffer)
    case .geoJSONSequence: PlaceGeoJSON.writeSequence(of: points, fields: fields, to: &buffer)
    case .csv: PlaceCSV.write(points, fields: fields, to: &buffer)
    }
    self.init(contentType: format.contentType, bytes: buffer)
  }

  /// An answer of summaries, as JSON; what it differs by is left to be said.
  init(_ summaries: any PointSummaries, fields: FieldSet) {
    var buffer = ByteBuffer()
    PlaceJSON.writeArray(of: summaries, fields: fields, to: &buffer)
    self.init(contentType: ResponseFormat.json.contentType, bytes: buffer)
  }

  /// An answer of one place; what it differs by is left to be said.
  init(_ point: FoundPoint, fields: FieldSet, format: ResponseFormat) {
    var buffer = ByteBuffer()
    switch format {
    case .json: PlaceJSON.writeObject(of: point, fields: fields, to: &buffer)
    case .geoJSON: PlaceGeoJSON.writeFeature(of: point, fields: fields, to: &buffer)
    case .geoJSONSequence: PlaceGeoJSON.writeSequence(of: [point], fields: fields, to: &buffer)
    case .csv: PlaceCSV.write([point], fields: fields, to: &buffer)
    }
    self.init(contentType: format.contentType, bytes: buffer)
  }
}
