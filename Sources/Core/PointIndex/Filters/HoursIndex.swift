import Basics
import Geo
import OpeningHours
import Points
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// The opening hours of the places of a ``Segment``.
///
/// Places with the same hours, zone and holidays share an entry, which has the state of the last evaluation and the time
/// for which it holds. So the state of a place is usually a comparison. A place whose hours depend on the sun has an
/// entry of its own. The texts stay in the places' tags, and are parsed again for each evaluation: some microseconds,
/// once in some hours.
final class HoursIndex: Sendable {
  /// The hours of some places.
  fileprivate struct Entry: BitwiseCopyable {
    /// The slot of one of the places.
    let slot: UInt32
    let zone: UInt16
    let holidays: UInt16
  }

  /// The different hours, and the entries that have them, without those of unknown hours.
  private struct EntriesByText {
    let texts: PackedTexts
    /// The start of the entries of each text, and the end of the last one's.
    let starts: FixedBuffer<UInt32>
    let entries: FixedBuffer<UInt32>
  }

  /// The number of the entry of places whose hours are not known at any time.
  static let unknown: UInt32 = 0

  /// The numbers of the entries by slot; empty if no place has hours.
  private let numbers: FixedBuffer<UInt32>
  private let entries: FixedBuffer<Entry>
  private let nodeCount: Int
  private let zones: [ZoneRules]
  private let holidays: [HolidayCalendar]

  /// The codes of the calendars; that of the first, which has no holidays, is empty.
  private let holidayCodes: [String]

  /// The hours of an index in a file.
  private let byText: EntriesByText?

  /// The states at the present.
  private let present: HoursStates

  /// The states at other times that were asked for, each an hour, the latest last.
  private let others = Mutex<[(hour: PointQuery.Opening.Time, states: HoursStates)]>([])

  /// The time until which no entry changes its state.
  private let change = Atomic<UInt64>(0)

  var byteCount: Int {
    numbers.byteCount + entries.byteCount + present.byteCount
      + others.withLock { $0.reduce(0) { $0 + $1.states.byteCount } }
  }

  /// The number of different hours.
  var entryCount: Int { entries.count - 1 }

  /// Creates the index of some places. O(n).
  ///
  /// - Parameters:
  ///   - nodeCount: the number of nodes of the trees over the places.
  ///   - minute: a time at which all hours are evaluated, in minutes since 1970-01-01T00:00:00Z, so that no search has
  ///     to; `nil` for none.
  init(records: PointRecords, coordinates: CoordinatePointers, nodeCount: Int, evaluatingAt minute: Int64?) {
    var builder = Builder(coordinates: coordinates)
    let numbers = FixedBuffer<UInt32>(count: records.count) { numbers in
      for slot in 0..<records.count {
        (numbers + slot).initialize(to: records.withTags(at: slot) { builder.number(of: slot, tags: $0) })
      }
    }
    self.numbers = builder.entries.count > 1 ? numbers : FixedBuffer([])
    self.nodeCount = builder.entries.count > 1 ? nodeCount : 0
    entries = FixedBuffer(builder.entries)
    zones = builder.zones
    holidays = builder.holidays
    holidayCodes = builder.holidayCodes
    byText = nil
    present = HoursStates(entryCount: entries.count, nodeCount: self.nodeCount)
    if let minute { evaluate(at: minute, builder.entriesByText, records: records, coordinates: coordinates) }
  }

  /// Creates the index that a segment's file has. O(z) for z zones and calendars; hours are evaluated when they are
  /// searched, or by ``evaluateAll(at:coordinates:)``. `nil` if the file has none, or one of a program with other zones, holidays or expressions.
  ///
  /// - Parameters:
  ///   - count: the number of places.
  ///   - nodeCount: the number of nodes of the trees over the places.
  init?(_ file: SegmentFile, count: Int, nodeCount: Int) throws(IndexFileError) {
    guard file.has(.hoursEdition), try file.column(.hoursEdition).array == [HoursEdition.current] else {
      return nil
    }
    numbers = try file.column(.hoursNumbers)
    guard numbers.count == 0 || numbers.count == count else {
      throw IndexFileError("the column hoursNumbers has \(numbers.count) values")
    }
    entries = try file.column(.hoursEntries)
    self.nodeCount = numbers.count > 0 ? nodeCount : 0
    // Of the first zone and calendar the program has no other.
    var zones = [ZoneRules.utc]
    for name in try PackedTexts(file, starts: .hoursZoneStarts, bytes: .hoursZones).texts.dropFirst() {
      guard let rules = PositionZones.rules(named: name) else { return nil }
      zones.append(rules)
    }
    holidayCodes = try PackedTexts(file, starts: .hoursCalendarStarts, bytes: .hoursCalendars).texts
    var holidays = [HolidayCalendar.none]
    for code in holidayCodes.dropFirst() {
      guard let calendar = HolidayCalendar(code: code) else { return nil }
      holidays.append(calendar)
    }
    (self.zones, self.holidays) = (zones, holidays)
    byText = try EntriesByText(
      texts: PackedTexts(file, starts: .hoursTextStarts, bytes: .hoursTexts), starts: file.column(.hoursEntryStarts),
      entries: file.column(.hoursEntriesByText))
    present = HoursStates(entryCount: entries.count, nodeCount: self.nodeCount)
  }

