package import Basics
import JSONText

/// A kind of records: those of one purpose of a feature.
package struct RecordCollection: Hashable, Sendable {
  /// The name in a store, which no other collection of the program has.
  package let name: ExactText

  package init(_ name: String) { self.name = ExactText(name) }
}

/// A small document of a feature, which a store keeps beside the places and as durably as them.
package struct Record: Hashable, Sendable {
  package let collection: RecordCollection

  /// The id, which no other record of the collection has. Lists are in the order of its bytes.
  package let id: ExactText

  /// Grows with each stored change, from 1 on.
  package var revision: Int64

  /// Short texts by which records are found.
  package var fields: [ExactText: ExactText]

  /// The time at which the record expires; `nil` if it does not. Expired records are found until they are removed.
  package var expiresAt: Timestamp?

  /// The time at which ``RecordStore/removeRecords(of:keptUntil:)`` removes the record; `nil` for never.
  package var keptUntil: Timestamp?

  /// The content as JSON, of any form; empty if that of a damaged row can't be read.
  @ComparedByBytes package var document: String

  package init(
    _ collection: RecordCollection, id: ExactText, revision: Int64 = 1, fields: [ExactText: ExactText] = [:],
    expiresAt: Timestamp? = nil, keptUntil: Timestamp? = nil, document: String
  ) {
    self.collection = collection
    self.id = id
    self.revision = revision
    self.fields = fields
    self.expiresAt = expiresAt
    self.keptUntil = keptUntil
    self.document = document
  }

  /// Returns fields as a JSON object of strings, sorted by name.
  package static func text(of fields: [ExactText: ExactText]) -> String {
    let members = fields.sorted { $0.key < $1.key }.map { field in
      JSONValue.Member(name: field.key.text, value: .string(field.value.text))
    }
    return String(decoding: JSONValue.object(members).text, as: UTF8.self)
  }

  /// Returns the fields of a JSON object of strings; `nil` for any other text.
  package static func fields(of text: String) -> [ExactText: ExactText]? {
    guard case .object(let members)? = try? JSONReader.value(of: text.utf8) else { return nil }
    var fields: [ExactText: ExactText] = [:]
    for member in members {
      guard case .string(let value) = member.value else { return nil }
      fields[ExactText(member.name)] = ExactText(value)
    }
    return fields
  }
}

/// The conditions of a list of records.
package struct RecordQuery: Sendable {
  /// A condition on the expiry of records at a time.
  package enum Expiry: Sendable {
    /// The record has no expiry, or a later one.
    case unexpired(at: Timestamp)
    case expired(at: Timestamp)
  }

  package let collection: RecordCollection

  /// The id of the only record; `nil` for all.
  package var id: ExactText?

  /// The fields that the records have, among others.
  package var fields: [ExactText: ExactText]
  package var expiry: Expiry?

  /// The id after which the list begins; `nil` for the beginning.
  package var after: ExactText?

  /// The maximum number of records; `nil` for any number.
  package var limit: Int?

  /// The number of bytes of documents above which the list ends, with the record that exceeds it; `nil` for any number.
  package var maximumBytes: Int?

  package init(
    _ collection: RecordCollection, id: ExactText? = nil, fields: [ExactText: ExactText] = [:], _ expiry: Expiry? = nil,
    after: ExactText? = nil, limit: Int? = nil, maximumBytes: Int? = nil
  ) {
    self.collection = collection
    self.id = id
    self.fields = fields
    self.expiry = expiry
    self.after = after
    self.limit = limit
    self.maximumBytes = maximumBytes
  }
}

/// The number of records that match a query.
package struct RecordSummary: Hashable, Sendable {
  package let count: Int

  /// A text that changes with the set of their ids, of the store's own choice.
  package let mark: ExactText

  package init(count: Int, mark: String) {
    self.count = count
    self.mark = ExactText(mark)
  }
}

/// The number of some records, which is sent in a message whenever the records change. One feature offers it and
/// another sends the messages, and neither depends on the other.
package struct MessageSource: Sendable {
  /// The name in stored records: letters.
  package let name: String

  /// The Boolean member of a registration for messages that follows the source.
  package let member: StaticString

  /// The type of the messages.
  package let messageType: StaticString

  /// The member of a message that has the number.
  package let countMember: StaticString

  /// The description of ``member``.
  package let description: String

  /// Returns the number of the records at a time.
  package let summary: @Sendable (Timestamp) async throws(PointStoreError) -> RecordSummary

  package init(
    name: String, member: StaticString, messageType: StaticString, countMember: StaticString, description: String,
    summary: @escaping @Sendable (Timestamp) async throws(PointStoreError) -> RecordSummary
  ) {
    self.name = name
    self.member = member
    self.messageType = messageType
    self.countMember = countMember
    self.description = description
    self.summary = summary
  }
}

