public import Basics

/// A closure that decides for each of some places with different ids whether it exists for the sender of a change.
package typealias PointJudge = @Sendable ([PointOfInterest]) throws(PointStoreError) -> [Bool]

/// Changes of places that a store makes in one transaction. Each operation sees the effects of those before it.
public struct PointBatch: Sendable {
  /// The maximum number of operations of a request.
  package static let maximumOperations = 1_000

  /// The maximum number of bytes of stored places that a batch reads and rewrites; see ``isTooLarge(_:)``.
  package static let maximumBytes = 16 << 20

  package var operations: [PointOperation]

  /// A Boolean value that indicates whether nothing is changed if an operation fails. Otherwise each succeeds or fails
  /// by itself.
  package var isAtomic: Bool

  /// The key that makes a repeat of the batch return the results of the first, for ``IdempotencyKey/lifetime``.
  package var key: IdempotencyKey?

  /// A Boolean value that indicates whether deletions are no edits, so that the next import may bring the places back.
  package var forgetsDeletions = false

  /// The client whose share of the store's connections the batch takes; `nil` for the program itself.
  package var client: String?

  /// The decision on which places exist for the sender, and may be written by it; `nil` if all do. A store calls it on
  /// the places that an operation replaces, in the same transaction.
  package var admits: PointJudge?

  package init(_ operations: [PointOperation], isAtomic: Bool = false, once key: IdempotencyKey? = nil) {
    self.operations = operations
    self.isAtomic = isAtomic
    self.key = key
  }

  /// Returns a Boolean value that indicates whether the places that the operations read and rewrite have more than
  /// ``maximumBytes``, as far as is known before the first operation is applied.
  ///
  /// An operation on a place reads it, and a patch writes it again. A place counts with its names and tags, after a
  /// replacement or a patch earlier in the batch with the greater of the sizes that it may have. What the batch itself
  /// contains does not count, as the length of a request is limited.
  ///
  /// - Parameter place: returns the place of an id before the batch, or `nil`.
  package func isTooLarge(_ place: (PointID) -> PointOfInterest?) -> Bool {
    var sizes: [PointID: Int] = [:]
    var found: [PointOfInterest] = []
    var total = 0
    for id in Set(operations.lazy.compactMap(\.id)) {
      guard let point = place(id) else { continue }
      sizes[id] = point.draft.textBytes
      total += point.draft.textBytes
      if total > Self.maximumBytes { return true }
      if admits != nil { found.append(point) }
    }
    // The result must not tell of places that do not exist for the sender.
    if let admits, !found.isEmpty, let admitted = try? admits(found) {
      for (point, isAdmitted) in zip(found, admitted) where !isAdmitted { sizes[point.id] = nil }
    }
    // A place that is created with an origin may get the id of a deleted place, which a later operation may name.
    var largestCreated = 0
    total = 0
    for operation in operations {
      switch operation {
      case .create(let draft):
        if draft.origin != nil { largestCreated = max(largestCreated, draft.textBytes) }
      case .put(let draft, let id, _):
        total += sizes[id] ?? largestCreated
        sizes[id] = max(sizes[id] ?? largestCreated, draft.textBytes)
      case .update(let id, _, let patchBytes, _):
        let size = sizes[id] ?? largestCreated
        total += 2 * size
        if size > 0 { sizes[id] = size + patchBytes }
      case .delete(let id, _): total += sizes[id] ?? largestCreated
      case .rejected: break
      }
      if total > Self.maximumBytes { return true }
    }
    return false
  }

  /// Returns the results as a store keeps them for a repeat, or `nil` if every operation failed: there is nothing then
  /// that a repeat must not do again.
  package func kept(_ results: [PointOperationResult]) -> [PointOperationResult]? {
    guard operations.isEmpty || results.contains(where: { !$0.isFailure }) else { return nil }
    return results.map { result in
      if case .rejected(let rejection) = result { .rejected(rejection.kept) } else { result }
    }
  }

  /// Returns the results of a repeat of the batch: operations that the caller has rejected get their text again.
  ///
  /// - Parameter kept: the results as the store has kept them.
  /// - Throws: ``PointWriteError/keyReused`` if they are those of another number of operations.
  package func repeated(_ kept: [PointOperationResult]) throws(PointWriteError) -> [PointOperationResult] {
    guard kept.count == operations.count else { throw .keyReused }
    return zip(kept, operations).map { result, operation in
      if case (.rejected, .rejected(let rejection)) = (result, operation) { .rejected(rejection) } else { result }
    }
  }
}

