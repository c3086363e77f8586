import Geo
import OpeningHours
import Points
import Synchronization

/// The condition of a search on the opening hours of the places of a segment.
final class OpeningFilter {
  private let index: HoursIndex
  private let states: HoursStates
  private let segment: Segment
  private let limit: SearchLimit?
  private let includesUnknown: Bool

  /// The numbers of the entries by slot, and the cells by these; part of the index and of the states.
  private let numbers: UnsafePointer<UInt32>?
  private let cells: UnsafeMutablePointer<Atomic<UInt64>>

  /// The time of the condition, in minutes since 1970-01-01T00:00:00Z or, of a local time, of every calendar.
  private let minute: Int64

  /// The time in each zone, if it is a local one.
  private let minutesByZone: [Int64]

  init(_ opening: PointQuery.Opening, in segment: Segment, _ limit: SearchLimit?) {
    self.segment = segment
    self.limit = limit
    index = segment.hours
    states = index.states(at: opening)
    numbers = index.numbersBySlot
    cells = states.entries
    includesUnknown = opening.includesUnknown
    minutesByZone = index.minutesByZone(of: opening.time)
    switch opening.time {
    case .instant(let minutes), .local(let minutes): minute = Int64(minutes)
    }
  }

  /// The number of steps of an evaluation, each a few nanoseconds.
  private static let stepsPerEvaluation = 1024
  private static let stepsPerComparison = 2

  /// Returns a Boolean value that indicates whether the place in a slot matches.
  @inline(__always)
  func matches(_ slot: Int) -> Bool { includes(cell(ofSlot: slot).state) && limit?.isExpired != true }

  @inline(__always)
  private func includes(_ state: HoursState) -> Bool { state == .open || (includesUnknown && state == .unknown) }

  @inline(__always)
  private func cell(ofSlot slot: Int) -> HoursCell {
    guard let numbers else { return .unknown }
    let number = numbers[slot]
    if number == HoursIndex.unknown { return .unknown }
    let minute = minutesByZone.isEmpty ? minute : minutesByZone[index.zone(ofEntry: Int(number))]
    let cell = HoursCell(rawValue: cells[Int(number)].load(ordering: .relaxed))
    if cell.contains(minute) {
      limit?.spend(Self.stepsPerComparison)
      return cell
    }
    limit?.spend(Self.stepsPerEvaluation)
    return index.evaluated(Int(number), at: minute, of: segment, in: states)
  }
}

extension OpeningFilter {
  /// Returns a Boolean value that indicates whether a place beneath a node may match.
  ///
  /// A node is examined when a search comes to it, and not again before the state of one of its places may change. So
  /// a search at night, when all is closed for hundreds of kilometres, passes by the regions, not the places.
  ///
  /// - Parameters:
  ///   - number: the number of the node in its level.
  ///   - starts: the first node of each level.
  ///   - nodes: a tree over places of the segment.
  @inline(__always)
  func mayMatch(node number: Int, ofLevel level: Int, starts: UnsafePointer<Int>, in nodes: PackedTree) -> Bool {
    guard let first = nodes.firstNode, numbers != nil else { return true }
    let cell = HoursCell(rawValue: states.nodes[first + starts[level] + number].load(ordering: .relaxed))
    if cell.contains(minute) { return includes(cell.state) }
    return examined(node: number, ofLevel: level, starts: starts, first: first, in: nodes).map { includes($0.state) }
      ?? true
  }

  /// Examines the places beneath a node until one is open, and returns the cell of the node; `nil` if the limit of the
  /// search is exceeded.
  @inline(never)
  private func examined(
    node number: Int, ofLevel level: Int, starts: UnsafePointer<Int>, first: Int, in nodes: PackedTree
  ) -> HoursCell? {
    var (state, end) = (HoursState.closed, HoursCell.never)
    if level == 0 {
      let places = number * PackedTree.leafCapacity
      for place in places..<min(places + PackedTree.leafCapacity, nodes.count) {
        add(cell(ofSlot: nodes.slots.map { Int($0[place]) } ?? place), to: &state, &end)
        if state == .open { break }
      }
      if limit?.isExpired == true { return nil }
    } else {
      let children = number * PackedTree.fanOut
      for child in children..<min(children + PackedTree.fanOut, starts[level] - starts[level - 1]) {
        var cell = HoursCell(rawValue: states.nodes[first + starts[level - 1] + child].load(ordering: .relaxed))
        if !cell.contains(minute) {
          guard let own = examined(node: child, ofLevel: level - 1, starts: starts, first: first, in: nodes) else {
            return nil
          }
          cell = own
        }
        limit?.spend(Self.stepsPerComparison)
        add(cell, to: &state, &end)
        if state == .open { break }
      }
    }
    // The ends of the states of places are not those of a local time.
    let cell = HoursCell(from: minute, until: minutesByZone.isEmpty ? end : minute + 1, state)
    states.nodes[first + starts[level] + number].store(cell.rawValue, ordering: .relaxed)
    return cell
  }

  @inline(__always)
  private func add(_ cell: HoursCell, to state: inout HoursState, _ end: inout Int64) {
    switch cell.state {
    case .open: (state, end) = (.open, cell.end)
    case .unknown: (state, end) = (.unknown, min(end, cell.end))
    case .closed: end = min(end, cell.end)
    }
  }
}
