import Basics
import Foundation

/// An edit that was suggested for a place, or a new place, until a reviewer accepts or rejects it.
package struct Suggestion: Codable, Sendable {
  /// The maximum number of open suggestions of a store.
  package static let maximumOpenCount = 10_000

  /// The maximum number of open suggestions of one key or token.
  package static let maximumOpenCountOfKey = 1_000

  /// The maximum number of open suggestions from one address: of IPv6 the first 64 bits.
  package static let maximumOpenCountOfAddress = 100

  package let id: PointID

  /// The place that the edit is for; `nil` for a new place.
  package let place: PointID?

  /// The version of the place that the edit was made to.
  package let version: Int64?

  /// The merge patch (RFC 7396), or the new place, as JSON.
  package let change: String

  /// The fields that differ, with their values before and after, as JSON.
  package let difference: String

  /// The number of fields that differ and are not in ``difference``; `nil` if all are.
  package let omittedDifferences: Int?
  package let comment: String?

  /// The means by which the suggester can be reached.
  package private(set) var contact: String?

  /// The namespace of the key or token that it was sent with.
  package private(set) var key: String?

  /// The address that it came from.
  package private(set) var address: String?

  /// The idempotency key of the request, which a repeat has too.
  package private(set) var requestKey: String?

  /// The hash of the request, which a repeat shares.
  package private(set) var requestHash: UInt64?
  package let createdAt: Timestamp

  /// The time at which the suggestion can't be decided any more, and the data of its sender are erased.
  package let expiresAt: Timestamp

  /// The decision; `nil` while there is none.
  package private(set) var decision: Decision?

  /// The decision of a reviewer.
  package struct Decision: Codable, Sendable {
    package let isAccepted: Bool
    package let reason: String?
    package let time: Timestamp

    /// The place that was changed or created.
    package fileprivate(set) var place: PointID?

    /// The version of the place after the change.
    package fileprivate(set) var version: Int64?

    package init(isAccepted: Bool, reason: String?, time: Timestamp) {
      self.isAccepted = isAccepted
      self.reason = reason
      self.time = time
    }
  }

  package enum State: String, CaseIterable, Sendable {
    case open, accepted, rejected, expired
  }

  package init(
    id: PointID, place: PointID?, version: Int64?, change: String, difference: String, omittedDifferences: Int? = nil,
    comment: String?, contact: String?, key: String?, address: String?, request: IdempotencyKey?, createdAt: Timestamp,
    lifetime: Duration
  ) {
    self.id = id
    self.place = place
    self.version = version
    self.change = change
    self.difference = difference
    self.omittedDifferences = omittedDifferences
    self.comment = comment
    self.contact = contact
    self.key = key
    self.address = address
    requestKey = request?.text
    requestHash = request?.requestHash
    self.createdAt = createdAt
    expiresAt = createdAt.adding(lifetime)
  }

  /// The number of bytes of its texts.
  package var textBytes: Int {
    change.utf8.count + difference.utf8.count + (comment?.utf8.count ?? 0) + (contact?.utf8.count ?? 0)
      + (decision?.reason?.utf8.count ?? 0)
  }

  package func state(at now: Timestamp) -> State {
    if let decision { return decision.isAccepted ? .accepted : .rejected }
    return now < expiresAt ? .open : .expired
  }

  /// The time at which the suggestion is removed: as long after its expiry as it could be decided before.
  fileprivate var removedAt: Timestamp {
    Timestamp(microsecondsSinceEpoch: 2 * expiresAt.microsecondsSinceEpoch - createdAt.microsecondsSinceEpoch)
  }

  /// A Boolean value that indicates whether it has data of its sender.
  fileprivate var hasSender: Bool { contact != nil || key != nil || address != nil || requestKey != nil }

  /// The suggestion without data of its sender.
  package var erased: Suggestion {
    var suggestion = self
    (suggestion.contact, suggestion.key, suggestion.address) = (nil, nil, nil)
    (suggestion.requestKey, suggestion.requestHash) = (nil, nil)
    return suggestion
  }

  /// Returns the suggestion with a decision, and the result of the change that it accepts.
  package func decided(_ decision: Decision, _ result: PointOperationResult?) -> Suggestion {
    var (suggestion, decision) = (self, decision)
    switch result {
    case .created(let id, let version), .changed(let id, let version):
      (decision.place, decision.version) = (id, version)
    default: break
    }
    suggestion.decision = decision
    return suggestion
  }
}

extension Suggestion {
  /// The suggestion as a store keeps it.
  package var document: String {
    get throws(PointStoreError) {
      do {
        return String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
      } catch {
        throw .unexpected(reason: "a suggestion can't be encoded: \(error)")
      }
    }
  }

