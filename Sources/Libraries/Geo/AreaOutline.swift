#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// The polygons of a named area, to ``unitsPerDegree``, in about nine bytes a position.
///
/// A place is in an outline if it is in ``geodesicArea()``. That has an index of its edges and takes some 120 bytes a
/// position, so that it is made for areas that places are searched in. An outline compares a place with the edges on
/// its meridian, whose planes are computed anew.
public struct AreaOutline: Sendable {
  /// A position in units of 1e-7 degrees, about a centimetre.
  public struct Position: Hashable, Sendable, BitwiseCopyable {
    public var longitude: Int32
    public var latitude: Int32

    /// The degrees.
    public var degrees: (longitude: Double, latitude: Double) {
      (Double(longitude) / AreaOutline.unitsPerDegree, Double(latitude) / AreaOutline.unitsPerDegree)
    }

    fileprivate init(_ coordinate: Coordinate) {
      longitude = Int32((coordinate.longitude * AreaOutline.unitsPerDegree).rounded())
      latitude = Int32((coordinate.latitude * AreaOutline.unitsPerDegree).rounded())
    }

    /// Both names of the antimeridian as one.
    fileprivate var meridian: Int32 { longitude == 1_800_000_000 ? -1_800_000_000 : longitude }
  }

  /// A box between two meridians and two parallels, in units of 1e-7 degrees. Its west is not greater than its east.
  public struct Box: Hashable, Sendable, BitwiseCopyable {
    public var west: Int32
    public var south: Int32
    public var east: Int32
    public var north: Int32

    /// The box of the whole earth.
    public static let earth = Box(west: -1_800_000_000, south: -900_000_000, east: 1_800_000_000, north: 900_000_000)

    /// The box of no position.
    static let none = Box(west: .max, south: .max, east: .min, north: .min)

    public init(west: Int32, south: Int32, east: Int32, north: Int32) {
      (self.west, self.south, self.east, self.north) = (west, south, east, north)
    }

    public func intersects(_ other: Box) -> Bool {
      west <= other.east && east >= other.west && south <= other.north && north >= other.south
    }

    /// Returns the least box with both.
    public func union(_ other: Box) -> Box {
      Box(
        west: min(west, other.west), south: min(south, other.south), east: max(east, other.east),
        north: max(north, other.north))
    }

    /// The boxes of a bounding box: two where it crosses the antimeridian.
    public static func boxes(of box: BoundingBox) -> [Box] {
      func units(_ degrees: Double) -> Int32 { Int32((degrees * AreaOutline.unitsPerDegree).rounded()) }
      return box.longitudeRanges.map {
        Box(west: units($0.lowerBound), south: units(box.south), east: units($0.upperBound), north: units(box.north))
      }
    }

    /// The box that a place is in and no other position is.
    public init(_ coordinate: Coordinate) {
      let position = Position(coordinate)
      self.init(
        west: position.meridian, south: position.latitude, east: position.meridian, north: position.latitude)
    }
  }

  /// A ring, whose last position is followed by its first.
  private struct Ring: Hashable, BitwiseCopyable {
    var start: Int32
    var end: Int32
    var polygon: Int32
    /// The number of the ring's first chunk.
    var firstChunk: Int32
  }

  /// The bounds of the ends of some successive edges; all longitudes for an edge across the antimeridian.
  private struct Span: BitwiseCopyable {
    var west = Int32.max
    var east = Int32.min
    var south = Int32.max
    var north = Int32.min

    mutating func include(_ other: Span) {
      (west, east) = (min(west, other.west), max(east, other.east))
      (south, north) = (min(south, other.south), max(north, other.north))
    }
  }

  public static let unitsPerDegree = 1e7

  /// The maximum number of positions.
  public static let maximumPositions = 1_000_000

  /// The number of edges of a chunk, and of chunks of a block.
  private static let chunk = 16

  private var positions: [Position] = []
  private var rings: [Ring] = []
  private var polygonCount: Int32 = 0
  private var chunks: [Span] = []
  /// The spans of each ``chunk`` chunks; none where there are no more chunks than that.
  private var blocks: [Span] = []