  /// - Parameter records: those of the places.
  func write(to file: inout SegmentFileWriter, _ records: PointRecords) throws(IndexFileError) {
    try file.append(.hoursEdition, FixedBuffer([HoursEdition.current]))
    try file.append(.hoursNumbers, numbers)
    try file.append(.hoursEntries, entries)
    try PackedTexts(zones.map(\.name)).write(to: &file, starts: .hoursZoneStarts, bytes: .hoursZones)
    try PackedTexts(holidayCodes).write(to: &file, starts: .hoursCalendarStarts, bytes: .hoursCalendars)
    let byText = byText ?? entriesByText(records)
    try byText.texts.write(to: &file, starts: .hoursTextStarts, bytes: .hoursTexts)
    try file.append(.hoursEntryStarts, byText.starts)
    try file.append(.hoursEntriesByText, byText.entries)
  }

  private func entriesByText(_ records: PointRecords) -> EntriesByText {
    var entriesByText: [ExactText: [UInt32]] = [:]
    for number in 1..<max(1, entries.count) {
      guard let text = text(ofEntry: number, in: records) else { continue }
      entriesByText[ExactText(text), default: []].append(UInt32(number))
    }
    let ordered = Array(entriesByText)
    var end: UInt32 = 0
    let ends = ordered.map { _, entries in
      end += UInt32(entries.count)
      return end
    }
    return EntriesByText(
      texts: PackedTexts(ordered.map(\.key.text)), starts: FixedBuffer([0] + ends),
      entries: FixedBuffer(ordered.flatMap(\.value)))
  }

  /// Evaluates all hours of an index in a file, so that no search has to. O(e) for e entries.
  ///
  /// - Parameter minute: the time, in minutes since 1970-01-01T00:00:00Z.
  func evaluateAll(at minute: Int64, coordinates: CoordinatePointers) {
    guard let byText else { return }
    for (index, text) in byText.texts.texts.enumerated() {
      let expression = try? HoursExpression(text: text)
      for position in byText.starts.pointer[index]..<byText.starts.pointer[index + 1] {
        let number = Int(byText.entries.pointer[Int(position)])
        if present.cell(ofEntry: number).contains(minute) { continue }
        let cell = cell(ofEntry: number, expression, at: minute, coordinates: coordinates)
        present.entries[number].store(cell.rawValue, ordering: .relaxed)
      }
    }
  }

  /// Evaluates entries, those with the same text one after another.
  private func evaluate(
    at minute: Int64, _ numbers: [UInt32], records: PointRecords, coordinates: CoordinatePointers
  ) {
    var expression: HoursExpression?
    var text: String?
    for number in numbers {
      let own = self.text(ofEntry: Int(number), in: records)
      if !own.hasSameBytes(as: text) { (text, expression) = (own, own.flatMap { try? HoursExpression(text: $0) }) }
      let cell = cell(ofEntry: Int(number), expression, at: minute, coordinates: coordinates)
      present.entries[Int(number)].store(cell.rawValue, ordering: .relaxed)
    }
  }

  private func text(ofEntry number: Int, in records: PointRecords) -> String? {
    records.withTags(at: Int(entries.pointer[number].slot)) { HoursTags($0).hours.flatMap(HoursTags.text) }
  }

