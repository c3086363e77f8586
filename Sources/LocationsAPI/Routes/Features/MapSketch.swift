import Geo
import Points

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

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