  /// Creates the suggestion of a stored document.
  package init(document: String) throws(PointStoreError) {
    do {
      self = try JSONDecoder().decode(Suggestion.self, from: Data(document.utf8))
    } catch {
      throw .unexpected(reason: "a stored suggestion can't be decoded: \(error)")
    }
  }
}

/// The conditions of a list of suggestions, in the order of their ids, which is that of their creation.
package struct SuggestionQuery: Sendable {
  package var state: Suggestion.State?
  package var place: PointID?

  /// The idempotency key of the request, which a suggestion has until it expires.
  package var requestKey: String?
  package var limit: Int

  /// The number of bytes of texts above which a list ends, with the suggestion that exceeds it.
  package var maximumTextBytes = PointPage.maximumTextBytes

  /// The id after which the list begins; `nil` for the first page.
  package var after: PointID?

  /// The time that decides which suggestions have expired.
  package var now: Timestamp

  package init(
    state: Suggestion.State? = nil, place: PointID? = nil, limit: Int, after: PointID? = nil, now: Timestamp
  ) {
    self.state = state
    self.place = place
    self.limit = limit
    self.after = after
    self.now = now
  }
}

/// The reason why a suggestion is not taken.
package enum SuggestionRefusal: Hashable, Sendable {
  /// There are ``Suggestion/maximumOpenCount`` open ones.
  case full
  /// There are ``Suggestion/maximumOpenCountOfKey`` open ones of the key.
  case tooManyOfKey
  /// There are ``Suggestion/maximumOpenCountOfAddress`` open ones from the address.
  case tooManyOfAddress
  /// Those that are kept in memory take too much of it, of the sender or of all.
  case noMemory

  /// Creates the first reason that applies; `nil` if none does.
  ///
  /// - Parameters:
  ///   - total: the number of open suggestions.
  ///   - ofKey: the number of those of the key.
  ///   - ofAddress: the number of those from the address.
  package init?(total: Int, ofKey: Int, ofAddress: Int) {
    if ofKey >= Suggestion.maximumOpenCountOfKey {
      self = .tooManyOfKey
    } else if ofAddress >= Suggestion.maximumOpenCountOfAddress {
      self = .tooManyOfAddress
    } else if total >= Suggestion.maximumOpenCount {
      self = .full
    } else {
      return nil
    }
  }
}

/// The open suggestions of a store, without their content.
package struct OpenSuggestions: Sendable {
  package let count: Int

  /// A text that changes with the set of open suggestions, of the store's own choice.
  package let mark: String

  package init(count: Int, mark: String) {
    self.count = count
    self.mark = mark
  }
}

/// The outcome of an addition.
package enum SuggestionAddition: Sendable {
  case added
  /// There is one with the same idempotency key, which has not expired.
  case repeated(Suggestion)
  /// There is one with the same idempotency key, which can't be decoded.
  case unreadable
  case refused(SuggestionRefusal)
}

/// The outcome of a decision.
package enum SuggestionOutcome: Sendable {
  case decided(Suggestion)

  /// It was decided before, or has expired.
  case closed(Suggestion)

  case unknown

  /// The change that it accepts failed. Nothing was done.
  case failed(PointOperationResult)
}

/// The place where suggestions are kept, as durably as the places.
package protocol SuggestionStore: Sendable {
  /// Returns the suggestion of an id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  func suggestion(id: PointID) async throws(PointStoreError) -> Suggestion?

  /// Returns the suggestions that match, by id.
  ///
  /// - Throws: ``PointStoreError``.
  func suggestions(matching query: SuggestionQuery) async throws(PointStoreError) -> [Suggestion]

  /// Adds a suggestion.
  ///
  /// - Throws: ``PointStoreError``.
  func add(_ suggestion: Suggestion) async throws(PointStoreError) -> SuggestionAddition

  /// Decides an open suggestion, and makes the change that it accepts, in one transaction.
  ///
  /// - Parameter change: the change; `nil` for none.
  /// - Throws: ``PointWriteError``: `store`.
  func decide(
    _ id: PointID, _ decision: Suggestion.Decision, changing change: PointOperation?
  ) async throws(PointWriteError) -> SuggestionOutcome

  /// Returns what is open at a time, which costs much less than a list of it.
  ///
  /// - Throws: ``PointStoreError``.
  func openSuggestions(at now: Timestamp) async throws(PointStoreError) -> OpenSuggestions

  /// Removes the suggestions whose time has come, and erases the senders of those that have expired.
  ///
  /// - Returns: the number of suggestions that were removed or erased.
  /// - Throws: ``PointStoreError``.
  func pruneSuggestions(at now: Timestamp) async throws(PointStoreError) -> Int
}

