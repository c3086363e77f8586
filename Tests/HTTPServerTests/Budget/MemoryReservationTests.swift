import FairShares
import NIOPosix
import TestSupport
import Testing

@testable import HTTPServer

/// The reservations of a budget of 16 MiB, of which 12 MiB are for reservations.
@Suite(.timeLimit(.minutes(5))) struct MemoryReservationTests {
  private static let mebibyte = 1024 * 1024

  private static func budget(share: Duration = .seconds(300)) -> OutputBudget {
    var limits = HTTPServerConfiguration.Limits()
    limits.bufferedBytes = 16 * mebibyte
    var timeouts = HTTPServerConfiguration.Timeouts()
    timeouts.share = share
    return OutputBudget(limits, timeouts, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
  }

  @Test func reservationsAreGrantedOnlyWhileTheyFit() throws {
    let budget = Self.budget()
    let first = budget.reserveAtOnce(bytes: 5 * Self.mebibyte)
    let second = budget.reserveAtOnce(bytes: 5 * Self.mebibyte)
    let third = budget.reserveAtOnce(bytes: 5 * Self.mebibyte)
    let small = budget.reserveAtOnce(bytes: 2 * Self.mebibyte)

    #expect(first != nil && second != nil && third == nil && small != nil)
    #expect(budget.heldBytes == 12 * Self.mebibyte)
  }

  @Test func reservationOfMoreThanTheBudgetIsGrantedWhileHalfIsFree() async throws {
    let budget = Self.budget()
    var half = budget.reserveAtOnce(bytes: 7 * Self.mebibyte)
    #expect(half != nil && budget.reserveAtOnce(bytes: 20 * Self.mebibyte) == nil)

    half = nil
    let large = try await budget.reserve(bytes: 20 * Self.mebibyte)

    #expect(budget.heldBytes == 20 * Self.mebibyte && budget.isShort)
    extendLifetime(large)
  }

  @Test func reservationThatDoesNotFitWaitsWhileSmallerOnesAreGranted() async throws {
    let budget = Self.budget()
    var held = budget.reserveAtOnce(bytes: 8 * Self.mebibyte)
    #expect(held != nil)
    let large = Task { try await budget.reserve(bytes: 5 * Self.mebibyte) }
    while !budget.isShort { await Task.yield() }

    let small = try await budget.reserve(bytes: 3 * Self.mebibyte)
    #expect(budget.heldBytes == 11 * Self.mebibyte)
    held = nil
    let granted = try await large.value

    #expect(budget.heldBytes == 8 * Self.mebibyte && !budget.isShort)
    extendLifetime((small, granted))
  }

  @Test func reservationThatFindsNoRoomInTimeFails() async throws {
    let budget = Self.budget(share: .zero)
    let held = budget.reserveAtOnce(bytes: 8 * Self.mebibyte)

    await #expect(throws: ShareQueue<RequestSender>.Rejection.timedOut) {
      try await budget.reserve(bytes: 5 * Self.mebibyte)
    }

    #expect(budget.heldBytes == 8 * Self.mebibyte && !budget.isShort)
    extendLifetime(held)
  }

  @Test func clientHasAtMostAsMuchAsIsFreeBesideIt() {
    let budget = Self.budget()
    let (one, other) = (Self.client("192.0.2.1"), Self.client("192.0.2.2"))

    var ofOne = (0..<12).compactMap { _ in budget.reserveAtOnce(bytes: Self.mebibyte, for: one) }
    let ofOther = (0..<12).compactMap { _ in budget.reserveAtOnce(bytes: Self.mebibyte, for: other) }
    let first = ofOne.count
    ofOne += (0..<12).compactMap { _ in budget.reserveAtOnce(bytes: Self.mebibyte, for: one) }

    #expect((first, ofOther.count, ofOne.count) == (6, 3, 6))
  }

  @Test func responsesThatHaveWaitedLeaveRoomForOtherClients() async throws {
    let budget = Self.budget()
    let (one, other) = (Self.client("192.0.2.1"), Self.client("192.0.2.2"))
    var filling = budget.reserveAtOnce(bytes: 12 * Self.mebibyte)
    let begun = Counter()
    let tasks = (0..<12).map { _ in
      Task {
        let reservation = try await budget.reserve(bytes: 1024, for: one)
        begun.add()
        return reservation
      }
    }
    while budget.queue.count < 12 { await Task.yield() }
    #expect(filling != nil)

    filling = nil
    while begun.value < 6 { await Task.yield() }
    let ofOther = try await budget.reserve(bytes: Self.mebibyte, for: other)

    #expect(begun.value == 6 && budget.queue.count == 6)
    extendLifetime(ofOther)
    for task in tasks { task.cancel() }
    for task in tasks { _ = try? await task.value }
  }

  private static func client(_ address: String) -> RequestSender { .address(IPAddress(address)) }
}