  /// The area itself if an edge is long, or near a pole.
  private var exact: GeodesicArea?

  /// A Boolean value that indicates whether there may be several polygons.
  public let isMultiple: Bool

  /// The boxes that no place of the area is outside of: two if the area is on both sides of the antimeridian.
  public private(set) var boxes: [Box] {
    get { [firstBox, secondBox].compactMap(\.self) }
    set { (firstBox, secondBox) = (newValue.first, newValue.count > 1 ? newValue[1] : nil) }
  }

  // Without an array, which takes more memory than the boxes.
  private var firstBox: Box?
  private var secondBox: Box?

  /// An estimate of the size, by which areas that contain each other are ordered.
  public private(set) var squareMetres = 0.0

  /// The differences up to which an edge is short: less than the distance between waypoints.
  private static let shortEdge: Int64 = 5_000_000

  /// The latitude up to which an edge is not near a pole.
  private static let polarLatitude: Int32 = 850_000_000

  /// Degrees by which a short edge may be north or south of its ends.
  private static let bulge = 0.025

  /// Creates an outline. Rings whose positions are not three that differ in their units enclose nothing and are left
  /// out; a polygon is left out with its outer ring.
  ///
  /// - Parameters:
  ///   - polygons: the rings of each polygon, the outer one first. The last position of a ring may be its first or not.
  ///   - isMultiple: a Boolean value that indicates whether there may be several polygons.
  /// - Throws: ``AreaOutlineError``.
  public init(polygons: [[[Coordinate]]], isMultiple: Bool) throws(AreaOutlineError) {
    self.isMultiple = isMultiple
    let positionCount = polygons.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } }
    guard positionCount <= Self.maximumPositions else { throw .tooManyPositions }
    positions.reserveCapacity(positionCount)
    chunks.reserveCapacity(positionCount / Self.chunk + polygons.reduce(0) { $0 + $1.count })
    for polygon in polygons {
      for (index, ring) in polygon.enumerated() {
        if !append(ring), index == 0 { break }
      }
      if rings.last?.polygon == polygonCount { polygonCount += 1 }
    }
    guard !rings.isEmpty else { throw .shape(.tooFewPositions) }
    if chunks.count <= Self.chunk { blocks = [] }
    let (isShort, metres) = measured
    if isShort {
      guard metres <= 0.9 * GeodesicWaypoints.maximumMetres else {
        throw .shape(GeodesicShapeError(longerThan: GeodesicWaypoints.maximumMetres))
      }
    }
    let box = box
    let crosses = chunks.contains { $0.west == .min }
    // Within half of the earth's meridians a ring has no pole inside.
    if isShort,
      crosses
        ? halves.reduce(0, { $0 + Int64($1.east) - Int64($1.west) }) < 1_700_000_000
        : Int64(box.east) - Int64(box.west) < 1_700_000_000
    {
      boxes = (crosses ? halves : [box]).map { $0.widened(degrees: Self.bulge) }
    } else {
      do {
        let area = try GeodesicArea(polygons: coordinates)
        exact = area
        boxes = area.boxes
      } catch {
        throw .shape(error)
      }
    }
    squareMetres = computedSquareMetres
  }

  /// Appends a ring.
  ///
  /// - Returns: `false` if it encloses nothing.
  private mutating func append(_ ring: [Coordinate]) -> Bool {
    let start = positions.count
    for coordinate in ring {
      let position = Position(coordinate)
      if positions.count > start, positions[positions.count - 1] == position { continue }
      positions.append(position)
    }
    while positions.count > start + 1, positions[start] == positions[positions.count - 1] { positions.removeLast() }
    var distinct: Set<EarthCentred> = []
    for position in positions[start...] where distinct.count < 3 { distinct.insert(EarthCentred(position.coordinate)) }
    guard distinct.count == 3 else {
      positions.removeLast(positions.count - start)
      return false
    }
    let firstChunk = chunks.count
    var edge = start
    while edge < positions.count {
      let end = min(edge + Self.chunk, positions.count)
      var span = Span()
      for index in edge..<end {
        let next = positions[index + 1 < positions.count ? index + 1 : start]
        span.include(Self.span(positions[index], next))
      }
      if chunks.count.isMultiple(of: Self.chunk) { blocks.append(Span()) }
      blocks[blocks.count - 1].include(span)
      chunks.append(span)
      edge = end
    }
    rings.append(
      Ring(
        start: Int32(start), end: Int32(positions.count), polygon: polygonCount, firstChunk: Int32(firstChunk)))
    return true
  }

  private static func span(_ start: Position, _ end: Position) -> Span {
    let (from, to) = (start.meridian, end.meridian)
    let (south, north) = (min(start.latitude, end.latitude), max(start.latitude, end.latitude))
    if abs(Int64(from) - Int64(to)) > 1_800_000_000 {
      return Span(west: .min, east: .max, south: south, north: north)
    }
    return Span(west: min(from, to), east: max(from, to), south: south, north: north)
  }

  /// A Boolean value that indicates whether all edges are short and none is near a pole, and an upper bound of the sum of
  /// their lengths.
  private var measured: (isShort: Bool, metres: Double) {
    var units: Int64 = 0
    for ring in rings {
      var former = positions[Int(ring.end) - 1]
      for position in positions[Int(ring.start)..<Int(ring.end)] {
        var east = abs(Int64(position.meridian) - Int64(former.meridian))
        if east > 1_800_000_000 { east = 3_600_000_000 - east }
        let north = abs(Int64(position.latitude) - Int64(former.latitude))
        guard east <= Self.shortEdge, north <= Self.shortEdge, abs(position.latitude) <= Self.polarLatitude else {
          return (false, 0)
        }
        units += east + north
        former = position
      }
    }
    return (true, Double(units) / Self.unitsPerDegree * 111_700)
  }

  private var box: Box {
    positions.reduce(Box.none) { box, position in
      box.union(
        Box(
          west: position.meridian, south: position.latitude, east: position.meridian, north: position.latitude))
    }
  }

  /// The boxes on both sides of the antimeridian.
  private var halves: [Box] {
    var (western, eastern) = (Box.none, Box.none)
    for position in positions {
      let (longitude, latitude) = (position.meridian, position.latitude)
      let isWestern = longitude < 0
      let box = Box(west: longitude, south: latitude, east: longitude, north: latitude)
      if isWestern { western = western.union(box) } else { eastern = eastern.union(box) }
    }
    if western.west <= western.east { western.west = -1_800_000_000 }
    if eastern.west <= eastern.east { eastern.east = 1_800_000_000 }
    return [western, eastern].filter { $0.west <= $0.east }
  }

  /// The rings of each polygon, the outer one first, without the repetition of the first position.
  public var polygons: [[ArraySlice<Position>]] {
    var polygons = [[ArraySlice<Position>]](repeating: [], count: Int(polygonCount))
    for ring in rings { polygons[Int(ring.polygon)].append(positions[Int(ring.start)..<Int(ring.end)]) }
    return polygons
  }

  private var coordinates: [[[Coordinate]]] { polygons.map { $0.map { $0.map(\.coordinate) } } }

  /// The number of positions.
  public var positionCount: Int { positions.count }

  /// The number of rings of all polygons.
  public var ringCount: Int { rings.count }

  /// Returns a ring, without the repetition of its first position, and the number of its polygon. The first ring of a
  /// polygon is the outer one.
  public func ring(at index: Int) -> (positions: ArraySlice<Position>, polygon: Int) {
    let ring = rings[index]
    return (positions[Int(ring.start)..<Int(ring.end)], Int(ring.polygon))
  }

  /// The number of bytes of the positions and of what finds edges.
  public var byteCount: Int {
    positions.count * MemoryLayout<Position>.stride + (chunks.count + blocks.count) * MemoryLayout<Span>.stride
      + rings.count * MemoryLayout<Ring>.stride + (exact?.byteCount ?? 0)
  }

  /// Returns the area with an index of its edges. O(n) for n positions.
  public func geodesicArea() throws(GeodesicShapeError) -> GeodesicArea {
    if let exact { return exact }
    return try GeodesicArea(polygons: coordinates)
  }

  // MARK: Places

  /// Returns a Boolean value that indicates whether a place is in the area.
  ///
  /// - Parameter position: `EarthCentred(coordinate)`.
  public func contains(_ coordinate: Coordinate, at position: EarthCentred) -> Bool {
    var steps = Int.max
    return contains(coordinate, at: position, within: &steps) ?? false
  }

  /// Returns a Boolean value that indicates whether a place is in the area; `nil` if that needs more steps than are left.
  ///
  /// - Parameters:
  ///   - position: `EarthCentred(coordinate)`.
  ///   - steps: the number of steps that are left, each of some nanoseconds; those that were made are subtracted.
  public func contains(_ coordinate: Coordinate, at position: EarthCentred, within steps: inout Int) -> Bool? {
    if let exact {
      steps -= exact.steps(at: coordinate)
      return steps < 0 ? nil : exact.contains(coordinate, at: position).isInside
    }
    let longitude = coordinate.longitude == 180 ? -180 : coordinate.longitude
    let place = Place(longitude: longitude, latitude: coordinate.latitude, position: position)
    var (isInside, polygon) = (false, Int32(-1))
    for ring in rings {
      if ring.polygon != polygon {
        if isInside { return true }
        polygon = ring.polygon
      }
      if isOdd(ring, place, &steps) { isInside.toggle() }
      if steps < 0 { return nil }
    }
    return isInside
  }

  /// A place with the bounds that it is compared by.
  private struct Place {
    let longitude: Double
    let latitude: Double
    let position: EarthCentred

    /// The longitude in units, and a unit more on both sides.
    let least: Int32
    let greatest: Int32

    /// The latitudes in units beyond which an edge is north or south of the place.
    let south: Int32
    let north: Int32

    init(longitude: Double, latitude: Double, position: EarthCentred) {
      (self.longitude, self.latitude, self.position) = (longitude, latitude, position)
      let scaled = (longitude * AreaOutline.unitsPerDegree).rounded(.down)
      (least, greatest) = (Int32(scaled) - 1, Int32(scaled) + 2)
      south = Int32(((latitude - AreaOutline.bulge) * AreaOutline.unitsPerDegree).rounded(.down)) - 1
      north = Int32(((latitude + AreaOutline.bulge) * AreaOutline.unitsPerDegree).rounded(.up)) + 1
    }

    /// Returns a Boolean value that indicates whether a position is on the meridian of the place or west of it.
    @inline(__always)
    func isEastOrOn(_ other: Position) -> Bool { longitude >= Double(other.meridian) / AreaOutline.unitsPerDegree }
  }

  /// The relation of successive edges to the way from a place to the north pole.
  private enum Relation {
    /// None crosses it.
    case beside
    /// Those that cross the meridian of the place cross it, and none is across the antimeridian. So the ends alone decide
    /// whether the number of crossings is odd.
    case north
    case open
  }

  @inline(__always)
  private static func relation(_ span: Span, _ place: Place) -> Relation {
    if span.west > place.greatest || span.east < place.least || span.north < place.south { return .beside }
    return span.south > place.north && span.west != .min ? .north : .open
  }

  /// Returns a Boolean value that indicates whether the way from a place to the north pole crosses a ring an odd number
  /// of times; any value once there are no steps left.
  private func isOdd(_ ring: Ring, _ place: Place, _ steps: inout Int) -> Bool {
    let (start, count) = (Int(ring.start), Int(ring.end - ring.start))
    let chunkCount = (count + Self.chunk - 1) / Self.chunk
    /// Returns a Boolean value that indicates whether the meridian of the place is between the ends of some chunks.
    func isMeridianBetween(_ chunk: Int, _ end: Int) -> Bool {
      let last = end * Self.chunk
      return place.isEastOrOn(positions[start + chunk * Self.chunk])
        != place.isEastOrOn(positions[start + (last < count ? last : 0)])
    }
    var chunk = 0
    var isOdd = false
    while chunk < chunkCount, steps >= 0 {
      steps -= 1
      let number = Int(ring.firstChunk) + chunk
      if number.isMultiple(of: Self.chunk), !blocks.isEmpty {
        let end = min(chunk + Self.chunk, chunkCount)
        switch Self.relation(blocks[number / Self.chunk], place) {
        case .beside:
          chunk = end
          continue
        case .north:
          if isMeridianBetween(chunk, end) { isOdd.toggle() }
          chunk = end
          continue
        case .open: break
        }
      }
      switch Self.relation(chunks[number], place) {
      case .beside: break
      case .north: if isMeridianBetween(chunk, chunk + 1) { isOdd.toggle() }
      case .open:
        steps -= Self.chunk
        for edge in chunk * Self.chunk..<min((chunk + 1) * Self.chunk, count) {
          let (from, to) = (positions[start + edge], positions[start + (edge + 1 < count ? edge + 1 : 0)])
          if Self.isCrossed(from, to, place.longitude, place.latitude, place.position) { isOdd.toggle() }
        }
      }
      chunk += 1
    }
    return isOdd
  }

  /// Returns a Boolean value that indicates whether the way from a place to the north pole crosses a short edge.
  @inline(__always)
  private static func isCrossed(
    _ from: Position, _ to: Position, _ longitude: Double, _ latitude: Double, _ place: EarthCentred
  ) -> Bool {
    let (a, b) = (from.meridian, to.meridian)
    var (west, east) = a <= b ? (from, to) : (to, from)
    let crosses = Int64(east.meridian) - Int64(west.meridian) > 1_800_000_000
    if crosses { swap(&west, &east) }
    let (first, last) = (Double(west.meridian) / unitsPerDegree, Double(east.meridian) / unitsPerDegree)
    guard crosses ? longitude >= first || longitude < last : longitude >= first && longitude < last else {
      return false
    }
    let (south, north) = (
      Double(min(west.latitude, east.latitude)) / unitsPerDegree,
      Double(max(west.latitude, east.latitude)) / unitsPerDegree
    )
    if latitude < south - bulge { return true }
    if latitude > north + bulge { return false }
    return AreaRing.piece(from: west.coordinate, to: east.coordinate).isNorth(of: latitude, place)
  }

  /// The size by the authalic sphere: the sum of the strips between the edges and the equator.
  private var computedSquareMetres: Double {
    var total = 0.0
    var (polygon, isOuter) = (Int32(-1), false)
    for ring in rings {
      isOuter = ring.polygon != polygon
      polygon = ring.polygon
      var sum = 0.0
      var (former, formerSine) = (positions[Int(ring.end) - 1], 0.0)
      formerSine = sin(former.degrees.latitude * .pi / 180)
      for position in positions[Int(ring.start)..<Int(ring.end)] {
        let sine = sin(position.degrees.latitude * .pi / 180)
        var east = Double(Int64(position.meridian) - Int64(former.meridian)) / Self.unitsPerDegree
        if east > 180 { east -= 360 }
        if east < -180 { east += 360 }
        sum += east * (.pi / 180) * (sine + formerSine) / 2
        (former, formerSine) = (position, sine)
      }
      let size = abs(sum) * 6_371_007.2 * 6_371_007.2
      total += isOuter ? size : -size
    }
    return max(total, 0)
  }
}