/// A change of one place in a batch.
package enum PointOperation: Sendable {
  /// Creates a place; see ``PointStore/create(_:once:)``.
  case create(PointDraft)

  /// Replaces the place of an id, or creates it; see ``PointStore/put(_:id:if:)``.
  case put(PointDraft, id: PointID, if: WriteCondition)

  /// Replaces the place of an id by the result of a closure, which may be called several times. The number of bytes is
  /// the maximum by which the place grows.
  case update(
    id: PointID, if: WriteCondition, growth: Int = 0,
    change: @Sendable (PointOfInterest) throws(RejectedOperation) -> PointDraft)

  /// Deletes the place of an id; see ``PointStore/delete(id:if:)``.
  case delete(id: PointID, if: WriteCondition)

  /// An operation that the caller has rejected. It fails.
  case rejected(RejectedOperation)

  /// The id of the place that the operation names.
  package var id: PointID? {
    switch self {
    case .put(_, let id, _), .update(let id, _, _, _), .delete(let id, _): id
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

/// The error of an operation that is invalid. A store keeps its brief text with the other results of the batch.
public struct RejectedOperation: Error, Hashable, Sendable {
  /// The explanation, in the caller's own form.
  @ComparedByBytes package private(set) var text: String

  private let brief: ExactText?

  /// Creates an error.
  ///
  /// - Parameter brief: the explanation that a store keeps for repeats; `nil` for all of it.
  package init(text: String, brief: String? = nil) {
    self.text = text
    self.brief = brief.map { ExactText($0) }
  }

  /// The error as a store keeps it.
  fileprivate var kept: RejectedOperation { RejectedOperation(text: brief?.text ?? text) }
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
  case forbidden(reason: ExactText)
  case rejected(RejectedOperation)

  /// A Boolean value that indicates whether the operation failed.
  package var isFailure: Bool {
    switch self {
    case .created, .changed, .deleted: false
    case .originTaken, .notFound, .conditionFailed, .forbidden, .rejected: true
    }
  }

  /// The error that the equivalent single call would have thrown; `nil` if the operation succeeded, or the caller
  /// rejected it.
  package var error: PointWriteError? {
    switch self {
    case .created, .changed, .deleted, .rejected: nil
    case .originTaken: .originTaken
    case .notFound: .notFound
    case .conditionFailed(let version): .conditionFailed(currentVersion: version)
    case .forbidden(let reason): .forbidden(reason: reason.text)
    }
  }
}

extension PointOperationResult {
  private enum Kind: String {
    case created, changed, deleted, originTaken, notFound, conditionFailed, forbidden, rejected
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
    case .forbidden(let reason): "\(Kind.forbidden) \(reason.text)"
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
    case (.forbidden, _, _): self = .forbidden(reason: ExactText(rest ?? ""))
    case (.rejected, _, _): self = .rejected(RejectedOperation(text: rest ?? ""))
    case (.created, _, _), (.changed, _, _), (.deleted, _, _): return nil
    }
  }
}

/// The places and their edits as the changes of a transaction see them: each with the effects of those before it.
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

  /// Returns the edits of the place of an id, or its deletion; `nil` for none.
  mutating func edits(of id: PointID) -> PlaceEdits?

  /// Returns the id of the deletion of a place with a source reference; `nil` for none.
  mutating func deletion(of origin: SourceReference) -> PointID?

  /// Returns a Boolean value that indicates whether there is room for the edits of a place that has none.
  mutating func hasRoom(forEdits count: Int) -> Bool

  /// Replaces the edits of the place of an id; `nil` removes them.
  mutating func setEdits(_ edits: PlaceEdits?, of id: PointID)

  /// Notes that a client has written the values that a place has already, for a store that does not return the edits of
  /// places. The default does nothing.
  mutating func confirm(_ point: PointOfInterest)
}

extension PointTransaction {
  package mutating func confirm(_ point: PointOfInterest) {}

  /// Creates a place under a new id, or under that of the deleted place that had its origin last.
  ///
  /// - Parameters:
  ///   - admits: the decision on the places of the sender; see ``PointBatch/admits``.
  ///   - reusesID: a Boolean value that indicates whether the id may be that of a deleted place. It is never if there is
  ///     a decision: the deleted place may not have existed for the sender.
  /// - Throws: ``PointWriteError``: `originTaken`, `deletedByClient`, or `forbidden` because of the decision.
  package mutating func create(
    _ draft: PointDraft, admitting admits: PointJudge? = nil, reusingID reusesID: Bool = true,
    as author: WriteAuthor = .client
  ) throws(PointWriteError) -> PointOfInterest {
    var (owner, former): (PointID?, PointID?)
    if let origin = draft.origin {
      owner = self.owner(of: origin)
      if owner == nil, reusesID, admits == nil { former = formerID(of: origin) }
    }
    var generator = SystemRandomNumberGenerator()
    let id = former ?? PointID(at: now, using: &generator)
    try check(draft, id: id, replacing: nil, admits)
    if let owner { throw try takenOrigin(by: owner, admits) }
    try checkDeletion(of: draft.origin, as: author)
    forgetDeletions(at: id, draft.origin)
    return put(draft, id: id)
  }

  /// Replaces the place of an id, or creates it; see ``PointStore/put(_:id:if:as:)``.
  ///
  /// - Parameter admits: the decision on the places of the sender; see ``PointBatch/admits``.
  /// - Throws: ``PointWriteError``: `originTaken`, `deletedByClient`, `conditionFailed`, `forbidden` because of the
  ///   decision, or ``PointStoreError/editsExhausted``.
  package mutating func replace(
    _ draft: PointDraft, id: PointID, if condition: WriteCondition, admitting admits: PointJudge? = nil,
    as author: WriteAuthor = .client
  ) throws(PointWriteError) -> (point: PointOfInterest, wasCreated: Bool) {
    let former = point(id: id)
    let visible = try former.flatMap { point throws(PointWriteError) in try point.visible(admits) }
    guard condition.holds(of: visible?.version) else { throw .conditionFailed(currentVersion: visible?.version) }
    if former != nil, visible == nil { throw .takenID }
    guard let former else {
      try check(draft, id: id, replacing: nil, admits)
      try checkOrigin(of: draft, id: id, admits)
      try checkDeletion(of: draft.origin, as: author)
      forgetDeletions(at: id, draft.origin)
      return (put(draft, id: id), true)
    }
    let known = former.draft.origin == nil ? nil : edits(of: id)
    var (draft, edits) = (draft, known)
    switch author {
    case .client: edits = PlaceEdits.afterWrite(to: id, from: former.draft, to: draft, at: now, knowing: known)
    case .source:
      if !draft.hasSameOrigin(as: former.draft) {
        edits = nil
      } else if let known {
        let merge = known.merging(draft, onto: former.draft)
        (draft, edits) = (merge.draft, merge.edits)
      }
    }
    var point = former
    if former.draft == draft {
      if author == .client { confirm(former) }
    } else {
      try check(draft, id: id, replacing: former, admits)
      try checkOrigin(of: draft, id: id, admits)
      if known == nil, let edits, !hasRoom(forEdits: edits.edits.count) { throw .store(.editsExhausted) }
      if !draft.hasSameOrigin(as: former.draft) {
        try checkDeletion(of: draft.origin, as: author)
        forgetDeletions(at: id, draft.origin)
      }
      point = put(draft, id: id)
    }
    if edits != known { setEdits(edits, of: id) }
    return (point, false)
  }

  /// Deletes the place of an id. A deletion for which the store has no room is made too, as it may be for privacy; the
  /// next import may then bring the place back.
  ///
  /// - Parameters:
  ///   - admits: the decision on the places of the sender; see ``PointBatch/admits``.
  ///   - isForgotten: a Boolean value that indicates whether the deletion is no edit.
  /// - Throws: ``PointWriteError``: `notFound` or `conditionFailed`.
  package mutating func delete(
    id: PointID, if condition: WriteCondition, admitting admits: PointJudge? = nil, forgetting isForgotten: Bool = false
  ) throws(PointWriteError) {
    guard let point = try point(id: id)?.visible(admits) else { throw .notFound }
    guard condition.holds(of: point.version) else { throw .conditionFailed(currentVersion: point.version) }
    if let origin = point.draft.origin {
      let known = edits(of: id)
      let isKept = !isForgotten && (known != nil || hasRoom(forEdits: 1))
      let deletion = isKept ? PlaceEdits(deletionOf: id, origin: origin, at: now) : nil
      if deletion != known { setEdits(deletion, of: id) }
    }
    remove(point)
  }

  /// Forgets the edits of a place; see ``PointStore/forgetEdits(of:)``.
  ///
  /// - Throws: ``PointWriteError``: `notFound`.
  package mutating func forgetEdits(of id: PointID) throws(PointWriteError) -> PointOfInterest? {
    guard let edits = edits(of: id) else { throw .notFound }
    setEdits(nil, of: id)
    guard let point = point(id: id) else { return nil }
    let draft = edits.undone(in: point.draft)
    return draft == point.draft ? point : put(draft, id: id)
  }

  /// Forgets the deletions that end as a place gets an id and an origin.
  private mutating func forgetDeletions(at id: PointID, _ origin: SourceReference?) {
    if edits(of: id)?.isDeletion == true { setEdits(nil, of: id) }
    if let origin, let deleted = deletion(of: origin) { setEdits(nil, of: deleted) }
  }

  /// Checks that a write as a data set does not bring back a place that a client deleted.
  private mutating func checkDeletion(
    of origin: SourceReference?, as author: WriteAuthor
  ) throws(PointWriteError) {
    guard author == .source, let origin, let id = deletion(of: origin) else { return }
    throw .deletedByClient(id: id)
  }

  /// Checks that no other place has the origin of a draft.
  private mutating func checkOrigin(
    of draft: PointDraft, id: PointID, _ admits: PointJudge?
  ) throws(PointWriteError) {
    guard let origin = draft.origin, let owner = owner(of: origin), owner != id else { return }
    throw try takenOrigin(by: owner, admits)
  }

  /// Checks that a place will be one of the sender.
  ///
  /// - Throws: ``PointWriteError``: `forbidden`.
  private func check(
    _ draft: PointDraft, id: PointID, replacing former: PointOfInterest?, _ admits: PointJudge?
  ) throws(PointWriteError) {
    guard admits != nil else { return }
    let point = PointOfInterest(
      id: id, draft: draft, version: (former?.version ?? 0) &+ 1, createdAt: former?.createdAt ?? now, updatedAt: now)
    guard try point.visible(admits) != nil else { throw .outside }
  }

  /// Returns the error of an origin that another place has, which tells nothing of a place that is not one of the sender.
  private mutating func takenOrigin(
    by owner: PointID, _ admits: PointJudge?
  ) throws(PointWriteError) -> PointWriteError {
    guard admits != nil else { return .originTaken }
    return try point(id: owner)?.visible(admits) == nil ? .hiddenOwner : .originTaken
  }

  /// Applies an operation, and returns its result. One that fails changes nothing.
  ///
  /// - Parameters:
  ///   - admits: the decision on the places of the sender; see ``PointBatch/admits``.
  ///   - forgetsDeletions: a Boolean value that indicates whether a deletion is no edit.
  /// - Throws: ``PointStoreError/editsExhausted``, which ends the batch.
  package mutating func apply(
    _ operation: PointOperation, admitting admits: PointJudge? = nil, forgettingDeletions forgetsDeletions: Bool = false
  ) throws(PointStoreError) -> PointOperationResult {
    do throws(PointWriteError) {
      switch operation {
      case .create(let draft):
        let point = try create(draft, admitting: admits)
        return .created(point.id, version: point.version)
      case .put(let draft, let id, let condition):
        let (point, wasCreated) = try replace(draft, id: id, if: condition, admitting: admits)
        return wasCreated ? .created(id, version: point.version) : .changed(id, version: point.version)
      case .update(let id, let condition, _, let change):
        guard let current = try point(id: id)?.visible(admits) else { return .notFound }
        guard condition.holds(of: current.version) else { return .conditionFailed(currentVersion: current.version) }
        let draft: PointDraft
        do throws(RejectedOperation) {
          draft = try change(current)
        } catch {
          return .rejected(error)
        }
        let (point, _) = try replace(draft, id: id, if: .none, admitting: admits)
        return .changed(id, version: point.version)
      case .delete(let id, let condition):
        try delete(id: id, if: condition, admitting: admits, forgetting: forgetsDeletions)
        return .deleted(id)
      case .rejected(let rejection): return .rejected(rejection)
      }
    } catch {
      switch error {
      case .originTaken, .deletedByClient: return .originTaken
      case .conditionFailed(let version): return .conditionFailed(currentVersion: version)
      case .forbidden(let reason): return .forbidden(reason: ExactText(reason))
      case .store(.editsExhausted): throw .editsExhausted
      case .store:
        return .forbidden(reason: ExactText("the filter or the areas of the key or token can't be evaluated in time"))
      case .notFound, .keyInFlight, .keyReused, .tooLarge: return .notFound
      }
    }
  }
}

extension PointOfInterest {
  /// Returns the place if it exists for the sender of a change.
  fileprivate func visible(_ admits: PointJudge?) throws(PointWriteError) -> PointOfInterest? {
    guard let admits else { return self }
    return try PointWriteError.wrapping(admits([self])[0]) ? self : nil
  }
}

extension PointWriteError {
  /// The error of a change after which the place would not exist for the sender.
  package static let outside = forbidden(reason: ForbiddenChange.outside)

  /// The error of an id that belongs to a place which does not exist for the sender.
  package static let takenID = forbidden(reason: ForbiddenChange.takenID)

  /// The error of an origin that belongs to a place which does not exist for the sender.
  package static let hiddenOwner = forbidden(reason: ForbiddenChange.hiddenOwner)
}

/// The reasons why a sender for whom some places do not exist may not make a change.
package enum ForbiddenChange {
  package static let outside = "the place would not match the filter or be in the areas of the key or token"
  package static let takenID = "this id is already that of another place"
  package static let hiddenOwner = "this source and sourceId are already those of another place"
}
