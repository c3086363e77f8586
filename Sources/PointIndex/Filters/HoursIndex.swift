import Basics
import Geo
import OpeningHours
import Points
import Synchronization

/// The opening hours of the places of a ``Segment``.
///
/// Places with the same hours, zone and holidays share an entry, which has the state of the last evaluation and the time
/// for which it holds. So the state of a place is usually a comparison. A place whose hours depend on the sun has an
/// entry of its own. The texts stay in the places' tags, and are parsed again for each evaluation: some microseconds,
/// once in some hours.
final class HoursIndex: Sendable {
  /// The hours of some places.
  private struct Entry: BitwiseCopyable {
    /// The slot of one of the places.
    let slot: UInt32
    let zone: UInt16
    let holidays: UInt16
  }

  /// A state and the minutes since 1970-01-01T00:00:00Z in which it holds: in the lowest 31 bits the first one, in the
  /// next 31 the one behind the last, in the others the state.
  private struct Cell {
    static let bits: UInt64 = 31
    static let mask: UInt64 = 1 << bits - 1

    let rawValue: UInt64

    init(rawValue: UInt64) {
      self.rawValue = rawValue
    }

    init(from start: Int64, until end: Int64, _ state: HoursState) {
      rawValue =
        UInt64(start) & Self.mask | (UInt64(min(end, Int64(Self.mask))) << Self.bits)
        | UInt64(state.rawValue) << (2 * Self.bits)
    }

    var end: Int64 { Int64(rawValue >> Self.bits & Self.mask) }
    var state: HoursState { HoursState(rawValue: UInt8(rawValue >> (2 * Self.bits))) ?? .unknown }

    @inline(__always)
    func contains(_ minute: Int64) -> Bool { minute >= Int64(rawValue & Self.mask) && minute < end }
  }

  /// Cells that many searches read and write: each is written as a whole, and any evaluation is as good as another.
  private final class Cells: @unchecked Sendable {
    // Sendable: the memory is that of atomics, freed with the last reference.
    let pointer: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int

    init(count: Int) {
      self.count = count
      pointer = .allocate(capacity: count)
      for index in 0..<count { (pointer + index).initialize(to: Atomic(0)) }
    }

    deinit {
      pointer.deinitialize(count: count)
      pointer.deallocate()
    }
  }

  /// The number of the entry of places whose hours are not known at any time.
  private static let unknown: UInt32 = 0

  /// The numbers of the entries by slot; empty if no place has hours.
  private let numbers: FixedBuffer<UInt32>
  private let entries: FixedBuffer<Entry>
  private let cells: Cells
  private let zones: [ZoneRules]
  private let holidays: [HolidayCalendar]

  /// The time until which no entry changes its state, in the form of a ``Cell``.
  private let change = Atomic<UInt64>(0)

  var byteCount: Int { numbers.byteCount + entries.byteCount + cells.count * MemoryLayout<UInt64>.stride }

  /// The number of different hours.
  var entryCount: Int { entries.count - 1 }

  /// Creates the index of some places. O(n).
  init(records: PointRecords, coordinates: UnsafePointer<Coordinate>) {
    var builder = Builder(coordinates: coordinates)
    let numbers = FixedBuffer<UInt32>(count: records.count) { numbers in
      for slot in 0..<records.count {
        (numbers + slot).initialize(to: builder.number(of: slot, tags: records.tags(at: slot)))
      }
    }
    self.numbers = builder.entries.count > 1 ? numbers : FixedBuffer([])
    entries = FixedBuffer(builder.entries)
    cells = Cells(count: builder.entries.count)
    zones = builder.zones
    holidays = builder.holidays
  }

  /// The number of steps of an evaluation, each a few nanoseconds.
  private static let stepsPerEvaluation = 1024
  private static let stepsPerComparison = 2

  /// Returns the state of the place in a slot at a time.
  ///
  /// - Parameters:
  ///   - minutes: the time in minutes since 1970-01-01T00:00:00Z: in each zone, or a single one in all.
  ///   - limit: the limit of the search.
  @inline(__always)
  func state(
    at slot: Int, _ minutes: [Int64], of segment: Segment, _ limit: SearchLimit?
  ) -> HoursState {
    guard numbers.count > 0 else { return .unknown }
    let number = numbers.pointer[slot]
    if number == Self.unknown { return .unknown }
    let minute = minutes.count == 1 ? minutes[0] : minutes[Int(entries.pointer[Int(number)].zone)]
    let cell = Cell(rawValue: cells.pointer[Int(number)].load(ordering: .relaxed))
    if cell.contains(minute) {
      limit?.spend(Self.stepsPerComparison)
      return cell.state
    }
    limit?.spend(Self.stepsPerEvaluation)
    return evaluated(Int(number), at: minute, of: segment).state
  }