  private func cell(
    ofEntry number: Int, _ expression: HoursExpression?, at minute: Int64, coordinates: CoordinatePointers
  ) -> HoursCell {
    guard let expression else { return .unknown }
    let entry = entries.pointer[number]
    let context = HoursContext(
      zone: zones[Int(entry.zone)], holidays: holidays[Int(entry.holidays)], position: coordinates[Int(entry.slot)])
    let interval = expression.interval(at: minute * 60, in: context)
    return HoursCell(from: minute, until: max(minute + 1, interval.end / 60), interval.state)
  }

  /// The numbers of the entries by slot; `nil` if no place has hours. Valid for the life of the index.
  var numbersBySlot: UnsafePointer<UInt32>? { numbers.count > 0 ? numbers.pointer : nil }

  /// Returns the number of the zone of an entry.
  func zone(ofEntry number: Int) -> Int { Int(entries.pointer[number].zone) }

  /// Evaluates an entry.
  @inline(never)
  func evaluated(_ number: Int, at minute: Int64, of segment: Segment, in states: HoursStates) -> HoursCell {
    let expression = text(ofEntry: number, in: segment.records).flatMap { try? HoursExpression(text: $0) }
    let cell = cell(ofEntry: number, expression, at: minute, coordinates: segment.columns.coordinates)
    states.entries[number].store(cell.rawValue, ordering: .relaxed)
    return cell
  }

  /// Returns the minute after a given one at which the state of a place changes first, or earlier; at most the greatest
  /// of a ``HoursCell``. O(e) for e entries, once for each change.
  func nextChange(after minute: Int64, of segment: Segment) -> Int64 {
    let known = HoursCell(rawValue: change.load(ordering: .relaxed))
    if known.contains(minute) { return known.end }
    var end = HoursCell.never
    for number in 1..<entries.count {
      var cell = present.cell(ofEntry: number)
      if !cell.contains(minute) { cell = evaluated(number, at: minute, of: segment, in: present) }
      end = min(end, cell.end)
    }
    change.store(HoursCell(from: minute, until: end, .unknown).rawValue, ordering: .relaxed)
    return end
  }

  /// Returns a time in minutes since 1970-01-01T00:00:00Z: in each zone, or none if it is the same in all.
  func minutesByZone(of time: PointQuery.Opening.Time) -> [Int64] {
    switch time {
    case .instant: []
    case .local(let minutes): zones.map { $0.instant(ofLocalSeconds: Int64(minutes) * 60) / 60 }
    }
  }

  /// The number of bytes of the states at other times than the present, for each place of the segment; those at the
  /// latest are kept in any case.
  private static let bytesOfOtherTimesPerPlace = 8

  /// Returns the states at a time.
  func states(at opening: PointQuery.Opening) -> HoursStates {
    if opening.isNow { return present }
    let hour = opening.time.hour
    return others.withLock { others in
      let known = others.firstIndex { $0.hour == hour }.map { others.remove(at: $0).states }
      let states = known ?? HoursStates(entryCount: entries.count, nodeCount: nodeCount)
      others.append((hour, states))
      let maximumCount = Self.bytesOfOtherTimesPerPlace * numbers.count / max(1, states.byteCount)
      others.removeFirst(max(0, others.count - max(1, maximumCount)))
      return states
    }
  }
}

extension PointQuery.Opening.Time {
  /// The hour in which the time is.
  fileprivate var hour: Self {
    switch self {
    case .instant(let minutes): .instant(minutes: minutes / 60)
    case .local(let minutes): .local(minutes: minutes / 60)
    }
  }
}

/// A state and the minutes since 1970-01-01T00:00:00Z in which it holds: in the lowest 31 bits the first one, in the
/// next 31 the one behind the last, in the others the state.
struct HoursCell {
  private static let bits: UInt64 = 31
  private static let mask: UInt64 = 1 << bits - 1

  /// The greatest end.
  static let never = Int64(mask)

  /// The cell of a place of which it is never known whether it is open.
  static let unknown = HoursCell(from: 0, until: never, .unknown)

  let rawValue: UInt64

  init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  init(from start: Int64, until end: Int64, _ state: HoursState) {
    rawValue =
      UInt64(start) & Self.mask | (UInt64(min(end, Self.never)) << Self.bits)
      | UInt64(state.rawValue) << (2 * Self.bits)
  }

  var end: Int64 { Int64(rawValue >> Self.bits & Self.mask) }
  var state: HoursState { HoursState(rawValue: UInt8(rawValue >> (2 * Self.bits))) ?? .unknown }

  @inline(__always)
  func contains(_ minute: Int64) -> Bool { minute >= Int64(rawValue & Self.mask) && minute < end }
}

