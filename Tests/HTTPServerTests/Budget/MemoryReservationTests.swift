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

    await #expect(throws: ShareQueue.Rejection.timedOut) { try await budget.reserve(bytes: 5 * Self.mebibyte) }

    #expect(budget.heldBytes == 8 * Self.mebibyte && !budget.isShort)
    extendLifetime(held)
  }
}
