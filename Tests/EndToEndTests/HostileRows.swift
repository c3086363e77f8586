import Foundation
import PointFormats
import Testing

/// A text in one of the formats in which the first and the last row are valid, and those between are invalid in every
/// possible way. It begins with a byte-order mark, and its lines end with CRLF.
struct HostileRows: Sendable, CustomTestStringConvertible {
  let format: PointFormat
  let body: Data

  /// The number of valid rows.
  let good = 2

  /// The numbers of the invalid rows.
  let bad: [Int]

  var testDescription: String { format.rawValue }

  /// One text for each format.
  static let all = PointFormat.allCases.map { HostileRows($0) }

  private init(_ format: PointFormat) {
    self.format = format
    let rows =
      switch format {
      case .csv: Self.records
      case .json, .ndjson: Self.objects + [Self.polygon]
      case .geoJSON, .geoJSONSequence: Self.features + [Self.polygon]
      }
    let all = [Self.row(format, "first")] + rows + [Self.row(format, "last")]
    bad = Array(2..<all.count)
    var body = Data([0xEF, 0xBB, 0xBF])
    switch format {
    case .csv:
      body += Data("name,lat,long,category\r\n".utf8) + Data(all.joined(separator: Self.lineEnd)) + Self.lineEnd
    case .ndjson: body += Data(all.joined(separator: Self.lineEnd))
    case .geoJSONSequence: for row in all { body += [0x1E] + row + Self.lineEnd }
    case .json: body += Data("[".utf8) + Data(all.joined(separator: Data(",\r\n".utf8))) + Data("]".utf8)
    case .geoJSON:
      body += Data(#"{"type":"FeatureCollection","features":["#.utf8)
      body += Data(all.joined(separator: Data(",\r\n".utf8))) + Data("]}".utf8)
    }
    self.body = body
  }

  private static let lineEnd = Data("\r\n".utf8)

  private static func row(_ format: PointFormat, _ name: String) -> Data {
    switch format {
    case .csv: Data("\(name),1,1,cafe".utf8)
    case .json, .ndjson: object(#""name":"\#(name)""#)
    case .geoJSON, .geoJSONSequence: feature(#""name":"\#(name)""#)
    }
  }

  private static func object(_ members: String, lat: String = "1") -> Data {
    Data(#"{\#(members),"lat":\#(lat),"long":1}"#.utf8)
  }

  private static func feature(_ properties: String, lat: String = "1") -> Data {
    let geometry = #"{"type":"Point","coordinates":[1,\#(lat)]}"#
    return Data(#"{"type":"Feature","geometry":\#(geometry),"properties":{\#(properties)}}"#.utf8)
  }

  private static let polygon = Data(
    #"""
    {"type":"Feature","properties":{"name":"p"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,91],[0,0]]]}}
    """#.utf8)

  private static let long = String(repeating: "x", count: 10_000_000)

  /// Returns a row whose name is not valid UTF-8.
  private static func named(_ row: (String) -> Data) -> Data {
    Data(row(#""name":"?""#).map { $0 == UInt8(ascii: "?") ? 0xFF : $0 })
  }

  private static let objects: [Data] = [
    object(#""name":"x",,"#), object(#""category":"no name""#), object(#""name":"north""#, lat: "91"),
    object(#""name":"words""#, lat: #""north""#), object(#""name":"\#(long)""#), named { object($0) },
    object(#""name":"lone \ud800""#), object(#""name":"nested","tags":{"a":{}}"#), Data("{}".utf8), Data("[1]".utf8),
  ]

  private static let features: [Data] = [
    feature(#""name":"x",,"#), feature(#""category":"no name""#), feature(#""name":"north""#, lat: "91"),
    feature(#""name":"words""#, lat: #""north""#), feature(#""name":"\#(long)""#), named { feature($0) },
    feature(#""name":"lone \ud800""#),
    Data(#"{"type":"Feature","properties":{"name":"nowhere"}}"#.utf8),
    Data("{}".utf8), Data("[1]".utf8),
  ]

  private static let records: [Data] = [
    Data(",1,1,no name".utf8), Data("north,91,1,".utf8), Data("words,north,1,".utf8), Data("\(long),1,1,".utf8),
    Data([0xFF]) + Data(",1,1,".utf8), Data("too few,1".utf8), Data("too many,1,1,cafe,bar".utf8),
    Data("nowhere,,1,".utf8), Data(#"quote"d,1,1,"#.utf8) + Data([0x00]),
  ]
}