extension AreaOutline: Hashable {
  public static func == (left: AreaOutline, right: AreaOutline) -> Bool {
    left.isMultiple == right.isMultiple && left.rings == right.rings && left.positions == right.positions
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(rings)
    hasher.combine(positions)
  }
}

extension AreaOutline.Position {
  /// The position in degrees, which is one on the earth.
  fileprivate var coordinate: Coordinate {
    let (longitude, latitude) = degrees
    guard let coordinate = try? Coordinate(latitude: latitude, longitude: longitude) else {
      preconditionFailure("positions are made of coordinates")
    }
    return coordinate
  }
}

extension AreaOutline.Box {
  fileprivate func widened(degrees: Double) -> Self {
    let units = Int32(degrees * AreaOutline.unitsPerDegree)
    return Self(
      west: west, south: max(south - units, -900_000_000), east: east, north: min(north + units, 900_000_000))
  }
}

/// The reason why polygons are not an ``AreaOutline``.
public enum AreaOutlineError: Error, Hashable, Sendable, CustomStringConvertible {
  case tooManyPositions
  case shape(GeodesicShapeError)

  /// A message for users, with what was expected.
  public var description: String {
    switch self {
    case .tooManyPositions: "expected at most \(AreaOutline.maximumPositions) positions"
    case .shape(let error): error.description
    }
  }
}