/// The states of the entries of a ``HoursIndex`` and of the nodes of trees over its places, around one time.
///
/// Many searches read and write the cells, without a lock: each is written as a whole, and any evaluation is as good as
/// another. The cell of a node has the state open if one of its places is, else unknown if that of one is unknown. It
/// holds as long as the places that it was made of certainly have their states.
final class HoursStates: @unchecked Sendable {
  // Sendable: the memory is that of atomics, freed with the last reference.
  let entries: UnsafeMutablePointer<Atomic<UInt64>>
  let nodes: UnsafeMutablePointer<Atomic<UInt64>>
  let byteCount: Int

  init(entryCount: Int, nodeCount: Int) {
    byteCount = (entryCount + nodeCount) * MemoryLayout<Atomic<UInt64>>.stride
    // Zeros, which hold at no time. The system provides a page of a large block when it is first used.
    guard let memory = calloc(entryCount + nodeCount, MemoryLayout<Atomic<UInt64>>.stride) else {
      fatalError("no memory for the states of \(entryCount) opening hours")
    }
    entries = memory.bindMemory(to: Atomic<UInt64>.self, capacity: entryCount + nodeCount)
    nodes = entries + entryCount
  }

  deinit { free(entries) }

  @inline(__always)
  func cell(ofEntry number: Int) -> HoursCell { HoursCell(rawValue: entries[number].load(ordering: .relaxed)) }
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

    let coordinates: CoordinatePointers

    /// The first stands for unknown hours.
    private(set) var entries: ContiguousArray<Entry> = [Entry(slot: 0, zone: 0, holidays: 0)]
    private var textsOfEntries: ContiguousArray<Int> = []
    private(set) var zones: [ZoneRules] = [.utc]
    /// The first stands for an unknown country.
    private(set) var holidays: [HolidayCalendar] = [.none]
    private(set) var holidayCodes = [""]

    private var texts: [Text] = []
    private var textNumbers: [TextHash: Int] = [:]
    private var numbers: [Key: UInt32] = [:]
    private var zonesByPosition: [Int: UInt16] = [:]
    private var zonesByName: [ExactText: UInt16] = [:]
    private var holidaysByCode: [ExactText: UInt16] = [:]
    /// The calendars of zones and regions, without a tag of the country.
    private var holidaysByPosition: [SIMD2<UInt16>: UInt16] = [:]

    init(coordinates: CoordinatePointers) {
      self.coordinates = coordinates
    }

    /// The numbers of the entries without the first, those with the same text one after another.
    var entriesByText: [UInt32] {
      var starts = [Int](repeating: 0, count: texts.count + 1)
      for text in textsOfEntries { starts[text + 1] += 1 }
      for text in texts.indices { starts[text + 1] += starts[text] }
      return [UInt32](unsafeUninitializedCapacity: textsOfEntries.count) { numbers, count in
        count = textsOfEntries.count
        for (index, text) in textsOfEntries.enumerated() {
          numbers.initializeElement(at: starts[text], to: UInt32(index + 1))
          starts[text] += 1
        }
      }
    }

    /// Returns the number of the entry of a place.
    mutating func number(of slot: Int, tags: UnsafeBufferPointer<UInt8>) -> UInt32 {
      let tags = HoursTags(tags)
      guard let hours = tags.hours else { return unknown }
      let text = number(ofText: hours)
      guard texts[text].isValid else { return unknown }
      let zone = zone(of: tags, at: coordinates[slot])
      let calendar = texts[text].usesHolidays ? holidays(of: tags, zone, coordinates[slot]) : 0
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
      textsOfEntries.append(key.text)
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

    private mutating func holidays(of tags: HoursTags, _ zone: UInt16, _ position: Coordinate) -> UInt16 {
      let region = HolidayRegions.number(at: position)
      let place = SIMD2(zone, UInt16(region))
      if tags.country == nil, let number = holidaysByPosition[place] { return number }
      guard let code = tags.holidayCode(in: zones[Int(zone)], region: region) else { return 0 }
      let number = holidays(ofCode: code)
      if tags.country == nil { holidaysByPosition[place] = number }
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
          holidayCodes.append(code)
          number = UInt16(holidays.count - 1)
        }
      }
      // As many codes as clients may think of are not kept.
      if number > 0 { holidaysByCode[ExactText(code)] = number }
      return number
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