  /// Evaluates an entry.
  @inline(never)
  private func evaluated(_ number: Int, at minute: Int64, of segment: Segment) -> Cell {
    let entry = entries.pointer[number]
    let slot = Int(entry.slot)
    let tags = HoursTags(segment.records.tags(at: slot))
    guard let text = tags.hours.flatMap(HoursTags.text), let expression = try? HoursExpression(text: text) else {
      return Cell(from: 0, until: .max, .unknown)
    }
    let context = HoursContext(
      zone: zones[Int(entry.zone)], holidays: holidays[Int(entry.holidays)],
      position: segment.columns.coordinates[slot])
    let interval = expression.interval(at: minute * 60, in: context)
    let cell = Cell(from: minute, until: max(minute + 1, interval.end / 60), interval.state)
    cells.pointer[number].store(cell.rawValue, ordering: .relaxed)
    return cell
  }

  /// Returns the minute after a given one at which the state of a place changes first, or earlier; at most the greatest
  /// of a ``Cell``. O(e) for e entries, once for each change.
  func nextChange(after minute: Int64, of segment: Segment) -> Int64 {
    let known = Cell(rawValue: change.load(ordering: .relaxed))
    if known.contains(minute) { return known.end }
    var end = Int64(Cell.mask)
    for number in 1..<entries.count {
      var cell = Cell(rawValue: cells.pointer[number].load(ordering: .relaxed))
      if !cell.contains(minute) { cell = evaluated(number, at: minute, of: segment) }
      end = min(end, cell.end)
    }
    change.store(Cell(from: minute, until: end, .unknown).rawValue, ordering: .relaxed)
    return end
  }

  /// Returns a time in minutes since 1970-01-01T00:00:00Z: in each zone, or a single one in all.
  func minutes(of time: PointQuery.Opening.Time) -> [Int64] {
    switch time {
    case .instant(let minutes): [minutes]
    case .local(let minutes): zones.map { $0.instant(ofLocalSeconds: minutes * 60) / 60 }
    }
  }
}

extension HoursIndex {
  /// Collects the entries of places one after another.
  private struct Builder {
    /// A hash of 128 bits, of which no two texts have the same. It is seeded, so that no client can find such texts.
    private struct TextHash: Hashable {
      let first: Int
      let second: Int

      init(_ text: UnsafeBufferPointer<UInt8>) {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(text))
        first = hasher.finalize()
        hasher = Hasher()
        hasher.combine(1 as UInt8)
        hasher.combine(bytes: UnsafeRawBufferPointer(text))
        second = hasher.finalize()
      }

      func hash(into hasher: inout Hasher) { hasher.combine(first) }
    }

    private struct Text {
      var usesSun = false
      var usesHolidays = false
      /// A Boolean value that indicates whether the text is an expression.
      var isValid = false
      /// The key and the entry of the place before that had the text.
      var latest: (place: Key, number: UInt32)?
    }

    private struct Key: Hashable {
      let text: Int
      let zone: UInt16
      let holidays: UInt16
    }

    let coordinates: UnsafePointer<Coordinate>

    /// The first stands for unknown hours.
    private(set) var entries: ContiguousArray<Entry> = [Entry(slot: 0, zone: 0, holidays: 0)]
    /// Not empty, since a time that is a single one in all zones is told by the count.
    private(set) var zones: [ZoneRules] = [.utc, .utc]
    /// The first stands for an unknown country.
    private(set) var holidays: [HolidayCalendar] = [.none]

    private var texts: [Text] = []
    private var textNumbers: [TextHash: Int] = [:]
    private var numbers: [Key: UInt32] = [:]
    private var zonesByPosition: [Int: UInt16] = [:]
    private var zonesByName: [ExactText: UInt16] = [:]
    private var holidaysByCode: [ExactText: UInt16] = [:]
    private var holidaysByZone: [UInt16: UInt16] = [:]

    init(coordinates: UnsafePointer<Coordinate>) {
      self.coordinates = coordinates
    }