// MARK: Well-known binary

extension AreaOutline {
  /// The well-known binary of a Polygon or a MultiPolygon (OGC 06-103r4, section 8.2), little-endian.
  public var wkb: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(positions.count * 16 + rings.count * 20 + 16)
    func append<Number>(_ number: Number) { withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) } }
    func begin(type: UInt32, count: Int) {
      bytes.append(1)
      append(type.littleEndian)
      append(UInt32(count).littleEndian)
    }
    let polygons = polygons
    if isMultiple { begin(type: 6, count: polygons.count) }
    for polygon in polygons {
      begin(type: 3, count: polygon.count)
      for ring in polygon {
        append(UInt32(ring.count + 1).littleEndian)
        for position in ring + ring.prefix(1) {
          let (longitude, latitude) = position.degrees
          append(longitude.bitPattern.littleEndian)
          append(latitude.bitPattern.littleEndian)
        }
      }
    }
    return bytes
  }

  /// Creates an outline from ``wkb``, or from that of another program; `nil` for anything else than polygons.
  public init?(wkb bytes: UnsafeRawBufferPointer) {
    var reader = WKBReader(bytes: bytes)
    guard let (polygons, isMultiple) = reader.polygons(), reader.isAtEnd else { return nil }
    guard let outline = try? AreaOutline(polygons: polygons, isMultiple: isMultiple) else { return nil }
    self = outline
  }
}

