package import Basics

/// Changes of places that a store makes in one transaction. Each operation sees the effects of those before it.
public struct PointBatch: Sendable {
  /// The maximum number of operations of a request.
  package static let maximumOperations = 1_000

  package var operations: [PointOperation]

  /// A Boolean value that indicates whether nothing is changed if an operation fails. Otherwise each succeeds or fails
  /// by itself.
  package var isAtomic: Bool

  /// The key that makes a repeat of the batch return the results of the first, for ``IdempotencyKey/lifetime``.
  package var key: IdempotencyKey?

  package init(_ operations: [PointOperation], isAtomic: Bool = false, once key: IdempotencyKey? = nil) {
    self.operations = operations
    self.isAtomic = isAtomic
    self.key = key
  }
}

/// A change of one place in a batch.
package enum PointOperation: Sendable {
  /// Creates a place; see ``PointStore/create(_:once:)``.
  case create(PointDraft)

  /// Replaces the place of an id, or creates it; see ``PointStore/put(_:id:if:)``.
  case put(PointDraft, id: PointID, if: WriteCondition)

  /// Replaces the place of an id by the result of a closure, which may be called several times.
  case update(
    id: PointID, if: WriteCondition, change: @Sendable (PointOfInterest) throws(RejectedOperation) -> PointDraft)

  /// Deletes the place of an id; see ``PointStore/delete(id:if:)``.
  case delete(id: PointID, if: WriteCondition)

  /// An operation that the caller has rejected. It fails.
  case rejected(RejectedOperation)

  /// The id of the place that the operation names.
  package var id: PointID? {
    switch self {
    case .put(_, let id, _), .update(let id, _, _), .delete(let id, _): id
    case .create, .rejected: nil
    }
  }

  /// The source reference that the operation gives to its place, as far as it is known without the place.
  package var origin: SourceReference? {
    switch self {
    case .create(let draft), .put(let draft, _, _): draft.origin
    case .update, .delete, .rejected: nil
    }
  }
}

/// The error of an operation that is invalid. A store keeps its text with the other results of the batch.
public struct RejectedOperation: Error, Hashable, Sendable {
  /// The explanation, in the caller's own form.
  @ComparedByBytes package private(set) var text: String

  package init(text: String) { self.text = text }
}

/// The result of an operation of a batch.
public enum PointOperationResult: Hashable, Sendable {
  case created(PointID, version: Int64)

  /// The place was replaced, or had the values already.
  case changed(PointID, version: Int64)

  case deleted(PointID)
  case originTaken
  case notFound
  case conditionFailed(currentVersion: Int64?)
  case rejected(RejectedOperation)

  /// A Boolean value that indicates whether the operation failed.
  package var isFailure: Bool {
    switch self {
    case .created, .changed, .deleted: false
    case .originTaken, .notFound, .conditionFailed, .rejected: true
    }
  }
}

extension PointOperationResult {
  private enum Kind: String {
    case created, changed, deleted, originTaken, notFound, conditionFailed, rejected
  }

  /// The result as text, for stores that keep it.
  package var text: String {
    switch self {
    case .created(let id, let version): "\(Kind.created) \(id) \(version)"
    case .changed(let id, let version): "\(Kind.changed) \(id) \(version)"
    case .deleted(let id): "\(Kind.deleted) \(id)"
    case .originTaken: "\(Kind.originTaken)"
    case .notFound: "\(Kind.notFound)"
    case .conditionFailed(let version): "\(Kind.conditionFailed)\(version.map { " \($0)" } ?? "")"
    case .rejected(let rejection): "\(Kind.rejected) \(rejection.text)"
    }
  }

  /// Creates a result from its ``text``; `nil` for another text.
  package init?(text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(Substring(parts[0]))) else { return nil }
    let rest = parts.count > 1 ? String(Substring(parts[1])) : nil
    let fields = (rest ?? "").split(separator: " ").map { String($0) }
    let id = fields.first.flatMap { PointID($0) }
    let version = fields.last.flatMap { Int64($0) }
    switch (kind, id, version) {
    case (.created, let id?, let version?): self = .created(id, version: version)
    case (.changed, let id?, let version?): self = .changed(id, version: version)
    case (.deleted, let id?, _): self = .deleted(id)
    case (.originTaken, _, _): self = .originTaken
    case (.notFound, _, _): self = .notFound
    case (.conditionFailed, _, let version): self = .conditionFailed(currentVersion: version)
    case (.rejected, _, _): self = .rejected(RejectedOperation(text: rest ?? ""))
    case (.created, _, _), (.changed, _, _), (.deleted, _, _): return nil
    }
  }
}

