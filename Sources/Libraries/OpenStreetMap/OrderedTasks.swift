import Dispatch
import Synchronization

/// Tasks that run on several threads, and whose results are taken in order. At most a few results wait to be taken.
final class OrderedTasks<Output: Sendable> {
  private let state: State
  private let count: Int
  private var taken = 0

  /// Starts tasks 0..<count.
  init(count: Int, threads: Int, _ task: @escaping @Sendable (Int) throws(OSMError) -> Output) {
    self.count = count
    let state = State(count: count)
    self.state = state
    // One result more than there are threads, so that none waits while a result is being taken.
    for _ in 0...threads { state.slots.signal() }
    let queue = DispatchQueue(label: "openstreetmap.blocks", attributes: .concurrent)
    for _ in 0..<min(threads, count) {
      queue.async {
        while let index = state.begin() {
          let result: Result<Output, OSMError>
          do throws(OSMError) {
            result = .success(try task(index))
          } catch {
            result = .failure(error)
          }
          state.end(index, result)
        }
      }
    }
  }

  deinit { state.cancel() }

  /// Waits for the next result, and returns nil after the last one.
  func next() throws(OSMError) -> Output? {
    guard taken < count else { return nil }
    let result = state.result(taken)
    taken += 1
    state.slots.signal()
    return try result.get()
  }

  private final class State: Sendable {
    let slots = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let count: Int
    private let shared = Mutex(Shared())

    private struct Shared {
      var started = 0
      var isCancelled = false
      var results: [Int: Result<Output, OSMError>] = [:]
    }

    init(count: Int) { self.count = count }

    func begin() -> Int? {
      slots.wait()
      let index = shared.withLock { shared -> Int? in
        guard !shared.isCancelled, shared.started < count else { return nil }
        shared.started += 1
        return shared.started - 1
      }
      // The other threads end as well.
      if index == nil { slots.signal() }
      return index
    }

    func end(_ index: Int, _ result: Result<Output, OSMError>) {
      shared.withLock { $0.results[index] = result }
      finished.signal()
    }

    func result(_ index: Int) -> Result<Output, OSMError> {
      while true {
        if let result = shared.withLock({ $0.results.removeValue(forKey: index) }) { return result }
        finished.wait()
      }
    }

    func cancel() {
      shared.withLock { shared in
        shared.isCancelled = true
        shared.results = [:]
      }
      slots.signal()
    }
  }
}