/// The suggestions of a store in memory.
package struct Suggestions: Sendable {
  private var all: [PointID: Suggestion]
  private let memoryLimit: Int

  /// Creates suggestions.
  ///
  /// - Parameters:
  ///   - suggestions: those that were kept.
  ///   - memoryLimit: the maximum number of bytes of all, above which none is added.
  package init(_ suggestions: [Suggestion] = [], memoryLimit: Int = 64 << 20) {
    all = Dictionary(suggestions.map { ($0.id, $0) }) { $1 }
    self.memoryLimit = memoryLimit
  }

  package subscript(id: PointID) -> Suggestion? { all[id] }

  /// Applies changes, each an id and its suggestion, or `nil` if it is removed.
  package mutating func apply(_ changes: [PointID: Suggestion?]) { for (id, change) in changes { all[id] = change } }

  /// Returns the suggestions that match, by id. O(n).
  package func matching(_ query: SuggestionQuery) -> [Suggestion] {
    let found = all.values.filter { suggestion in
      (query.state.map { suggestion.state(at: query.now) == $0 } ?? true)
        && (query.place.map { suggestion.place == $0 } ?? true)
        && (query.requestKey.map { suggestion.hasRequestKey($0, at: query.now) } ?? true)
        && (query.after.map { suggestion.id > $0 } ?? true)
    }
    var bytes = 0
    return Array(
      found.sorted { $0.id < $1.id }.prefix(query.limit).prefix { suggestion in
        defer { bytes += suggestion.textBytes }
        return bytes <= query.maximumTextBytes
      })
  }

  /// Returns what is open at a time. O(n).
  package func open(at now: Timestamp) -> OpenSuggestions {
    let ids = all.values.filter { $0.state(at: now) == .open }.map(\.id)
    let hash = ids.reduce(0) { $0 ^ $1.shuffleKey }
    return OpenSuggestions(count: ids.count, mark: "\(ids.count)-\(String(hash, radix: 36))")
  }

  /// Adds a suggestion; see ``SuggestionStore/add(_:)``. O(n).
  package mutating func add(_ suggestion: Suggestion) -> SuggestionAddition {
    if let key = suggestion.requestKey,
      let known = all.values.first(where: { $0.hasRequestKey(key, at: suggestion.createdAt) })
    {
      return .repeated(known)
    }
    let open = all.values.filter { $0.state(at: suggestion.createdAt) == .open }
    let refusal = SuggestionRefusal(
      total: open.count, ofKey: open.count { $0.hasKey(of: suggestion) },
      ofAddress: open.count { $0.hasAddress(of: suggestion) })
    if let refusal { return .refused(refusal) }
    guard hasMemory(for: suggestion) else { return .refused(.noMemory) }
    all[suggestion.id] = suggestion
    return .added
  }

  /// Returns a Boolean value that indicates whether there is memory for a suggestion beside all others, open or not. A
  /// sender, by the key or else the address, may have as much as is free beside its own.
  private func hasMemory(for suggestion: Suggestion) -> Bool {
    var (total, own) = (suggestion.memoryBytes, suggestion.memoryBytes)
    for other in all.values {
      total += other.memoryBytes
      if suggestion.key == nil ? other.hasAddress(of: suggestion) : other.hasKey(of: suggestion) {
        own += other.memoryBytes
      }
    }
    return own <= memoryLimit - total
  }

  /// Returns the changes of ``SuggestionStore/pruneSuggestions(at:)``, in the form of ``apply(_:)``.
  package func pruning(at now: Timestamp) -> [PointID: Suggestion?] {
    var changes: [PointID: Suggestion?] = [:]
    for suggestion in all.values where suggestion.expiresAt <= now {
      if suggestion.removedAt <= now {
        changes[suggestion.id] = .some(nil)
      } else if suggestion.hasSender {
        changes[suggestion.id] = suggestion.erased
      }
    }
    return changes
  }
}

extension Suggestion {
  fileprivate func hasRequestKey(_ key: String, at now: Timestamp) -> Bool {
    now < expiresAt && requestKey?.hasSameBytes(as: key) == true
  }

  /// The estimated number of bytes that it takes in memory: its texts, and 1 KiB for their heads and the other fields.
  fileprivate var memoryBytes: Int { textBytes + 1024 }

  fileprivate func hasKey(of other: Suggestion) -> Bool {
    guard let key, let otherKey = other.key else { return false }
    return key.hasSameBytes(as: otherKey)
  }

  fileprivate func hasAddress(of other: Suggestion) -> Bool {
    guard let address, let otherAddress = other.address else { return false }
    return address.hasSameBytes(as: otherAddress)
  }
}
