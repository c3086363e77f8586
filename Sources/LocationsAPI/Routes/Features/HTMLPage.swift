import Basics
import CQL2
import Crypto
import Foundation
import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A page in HTML that loads nothing: its one style is in it, and it has no scripts.
struct HTMLPage {
  let title: String

  /// The pages above this one, with their addresses.
  var parents: [(title: String, target: String)] = []

  /// The content behind the heading.
  var body: String

  /// The alternate representation.
  var alternate: String

  private static let style = """
    :root{color-scheme:light dark;--text:#222;--ground:#fff;--link:#0645ad;--visited:#6b3fa0;--line:#ddd;--edge:#ccc;\
    --map:#f4f8fb;--grid:#c5d3de;--label:#5a6b7b;--place:#c0392b}\
    @media(prefers-color-scheme:dark){:root{--text:#e4e9ef;--ground:#151a20;--link:#82bcf5;--visited:#c9a7f5;\
    --line:#333d48;--edge:#4a5663;--map:#1e252d;--grid:#37444f;--label:#a3aebb;--place:#ff7b6b}}\
    body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem;\
    color:var(--text);background:var(--ground)}\
    a{color:var(--link)}a:visited{color:var(--visited)}\
    nav{font-size:.9rem}table{border-collapse:collapse;width:100%}\
    th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid var(--line)}\
    th{white-space:nowrap}td{overflow-wrap:anywhere}\
    svg{width:100%;height:auto;border:1px solid var(--edge);background:var(--map)}\
    .l{stroke:var(--grid);stroke-width:1;fill:none}.t{font-size:11px;fill:var(--label)}\
    .p{fill:var(--place);fill-opacity:.8}
    """