    /// Returns the number of the entry of a place.
    mutating func number(of slot: Int, tags: UnsafeBufferPointer<UInt8>) -> UInt32 {
      let tags = HoursTags(tags)
      guard let hours = tags.hours else { return unknown }
      let text = number(ofText: hours)
      guard texts[text].isValid else { return unknown }
      let zone = zone(of: tags, at: coordinates[slot])
      let calendar = texts[text].usesHolidays ? holidays(of: tags, zone) : 0
      let key = Key(text: text, zone: zone, holidays: calendar)
      if texts[text].usesSun { return append(slot, key) }
      if let latest = texts[text].latest, latest.place == key { return latest.number }
      let number = numbers[key] ?? append(slot, key)
      numbers[key] = number
      texts[text].latest = (key, number)
      return number
    }

    private mutating func append(_ slot: Int, _ key: Key) -> UInt32 {
      entries.append(Entry(slot: UInt32(slot), zone: key.zone, holidays: key.holidays))
      return UInt32(entries.count - 1)
    }

    private mutating func number(ofText string: UnsafeBufferPointer<UInt8>) -> Int {
      let hash = TextHash(string)
      if let number = textNumbers[hash] { return number }
      var text = Text()
      if let expression = HoursTags.text(of: string).flatMap({ try? HoursExpression(text: $0) }) {
        text = Text(
          usesSun: expression.usesSun, usesHolidays: expression.usesPublicHolidays, isValid: true, latest: nil)
      }
      texts.append(text)
      textNumbers[hash] = texts.count - 1
      return texts.count - 1
    }

    private mutating func zone(of tags: HoursTags, at position: Coordinate) -> UInt16 {
      if let name = tags.zone.flatMap(HoursTags.text) {
        if let number = zonesByName[ExactText(name)] { return number }
        if let rules = ZoneRules.system(named: name) {
          let number = append(rules)
          zonesByName[ExactText(name)] = number
          return number
        }
      }
      let place = PositionZones.number(at: position)
      if let number = zonesByPosition[place] { return number }
      let number = append(PositionZones.rules(of: place))
      zonesByPosition[place] = number
      return number
    }

    private mutating func append(_ rules: ZoneRules) -> UInt16 {
      if let number = zones.firstIndex(where: { $0.name.hasSameBytes(as: rules.name) }) { return UInt16(number) }
      zones.append(rules)
      return UInt16(zones.count - 1)
    }

    private mutating func holidays(of tags: HoursTags, _ zone: UInt16) -> UInt16 {
      if tags.country == nil, let number = holidaysByZone[zone] { return number }
      guard let code = tags.holidayCode(in: zones[Int(zone)]) else { return 0 }
      let number = holidays(ofCode: code)
      if tags.country == nil { holidaysByZone[zone] = number }
      return number
    }

    private mutating func holidays(ofCode code: String) -> UInt16 {
      if let number = holidaysByCode[ExactText(code)] { return number }
      var number: UInt16 = 0
      // Regions without a calendar of their own have that of the country.
      if let calendar = HolidayCalendar(code: code) {
        if let known = holidays.firstIndex(of: calendar) {
          number = UInt16(known)
        } else {
          holidays.append(calendar)
          number = UInt16(holidays.count - 1)
        }
      }
      // As many codes as clients may think of are not kept.
      if number > 0 { holidaysByCode[ExactText(code)] = number }
      return number
    }
  }
}

/// The condition of a query on the opening hours of the places of a segment.
struct OpeningFilter {
  private let index: HoursIndex
  private let minutes: [Int64]
  private let includesUnknown: Bool

  init(_ opening: PointQuery.Opening, in segment: Segment) {
    index = segment.hours
    minutes = index.minutes(of: opening.time)
    includesUnknown = opening.includesUnknown
  }

  /// Returns a Boolean value that indicates whether the place in a slot matches.
  @inline(__always)
  func matches(_ slot: Int, of segment: Segment, _ limit: SearchLimit?) -> Bool {
    switch index.state(at: slot, minutes, of: segment, limit) {
    case .open: limit?.isExpired != true
    case .unknown: includesUnknown && limit?.isExpired != true
    case .closed: false
    }
  }
}

extension PointSnapshot {
  /// The number of different hours up to which their next change is computed, in at most some milliseconds. Of more,
  /// some change in nearly every minute.
  private static let maximumEntriesOfChange = 1_000

  /// Returns the time until which no place changes its state, or an earlier one.
  ///
  /// - Parameter minute: the time from which on, in minutes since 1970-01-01T00:00:00Z as the result.
  public func nextChangeOfHours(after minute: Int64) -> Int64 {
    let indexes = parts.map { ($0.segment, $0.segment.hours) }
    guard indexes.reduce(0, { $0 + $1.1.entryCount }) <= Self.maximumEntriesOfChange else { return minute + 1 }
    return indexes.reduce(.max) { min($0, $1.1.nextChange(after: minute, of: $1.0)) }
  }
}
