#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// A position in the square of Web Mercator (EPSG:3857), in units of 2⁻³⁴ of its side from the north-western corner:
/// those of the grid of a tile of zoom 22.
///
/// Latitudes beyond ±85.0511° are on the northern and the southern edge.
public struct MercatorPosition: Hashable, Sendable, BitwiseCopyable {
  /// The binary logarithm of the number of units of a side.
  public static let bits = 34

  /// The units from the west.
  public let x: UInt64

  /// The units from the north.
  public let y: UInt64

  /// Creates a position from its units.
  public init(x: UInt64, y: UInt64) {
    self.x = x
    self.y = y
  }

  public init(_ coordinate: Coordinate) {
    let sine = sin(coordinate.latitude * (.pi / 180))
    // Infinite at the poles.
    let y = 0.5 - log((1 + sine) / (1 - sine)) * (0.25 / .pi)
    self.init(x: Self.units((coordinate.longitude + 180) / 360), y: Self.units(y))
  }

  private static let side = Double(1 << bits)

  private static func units(_ fraction: Double) -> UInt64 {
    UInt64(min(max(fraction * side, 0), side - 1))
  }

  /// The coordinate of the middle of the unit.
  public var coordinate: Coordinate {
    Self.coordinate(x: (Double(x) + 0.5) / Self.side, y: (Double(y) + 0.5) / Self.side)
  }

  /// Returns the coordinate of a position in fractions of the side, from 0 to 1.
  public static func coordinate(x: Double, y: Double) -> Coordinate {
    let latitude = atan(sinh(.pi * (1 - 2 * y))) * (180 / .pi)
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: min(max(x * 360 - 180, -180), 180)) else {
      preconditionFailure("the position (\(x), \(y)) is outside of the square")
    }
    return coordinate
  }
}

/// The address of a map tile: of the 4ᶻ squares of a zoom level z one, counted from the north-west.
public struct TileAddress: Hashable, Sendable, BitwiseCopyable {
  /// The levels.
  public static let zooms = 0...22

  /// The zoom level.
  public let zoom: Int

  /// The column, from the west.
  public let x: Int

  /// The row, from the north.
  public let y: Int

  /// The tile of the whole map.
  public static let map = TileAddress(containing: MercatorPosition(x: 0, y: 0), zoom: 0)

  /// Creates an address; `nil` if there is no such tile.
  public init?(zoom: Int, x: Int, y: Int) {
    guard Self.zooms.contains(zoom), x >= 0, y >= 0, x < 1 << zoom, y < 1 << zoom else { return nil }
    self.zoom = zoom
    self.x = x
    self.y = y
  }

  public init(containing position: MercatorPosition, zoom: Int) {
    precondition(Self.zooms.contains(zoom))
    self.zoom = zoom
    x = Int(position.x >> (MercatorPosition.bits - zoom))
    y = Int(position.y >> (MercatorPosition.bits - zoom))
  }
}