/// The places as the changes of a transaction see them: each with the effects of those before it.
package protocol PointTransaction {
  /// The time of the changes.
  var now: Timestamp { get }

  /// Returns the place of an id, or `nil`.
  mutating func point(id: PointID) -> PointOfInterest?

  /// Returns the id of the place with a source reference, or `nil`.
  mutating func owner(of origin: SourceReference) -> PointID?

  /// Returns the id of the deleted place that had a source reference last; `nil` if there is none, or if another place
  /// has the id now.
  mutating func formerID(of origin: SourceReference) -> PointID?

  /// Creates or replaces the place of an id, and returns it.
  mutating func put(_ draft: PointDraft, id: PointID) -> PointOfInterest

  /// Removes an existing place.
  mutating func remove(_ point: PointOfInterest)
}

extension PointTransaction {
  /// Creates a place under a new id, or under that of the deleted place that had its origin last.
  ///
  /// - Throws: ``PointWriteError/originTaken``.
  package mutating func create(_ draft: PointDraft) throws(PointWriteError) -> PointOfInterest {
    var former: PointID?
    if let origin = draft.origin {
      guard owner(of: origin) == nil else { throw .originTaken }
      former = formerID(of: origin)
    }
    var generator = SystemRandomNumberGenerator()
    return put(draft, id: former ?? PointID(at: now, using: &generator))
  }

  /// Replaces the place of an id, or creates it; see ``PointStore/put(_:id:if:)``.
  ///
  /// - Throws: ``PointWriteError``: `originTaken` or `conditionFailed`.
  package mutating func replace(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition
  ) throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let former = point(id: id)
    guard condition.holds(of: former?.version) else { throw .conditionFailed(currentVersion: former?.version) }
    if let former, former.draft == draft { return (former, false) }
    if let origin = draft.origin, let owner = owner(of: origin), owner != id { throw .originTaken }
    return (put(draft, id: id), former == nil)
  }

  /// Deletes the place of an id.
  ///
  /// - Throws: ``PointWriteError``: `notFound` or `conditionFailed`.
  package mutating func delete(id: PointID, if condition: WriteCondition) throws(PointWriteError) {
    guard let point = point(id: id) else { throw .notFound }
    guard condition.holds(of: point.version) else { throw .conditionFailed(currentVersion: point.version) }
    remove(point)
  }

  /// Applies an operation, and returns its result. One that fails changes nothing.
  package mutating func apply(_ operation: PointOperation) -> PointOperationResult {
    do throws(PointWriteError) {
      switch operation {
      case .create(let draft):
        let point = try create(draft)
        return .created(point.id, version: point.version)
      case .put(let draft, let id, let condition):
        let (point, wasCreated) = try replace(draft, id: id, if: condition)
        return wasCreated ? .created(id, version: point.version) : .changed(id, version: point.version)
      case .update(let id, let condition, let change):
        guard let current = point(id: id) else { return .notFound }
        guard condition.holds(of: current.version) else { return .conditionFailed(currentVersion: current.version) }
        let draft: PointDraft
        do throws(RejectedOperation) {
          draft = try change(current)
        } catch {
          return .rejected(error)
        }
        return .changed(id, version: try replace(draft, id: id, if: .none).point.version)
      case .delete(let id, let condition):
        try delete(id: id, if: condition)
        return .deleted(id)
      case .rejected(let rejection): return .rejected(rejection)
      }
    } catch {
      switch error {
      case .originTaken: return .originTaken
      case .conditionFailed(let version): return .conditionFailed(currentVersion: version)
      case .notFound, .keyInFlight, .keyReused, .forbidden, .store: return .notFound
      }
    }
  }
}