/// A change of a record.
package enum RecordChange: Sendable {
  /// Adds a record with a new id.
  case insert(Record)

  /// Replaces the record of the same id and revision, and increments the revision.
  case replace(Record)

  /// Removes a record, of any revision.
  case remove(RecordCollection, id: ExactText)

  package var collection: RecordCollection {
    switch self {
    case .insert(let record), .replace(let record): record.collection
    case .remove(let collection, _): collection
    }
  }

  package var id: ExactText {
    switch self {
    case .insert(let record), .replace(let record): record.id
    case .remove(_, let id): id
    }
  }
}

/// The maximum numbers of records that a commit must not exceed.
package struct RecordLimits: Sendable {
  /// The maximum number of unexpired records with some fields.
  package struct Count: Sendable {
    package let fields: [ExactText: ExactText]
    package let maximum: Int

    package init(_ maximum: Int, fields: [ExactText: ExactText] = [:]) {
      (self.fields, self.maximum) = (fields, maximum)
    }
  }

  /// The collection whose records are counted, before the commit.
  package let collection: RecordCollection

  /// The time that decides which records have expired.
  package let now: Timestamp

  /// The counts, each of which must be below its maximum before the commit. Concurrent commits may exceed a maximum by
  /// their number.
  package let counts: [Count]

  /// The fields by which an owner is known, if each owner may have a share of the memory of a store that keeps all
  /// records there: as much as is free beside its own. `nil` if memory is not limited.
  package let owner: [ExactText: ExactText]?

  package init(
    of collection: RecordCollection, at now: Timestamp, _ counts: [Count], owner: [ExactText: ExactText]? = nil
  ) {
    (self.collection, self.now, self.counts, self.owner) = (collection, now, counts, owner)
  }
}

/// The outcome of a commit.
package enum RecordOutcome: Sendable {
  /// Everything was done.
  ///
  /// - Parameter results: the results of the operations on places.
  case committed([PointOperationResult])

  // Nothing was done otherwise.

  /// A record to insert exists, or one to replace or to remove does not, or has another revision.
  case conflict

  /// There are as many records as one of ``RecordLimits/counts`` allows, the one at the index.
  case full(Int)

  /// The records would take too much memory, of their owner or of all.
  case noMemory

  /// An operation on a place failed.
  case failed(PointOperationResult)

  /// A Boolean value that indicates whether everything was done.
  package var isCommitted: Bool { if case .committed = self { true } else { false } }
}

/// A store of the records of features. Each feature encodes its own type as a record.
package protocol RecordStore: Sendable {
  /// A Boolean value that indicates whether other processes write records too.
  var isShared: Bool { get }

  /// The log of records that can't be decoded; `nil` for none.
  var damagedRows: DamagedRows? { get }

  /// Returns the records that match, by id.
  ///
  /// - Throws: ``PointStoreError``.
  func records(matching query: RecordQuery) async throws(PointStoreError) -> [Record]

  /// Returns the number of records that match, which costs much less than a list. The query has no limits.
  ///
  /// - Throws: ``PointStoreError``.
  func summary(of query: RecordQuery) async throws(PointStoreError) -> RecordSummary

  /// Commits changes of records together with operations on places: all or nothing.
  ///
  /// - Parameters:
  ///   - batch: the operations, an atomic batch without a key; `nil` for none.
  ///   - limits: the maxima; `nil` for none.
  ///   - changes: returns the changes, of different records, by the results of the operations. May be called again if
  ///     concurrent writes come between.
  /// - Throws: ``PointWriteError``: `store`, or `tooLarge`.
  func commit(
    applying batch: PointBatch?, within limits: RecordLimits?,
    _ changes: @escaping @Sendable ([PointOperationResult]) throws(PointStoreError) -> [RecordChange]
  ) async throws(PointWriteError) -> RecordOutcome

  /// Removes the records of a collection whose time has come.
  ///
  /// - Returns: the number of removed records.
  /// - Throws: ``PointStoreError``.
  func removeRecords(of collection: RecordCollection, keptUntil now: Timestamp) async throws(PointStoreError) -> Int
}

extension RecordStore {
  /// Returns the record of an id, or `nil`.
  ///
  /// - Throws: ``PointStoreError``.
  package func record(_ id: ExactText, in collection: RecordCollection) async throws(PointStoreError) -> Record? {
    try await records(matching: RecordQuery(collection, id: id)).first
  }

  /// Commits changes of different records: all or nothing.
  ///
  /// - Throws: ``PointStoreError``.
  package func commit(
    _ changes: [RecordChange], within limits: RecordLimits? = nil
  ) async throws(PointStoreError) -> RecordOutcome {
    do throws(PointWriteError) {
      return try await commit(applying: nil, within: limits) { _ in changes }
    } catch .store(let error) {
      throw error
    } catch {
      throw .unexpected(reason: "a commit of records without places failed: \(error)")
    }
  }
}
