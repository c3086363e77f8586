import Logging
import Points
import Synchronization

/// Logs when a store becomes unavailable and when it is available again: one line each, however many calls fail. It
/// does the same for the refusal of writes by a store that is read-only, and for each operation that the database's
/// operator has not granted.
final class OutageLog: StoreObserver {
  /// The calls whose outcomes indicate the store's state.
  enum Watch {
    case all
    /// Only writes: the places in memory can always be read, so that only a write reveals the state of the file.
    case writes
  }

  private let name: String
  private let watch: Watch
  /// A path that ``refusalOfWrites`` must not have, and what replaces it.
  private let hidden: (path: String, replacement: String)?
  private let logger: Logger
  /// The reason of the last outage.
  private let reason = Mutex("")
  private let state = Atomic(State.available)
  /// A Boolean value that indicates whether the last write was refused by a store that is read-only, and can be read.
  private let refusesWrites = Atomic(false)
  /// The privileges that were denied when they were last needed, a bit each.
  private let denied = Atomic<UInt16>(0)

  private enum State: UInt8, AtomicRepresentable {
    case available
    case unavailable
    /// The readiness check has found a schema that is not this program's. Calls that need nothing that is missing may
    /// succeed meanwhile, which does not end it.
    case mismatched
  }

  /// Creates a log.
  ///
  /// - Parameters:
  ///   - name: the store's name in log lines.
  ///   - hidden: a path that clients must not be told, and what they are told instead.
  init(
    of name: String = "the store", watching watch: Watch = .all,
    hiding hidden: (path: String, replacement: String)? = nil, logger: Logger
  ) {
    self.name = name
    self.watch = watch
    self.hidden = hidden
    self.logger = logger
  }

  /// `nil` if reads indicate the store's state too.
  var refusalOfWrites: String? {
    guard watch == .writes, state.load(ordering: .acquiring) != .available else { return nil }
    let reason = reason.withLock { $0 }
    return hidden.map { reason.replacing($0.path, with: $0.replacement) } ?? reason
  }

  func note(_ operation: StoreOperation, error: (any Error)?, took duration: Duration, isWrite: Bool) {
    guard watch == .all || isWrite else { return }
    guard let error else { return noteSuccess(of: operation, isWrite: isWrite) }
    if let error = PointStoreError(causing: error) { note(error, of: operation, isWrite: isWrite) }
  }

  private func noteSuccess(of operation: StoreOperation, isWrite: Bool) {
    let privilege = Privilege(operation)
    if denied.load(ordering: .relaxed) & privilege.bit != 0,
      denied.bitwiseAnd(~privilege.bit, ordering: .relaxed).oldValue & privilege.bit != 0
    {
      logger.notice("\(name) allows the operation again", metadata: ["operation": "\(privilege.name)"])
    }
    if isWrite, refusesWrites.load(ordering: .relaxed), refusesWrites.exchange(false, ordering: .relaxed) {
      logger.notice("\(name) accepts writes again")
    }
    let old = state.load(ordering: .relaxed)
    guard old == .unavailable || old == .mismatched && operation == .readiness else { return }
    if state.compareExchange(expected: old, desired: .available, ordering: .relaxed).exchanged {
      logger.notice("\(name) is available again")
    }
  }

  private func note(_ error: PointStoreError, of operation: StoreOperation, isWrite: Bool) {
    switch error {
    case .misconfigured(let reason):
      let privilege = Privilege(operation)
      guard denied.bitwiseOr(privilege.bit, ordering: .relaxed).oldValue & privilege.bit == 0 else { return }
      logger.error(
        "\(name) denies an operation", metadata: ["operation": "\(privilege.name)", "reason": "\(reason)"])
    case .readOnly(let reason):
      guard isWrite, !refusesWrites.exchange(true, ordering: .relaxed) else { return }
      logger.warning("\(name) refuses writes", metadata: ["reason": "\(reason)"])
    case .schemaMismatch(let reason) where operation == .readiness:
      self.reason.withLock { $0 = reason }
      if state.exchange(.mismatched, ordering: .relaxed) == .available { logBeginning(reason) }
    case .unavailable(let reason), .schemaMismatch(let reason):
      self.reason.withLock { $0 = reason }
      if state.compareExchange(expected: .available, desired: .unavailable, ordering: .releasing).exchanged {
        logBeginning(reason)
      }
    case .indexRequired, .indexNotReady, .filterTimeout, .stepLimit, .overloaded, .uploadTooSlow, .keysExhausted,
      .editsExhausted, .timeout, .outcomeUnknown, .unexpected:
      break
    }
  }

  private func logBeginning(_ reason: String) {
    logger.error("\(name) is unavailable", metadata: ["reason": "\(reason)"])
  }
}

/// The operations that need the same privileges of a database's role.
private enum Privilege: UInt16 {
  case search, lookUp, readiness, export, create, put, delete, batch, `import`, sources, changes, areas, areaChanges
  case records, edits

  init(_ operation: StoreOperation) {
    self =
      switch operation {
      case .page, .matches, .count, .categories, .tile, .clusters, .facets, .duplicates: .search
      case .point, .shuffled, .version: .lookUp
      case .readiness: .readiness
      case .export: .export
      case .create: .create
      case .put: .put
      case .delete, .deletions: .delete
      case .batch: .batch
      case .import: .import
      case .sources: .sources
      case .changes: .changes
      case .areas: .areas
      case .areaChanges: .areaChanges
      case .records: .records
      case .edits: .edits
      }
  }

  var bit: UInt16 { 1 << rawValue }

  /// The name in log lines.
  var name: String {
    switch self {
    case .search: "search"
    case .lookUp: "look-up"
    case .readiness: "readiness check"
    case .export: "export"
    case .create: "create"
    case .put: "replace"
    case .delete: "delete"
    case .batch: "batch"
    case .import: "import"
    case .sources: "sources"
    case .changes: "changes"
    case .areas: "areas"
    case .areaChanges: "changes of areas"
    case .records: "records of features"
    case .edits: "edits"
    }
  }
}
