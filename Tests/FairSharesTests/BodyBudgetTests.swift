import FairShares
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct BodyBudgetTests {
  private typealias Budget = BodyBudget<String>

  @Test func bodiesHoldMemoryUntilTheyAreReleased() {
    let budget = Budget(limit: 100_000)
    var share: BodyShare<String>? = budget.share(of: "192.0.2.1") {}
    let fits = share?.hold(60_000)
    let held = budget.heldBytes
    share = nil

    #expect(fits == true)
    #expect(held == 60_000)
    #expect(budget.heldBytes == 0)
  }

  @Test func bodyOfWhichNothingHasArrivedCountsToo() {
    let budget = Budget(limit: 5 * Budget.leastBytes)
    let cut = Notes()
    let shares = (0..<6).map { number in budget.share(of: "192.0.2.1") { cut.note("\(number)") } }

    #expect(shares.allSatisfy { $0.hold(0) })
    #expect(cut.names == ["0"])
    #expect(budget.heldBytes == 5 * Budget.leastBytes)
  }

  @Test func bodyAloneFitsWhateverItsLength() {
    let budget = Budget(limit: 100_000)
    let share = budget.share(of: "192.0.2.1") {}

    #expect(share.hold(1_000_000))
  }

  @Test func firstBodyOfTheClientThatHoldsTheMostGivesWay() {
    let budget = Budget(limit: 100_000)
    let cut = Notes()
    let other = budget.share(of: "192.0.2.1") { cut.note("other") }
    let first = budget.share(of: "192.0.2.2") { cut.note("first") }
    let second = budget.share(of: "192.0.2.2") { cut.note("second") }
    let fit = [other.hold(30_000), first.hold(35_000), second.hold(35_000)]
    let late = budget.share(of: "192.0.2.3") { cut.note("late") }

    #expect(fit == [true, true, true])
    #expect(late.hold(20_000))
    #expect(cut.names == ["first"])
    #expect(budget.heldBytes == 85_000)
    // A body that was cut holds nothing more.
    #expect(!first.hold(36_000))
    #expect(budget.heldBytes == 85_000)
  }

  @Test func bodyOfTheClientThatHoldsTheMostGivesWayToItsOthers() {
    let budget = Budget(limit: 100_000)
    let cut = Notes()
    let first = budget.share(of: "192.0.2.1") { cut.note("first") }
    let whole = budget.share(of: "192.0.2.1") { cut.note("whole") }
    _ = whole.hold(40_000)
    whole.noteWhole()
    _ = first.hold(50_000)
    let last = budget.share(of: "192.0.2.1") { cut.note("last") }

    #expect(last.hold(50_000))
    #expect(cut.names == ["first"])
    // Only itself is not whole.
    #expect(!last.hold(70_000))
    #expect(cut.names == ["first"])
    #expect(budget.heldBytes == 40_000)
  }
}

/// The names that were noted, in order.
final class Notes: Sendable {
  private let state = Mutex<[String]>([])
  var names: [String] { state.withLock { $0 } }
  func note(_ name: String) { state.withLock { $0.append(name) } }
}
