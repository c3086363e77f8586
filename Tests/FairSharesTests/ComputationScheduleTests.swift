import FairShares
import SyntheticData
import Testing

/// The order of computations, with times that the tests choose.
@Suite struct ComputationScheduleTests {
  private typealias Schedule = ComputationSchedule<String, Int>

  private static let start = ContinuousClock.now

  /// Returns a moment, in milliseconds.
  private static func time(_ milliseconds: Int) -> Schedule.Instant { start + .milliseconds(milliseconds) }

  private static let never = time(1_000_000)

  /// Runs computations that have arrived to the end, one after the other, and returns the order in which they start.
  ///
  /// - Parameters:
  ///   - id: the one that runs.
  ///   - milliseconds: the time that each takes.
  private func order(
    _ schedule: inout Schedule, after id: Int, at now: Int = 0, taking milliseconds: (Int) -> Int
  ) -> [Int] {
    var (started, running, now) = ([Int](), id, now)
    while true {
      now += milliseconds(running)
      guard let next = schedule.finished(running, at: Self.time(now)).started else { return started }
      started.append(next)
      running = next
    }
  }

  @discardableResult
  private func arrive(
    _ schedule: inout Schedule, _ id: Int, _ client: String, _ connection: Int = 0, deadline: Schedule.Instant = never,
    at now: Int = 0
  ) -> Schedule.Decision {
    schedule.arrived(
      id, from: .init(client: client, connection: connection), deadline: deadline, at: Self.time(now))
  }

  @Test func computationsStartUntilAllThreadsAreBusy() {
    var schedule = Schedule(threads: 2, capacity: 10)

    let decisions = (1...3).map { arrive(&schedule, $0, "a") }

    #expect(decisions == [.start, .start, .wait])
    #expect(schedule.runningCount == 2)
    #expect(schedule.waitingCount == 1)
    let next = schedule.finished(2, at: Self.time(1))
    #expect(next.started == 3)
  }

  @Test func clientsTakeTurnsWhateverTheyHaveWaiting() {
    var schedule = Schedule(threads: 1, capacity: 100)
    for id in 1...7 { arrive(&schedule, id, "many") }
    for id in 8...10 { arrive(&schedule, id, "few") }

    let order = order(&schedule, after: 1) { _ in 10 }

    #expect(order == [8, 2, 9, 3, 10, 4, 5, 6, 7])
  }

  @Test func connectionsOfAClientTakeTurns() {
    var schedule = Schedule(threads: 1, capacity: 300)
    for id in 1...6 { arrive(&schedule, id, "client", 1) }
    for id in 7...9 { arrive(&schedule, id, "client", 2) }

    let order = order(&schedule, after: 1) { _ in 10 }

    #expect(order == [7, 2, 8, 3, 9, 4, 5, 6])
  }

  @Test func shortComputationsDoNotWaitForAsManyLongOnes() {
    var schedule = Schedule(threads: 1, capacity: 100)
    for id in 1...4 { arrive(&schedule, id, "long") }
    for id in 5...9 { arrive(&schedule, id, "short") }

    let order = order(&schedule, after: 1) { $0 < 5 ? 1_000 : 10 }

    #expect(order == [5, 6, 7, 8, 9, 2, 3, 4])
  }

  @Test func clientWithoutComputationsSavesUpNoTime() {
    var schedule = Schedule(threads: 1, capacity: 100)
    arrive(&schedule, 1, "busy")
    arrive(&schedule, 2, "busy")
    _ = schedule.finished(1, at: Self.time(10_000))
    for id in 3...4 { arrive(&schedule, id, "late", at: 10_000) }
    for id in 5...6 { arrive(&schedule, id, "busy", at: 10_000) }

    let order = order(&schedule, after: 2, at: 10_000) { 3...4 ~= $0 ? 10 : 9 }

    #expect(order == [3, 5, 4, 6])
  }

  @Test func threadsAreDividedAmongClientsBeforeAnyHasFinished() {
    var schedule = Schedule(threads: 2, capacity: 100)
    for id in 1...5 { arrive(&schedule, id, "many") }
    arrive(&schedule, 6, "one")

    let next = schedule.finished(1, at: Self.time(0))

    #expect(next.started == 6)
  }

  @Test func cancelledComputationLeavesTheQueue() {
    var schedule = Schedule(threads: 1, capacity: 10)
    for id in 1...3 { arrive(&schedule, id, "a") }

    let removals = [2, 2, 1].map { schedule.remove($0) }

    #expect(removals == [true, false, false])
    #expect(schedule.waitingCount == 1)
    let next = schedule.finished(1, at: Self.time(1))
    #expect(next.started == 3)
  }

  @Test func computationPastItsDeadlineIsRejectedInsteadOfStarted() {
    var schedule = Schedule(threads: 1, capacity: 10)
    arrive(&schedule, 1, "a")
    arrive(&schedule, 2, "a", deadline: Self.time(100))
    arrive(&schedule, 3, "a", deadline: Self.time(101))

    let next = schedule.finished(1, at: Self.time(100))

    #expect(next.expired == [2])
    #expect(next.started == 3)
  }

  @Test func oneClientFillsHalfOfTheQueueAndLeavesRoomForOthers() {
    var schedule = Schedule(threads: 1, capacity: 8)
    arrive(&schedule, 1, "flood")

    let flood = (2...9).map { arrive(&schedule, $0, "flood") }
    let others = (10...13).map { arrive(&schedule, $0, "client \($0)") }

    #expect(flood.count { $0 == .wait } == 4)
    #expect(flood.count { $0 == .reject } == 4)
    #expect(others == [.wait, .wait, .wait, .wait])
    let late = arrive(&schedule, 14, "late")
    #expect(late == .reject)
  }

  /// Random events; every computation is started, rejected or removed once, and no thread is idle while one waits.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func everyComputationEndsOnce(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var schedule = Schedule(threads: 3, capacity: 20)
    var (waiting, running, ended) = (Set<Int>(), Set<Int>(), Set<Int>())
    func startOrEnd(_ next: Schedule.Next) {
      for id in next.expired {
        let isWaiting = waiting.remove(id) != nil
        #expect(isWaiting)
        ended.insert(id)
      }
      if let id = next.started {
        let isWaiting = waiting.remove(id) != nil
        #expect(isWaiting)
        running.insert(id)
      }
    }
    for id in 1...500 {
      switch arrive(
        &schedule, id, "\(Int.random(in: 1...4, using: &random))", Int.random(in: 1...3, using: &random),
        deadline: Self.time(id + Int.random(in: 1...50, using: &random)), at: id)
      {
      case .start: running.insert(id)
      case .wait: waiting.insert(id)
      case .reject: ended.insert(id)
      }
      if Bool.random(using: &random), let id = running.sorted().randomElement(using: &random) {
        running.remove(id)
        ended.insert(id)
        startOrEnd(schedule.finished(id, at: Self.time(id)))
      }
      if Int.random(in: 0..<5, using: &random) == 0, let id = waiting.sorted().randomElement(using: &random) {
        let isRemoved = schedule.remove(id)
        #expect(isRemoved)
        waiting.remove(id)
        ended.insert(id)
      }
      #expect(running.count == 3 || waiting.isEmpty)
      #expect(schedule.runningCount == running.count)
      #expect(schedule.waitingCount == waiting.count)
    }
    while let id = running.first {
      running.remove(id)
      ended.insert(id)
      startOrEnd(schedule.finished(id, at: Self.time(501)))
    }
    #expect(ended == Set(1...500))
  }
}