  /// Nothing is loaded, nothing runs, and no other page has this one in a frame.
  private static let securityPolicy: String = {
    let digest = Data(SHA256.hash(data: Array(style.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none';"
      + " frame-ancestors 'none'"
  }()

  /// Returns text with the characters escaped that have a meaning in HTML, in quoted attributes too.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  static func link(_ text: String, _ target: String) -> String {
    "<a href=\"\(escape(target))\">\(escape(text))</a>"
  }

  /// Returns a list of items, which are HTML.
  static func list(_ items: [String]) -> String { "<ul>" + items.map { "<li>\($0)</li>" }.joined() + "</ul>" }

  /// Returns a table of rows of a heading and a cell, which is HTML.
  static func table(_ rows: [(String, String)]) -> String {
    "<table>" + rows.map { "<tr><th>\(escape($0))</th><td>\($1)</td></tr>" }.joined() + "</table>"
  }

  /// The text of the page.
  var text: String {
    let path = parents.map { Self.link($0.title, $0.target) }.joined(separator: " / ")
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>\(Self.escape(title))</title>
      <style>\(Self.style)</style>
      </head>
      <body>
      <nav>\(path)</nav>
      <h1>\(Self.escape(title))</h1>
      \(body)
      <p>\(Self.link("JSON", alternate))</p>
      </body>
      </html>

      """
  }

  fileprivate static func addFields(to response: inout HTTPResponse) {
    response.headers.add(name: "content-security-policy", value: securityPolicy)
    response.headers.add(name: "x-content-type-options", value: "nosniff")
    response.headers.add(name: "referrer-policy", value: "no-referrer")
  }
}

extension HTTPResponse {
  init(_ page: HTMLPage) {
    self.init(contentType: FeatureFormat.html.mediaType, bytes: Array(page.text.utf8))
    HTMLPage.addFields(to: &self)
  }
}

/// The GeoJSON of features, in a reference system.
struct FeatureText {
  let properties: FeatureProperties
  let system: ReferenceSystem

  /// Returns a FeatureCollection (OGC 17-069r4, section 7.16).
  func collection(_ page: FeaturePage) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.write("{\"type\":\"FeatureCollection\",\"features\":[")
    for index in page.points.indices { append(page.points[index], isFollowing: index > 0, to: &buffer) }
    buffer.write("]")
    var json = JSONWriter([UInt8](), continuesList: true)
    if let count = page.numberMatched { json.write(member: "numberMatched", count) }
    json.write(member: "numberReturned", page.points.count)
    json.write(name: "links")
    json.write(page.links.json)
    json.endObject()
    buffer.writeBytes(json.sink)
    return buffer
  }

  func feature(_ point: PointOfInterest, links: [PointGeoJSON.Link]) -> ByteBuffer {
    var buffer = ByteBuffer()
    append(FoundPoint(point: point, distanceMetres: nil), isFollowing: false, to: &buffer)
    reopen(&buffer, braces: 1)
    var json = JSONWriter([UInt8](), continuesList: true)
    json.write(name: "links")
    json.write(links.json)
    json.endObject()
    buffer.writeBytes(json.sink)
    return buffer
  }

  private func append(_ found: FoundPoint, isFollowing: Bool, to buffer: inout ByteBuffer) {
    guard !properties.tags.isEmpty else { return write(found, isFollowing: isFollowing, to: &buffer) }
    let (rest, members) = split(found.point)
    write(FoundPoint(point: rest, distanceMetres: nil), isFollowing: isFollowing, to: &buffer)
    guard !members.isEmpty else { return }
    // They follow the other properties, of which there always are some.
    reopen(&buffer, braces: 2)
    var json = JSONWriter([UInt8](), continuesList: true)
    for member in members {
      json.write(escapedName: member.name)
      json.write(member.value)
    }
    json.endObject()
    json.endObject()
    buffer.writeBytes(json.sink)
  }

  private func write(_ found: FoundPoint, isFollowing: Bool, to buffer: inout ByteBuffer) {
    if system == .crs84 {
      PointGeoJSON.append(found, fields: .all, isFollowing: isFollowing, to: &buffer)
    } else {
      let position = system.position(of: found.point.draft.coordinate)
      PointGeoJSON.append(
        found, fields: .all, isFollowing: isFollowing, coordinates: (position.first, position.second), to: &buffer)
    }
  }

  /// Removes the closing braces at the end.
  private func reopen(_ buffer: inout ByteBuffer, braces: Int) {
    buffer.moveWriterIndex(to: buffer.writerIndex - braces)
  }

  // MARK: Declared tags

  /// Returns the place without the tags that are properties of their own, and these.
  private func split(_ point: PointOfInterest) -> (PointOfInterest, [JSONValue.Member]) {
    var rest: [(key: String, value: String)] = []
    var members: [JSONValue.Member] = []
    for (key, value) in point.draft.tags.pairs {
      let declared = properties.tags.first { $0.tag.hasSameBytes(as: key) }
      if let declared, let json = Self.json(value, as: declared.type) {
        members.append(.init(name: declared.name, value: json))
      } else {
        rest.append((key, value))
      }
    }
    guard !members.isEmpty, let tags = try? Tags(rest) else { return (point, []) }
    let draft = PointDraft(
      storedName: point.draft.name, category: point.draft.category, coordinate: point.draft.coordinate, tags: tags,
      origin: point.draft.origin)
    let bare = PointOfInterest(
      id: point.id, draft: draft, version: point.version, createdAt: point.createdAt, updatedAt: point.updatedAt)
    return (bare, members)
  }

  /// Returns the value of a tag in JSON; `nil` where it is none of the type.
  private static func json(_ text: String, as type: FilterType) -> JSONValue? {
    switch FilterValue(text, as: type) {
    case .number(let number):
      if case .number(let text)? = try? JSONReader.value(of: text.utf8) { return .number(text) }
      var json = JSONWriter()
      json.write(number: number)
      return .number(String(decoding: json.sink, as: UTF8.self))
    case .boolean(let value): return .bool(value)
    case .string, .date, .timestamp: return .string(text)
    case .array(let elements):
      return .array(
        elements.map { element in
          if case .string(let text) = element { .string(text.text) } else { .null }
        })
    case .null, .point, nil: return nil
    }
  }
}

/// A sketch of a map: places between meridians and parallels, without anything else.
enum MapSketch {
  private static let width = 640.0

  /// The maximum number of places of a sketch.
  private static let maximumCount = 1000

  /// The least span of a sketch in degrees.
  private static let leastSpan = 0.01

  /// Returns the sketch of some places as SVG; empty where there are none. A single place is on a sketch of the earth.
  static func svg(of points: [PointOfInterest]) -> String {
    let points = points.prefix(maximumCount)
    guard !points.isEmpty else { return "" }
    let frame = points.count == 1 ? Frame(west: -180, south: -90, east: 180, north: 90) : Frame(points)
    var svg =
      "<svg viewBox=\"0 0 \(Int(width)) \(Int(frame.height))\" role=\"img\" aria-label=\"Sketch of a map\">"
    for longitude in frame.meridians {
      let x = text(frame.x(longitude))
      svg += "<path class=\"l\" d=\"M\(x) 0V\(Int(frame.height))\"/><text class=\"t\" x=\"\(x)\" y=\"11\">"
      svg += "\(degrees(longitude))</text>"
    }
    for latitude in frame.parallels {
      let y = text(frame.y(latitude))
      svg += "<path class=\"l\" d=\"M0 \(y)H\(Int(width))\"/><text class=\"t\" x=\"2\" y=\"\(y)\">"
      svg += "\(degrees(latitude))</text>"
    }
    for point in points {
      let coordinate = point.draft.coordinate
      svg += "<circle class=\"p\" cx=\"\(text(frame.x(coordinate.longitude)))\""
      svg += " cy=\"\(text(frame.y(coordinate.latitude)))\" r=\"5\"><title>\(HTMLPage.escape(point.draft.name))"
      svg += "</title></circle>"
    }
    return svg + "</svg>"
  }

  private static func text(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

  /// Returns the label of a meridian or a parallel.
  private static func degrees(_ number: Double) -> String {
    // Adding 0 makes it of a negative zero, which is written with its sign.
    let rounded = (number * 1000).rounded() / 1000 + 0
    return rounded == rounded.rounded() ? "\(Int(rounded))°" : "\(rounded)°"
  }

  /// The part of the earth that a sketch shows.
  private struct Frame {
    let west: Double
    let south: Double
    let east: Double
    let north: Double

    init(west: Double, south: Double, east: Double, north: Double) {
      self.west = west
      self.south = south
      self.east = east
      self.north = north
    }

    init(_ points: some Sequence<PointOfInterest>) {
      var (west, south, east, north) = (180.0, 90.0, -180.0, -90.0)
      for coordinate in points.map(\.draft.coordinate) {
        west = min(west, coordinate.longitude)
        east = max(east, coordinate.longitude)
        south = min(south, coordinate.latitude)
        north = max(north, coordinate.latitude)
      }
      let margin = max(east - west, north - south, MapSketch.leastSpan) / 20
      self.init(
        west: max(west - margin, -180), south: max(south - margin, -90), east: min(east + margin, 180),
        north: min(north + margin, 90))
    }

    /// The width of a degree of longitude as a part of that of a degree of latitude.
    private var aspect: Double { max(cos((south + north) / 2 * .pi / 180), 0.1) }

    var height: Double {
      min(max((north - south) / ((east - west) * aspect) * MapSketch.width, 160), MapSketch.width).rounded()
    }

    func x(_ longitude: Double) -> Double { (longitude - west) / (east - west) * MapSketch.width }

    func y(_ latitude: Double) -> Double { (north - latitude) / (north - south) * height }

    var meridians: [Double] { Self.lines(from: west, to: east) }

    var parallels: [Double] { Self.lines(from: south, to: north) }

    /// Returns four to ten round numbers in a range.
    private static func lines(from start: Double, to end: Double) -> [Double] {
      let rough = (end - start) / 6
      let power = pow(10, floor(log10(rough)))
      let step = ([1.0, 2, 5, 10].first { $0 * power >= rough } ?? 10) * power
      return Array(stride(from: ceil(start / step) * step, through: end, by: step))
    }
  }
}