/// A reader of well-known binary in two dimensions.
private struct WKBReader {
  let bytes: UnsafeRawBufferPointer
  var offset = 0
  var isLittleEndian = true

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  private mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type) -> Number? {
    let size = MemoryLayout<Number>.size
    guard bytes.count - offset >= size else { return nil }
    let number = bytes.loadUnaligned(fromByteOffset: offset, as: Number.self)
    offset += size
    return isLittleEndian ? Number(littleEndian: number) : Number(bigEndian: number)
  }

  private mutating func type() -> UInt32? {
    guard let order = number(UInt8.self), order <= 1 else { return nil }
    isLittleEndian = order == 1
    return number(UInt32.self)
  }

  mutating func polygons() -> (polygons: [[[Coordinate]]], isMultiple: Bool)? {
    switch type() {
    case 3: return rings().map { ([$0], false) }
    case 6:
      guard let count = number(UInt32.self) else { return nil }
      var polygons: [[[Coordinate]]] = []
      for _ in 0..<count {
        guard type() == 3, let rings = rings() else { return nil }
        polygons.append(rings)
      }
      return (polygons, true)
    default: return nil
    }
  }

  private mutating func rings() -> [[Coordinate]]? {
    guard let count = number(UInt32.self) else { return nil }
    var rings: [[Coordinate]] = []
    for _ in 0..<count {
      guard let length = number(UInt32.self) else { return nil }
      var ring: [Coordinate] = []
      for _ in 0..<length {
        guard let longitude = number(UInt64.self), let latitude = number(UInt64.self),
          let coordinate = try? Coordinate(
            latitude: Double(bitPattern: latitude), longitude: Double(bitPattern: longitude))
        else { return nil }
        ring.append(coordinate)
      }
      rings.append(ring)
    }
    return rings
  }
}
