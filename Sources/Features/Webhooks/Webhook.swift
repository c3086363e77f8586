import Basics
import Crypto
import Foundation
import JSONText
package import Points

/// A registered endpoint that changes of places are sent to.
package struct Webhook: Codable, Sendable {
  /// The maximum number of webhooks of a store.
  package static let maximumCount = 100

  /// The number of attempts that are kept.
  static let keptDeliveries = 10

  package private(set) var id: PointID

  /// The hash of the request that created it, if that had an idempotency key.
  fileprivate var requestHash: UInt64?

  /// Grows with each stored change; see ``WebhookRecords/replace(_:)``.
  package var revision: Int64 = 1

  /// The address that messages are sent to.
  package var url: String

  /// The conditions of a search as JSON; `nil` for all places.
  package var filter: String? {
    didSet { areaMark = nil }
  }

  /// The mark of the area that the filter names, as it was when the filter was set or the last message was made; `nil`
  /// if it names none.
  private(set) var areaMark: String?

  /// The marks of the sources that are followed as the last message told them, empty before the first, by their names.
  /// A stored document has each as the member `NAMEMark`.
  fileprivate var sourceMarks: [String: String] = [:]

  package var secrets: WebhookSecrets

  /// The position in the change log after the last message that was received or dropped.
  package private(set) var position: String

  /// The time at which the position was stored.
  package private(set) var positionTime: Timestamp

  /// The message that is sent next, stored before its first attempt and sent again unchanged; `nil` if it is not made
  /// yet.
  package private(set) var pending: WebhookMessage?

  /// The reason for which nothing is sent; `nil` if the webhook is enabled.
  package private(set) var disabledReason: String?

  /// The last attempts, the newest first.
  package private(set) var deliveries: [WebhookDelivery] = []
  package let createdAt: Timestamp
  package var updatedAt: Timestamp

  private enum CodingKeys: CodingKey {
    case id, requestHash, revision, url, filter, areaMark, secrets, position, positionTime, pending, disabledReason
    case deliveries, createdAt, updatedAt
  }

  package init(
    id: PointID, url: String, filter: String?, secrets: WebhookSecrets, position: String, createdAt: Timestamp
  ) {
    self.id = id
    self.url = url
    self.filter = filter
    self.secrets = secrets
    self.position = position
    self.createdAt = createdAt
    (positionTime, updatedAt) = (createdAt, createdAt)
  }

  package mutating func disable(because reason: String) { disabledReason = reason }

  /// Continues where the webhook was disabled, with the next attempt at once.
  package mutating func enable(at now: Timestamp) {
    disabledReason = nil
    pending?.retryAgain(at: now)
  }

  /// Continues from a position, and drops the pending message.
  package mutating func replay(from position: String, at now: Timestamp) {
    pending = nil
    disabledReason = nil
    move(to: position, at: now)
  }

  /// Notes a position without changes up to it.
  mutating func move(to position: String, at now: Timestamp) { (self.position, positionTime) = (position, now) }

  /// Sets the message that is sent next.
  mutating func prepare(_ message: WebhookMessage) { pending = message }

  /// Notes the area as it is now.
  package mutating func note(areaMark: String?) { self.areaMark = areaMark }

  /// Returns a Boolean value that indicates whether messages tell of a source.
  func follows(_ source: MessageSource) -> Bool { sourceMarks[source.name] != nil }

  /// Has messages tell of a source, the first one at once, or no longer.
  mutating func follow(_ source: MessageSource, _ isFollowed: Bool) {
    sourceMarks[source.name] = isFollowed ? sourceMarks[source.name] ?? "" : nil
  }

  /// Returns a Boolean value that indicates whether a followed source has changed since the last message.
  func isBehind(_ summary: RecordSummary, of source: MessageSource) -> Bool {
    sourceMarks[source.name].map { !$0.hasSameBytes(as: summary.mark.text) } ?? false
  }

  /// Notes the number of a source that a message tells.
  mutating func note(_ summary: RecordSummary, of source: MessageSource) {
    sourceMarks[source.name] = summary.mark.text
  }

  /// Notes the outcome of an attempt to send the pending message: a message that was received is done, one that was not
  /// is sent again later, and after the last attempt or 410 the webhook is disabled.
  ///
  /// - Parameter jitter: a random number from 0 to 1.
  mutating func note(_ delivery: WebhookDelivery, jitter: Double) {
    guard var message = pending, message.id.utf8.elementsEqual(delivery.messageID.utf8) else { return }
    deliveries = Array(([delivery] + deliveries).prefix(Self.keptDeliveries))
    if delivery.isSuccess {
      pending = nil
      return move(to: message.position, at: delivery.time)
    }
    message.attempts += 1
    if delivery.status == 410 {
      disabledReason = "the endpoint responded with 410 Gone"
    } else if let pause = WebhookSchedule.pause(
      afterAttempts: message.attempts, retryAfter: delivery.retryAfterSeconds.map { .seconds($0) }, jitter: jitter)
    {
      message.nextAttemptAt = delivery.time.adding(pause)
    } else {
      disabledReason = "\(message.attempts) attempts to send a message failed, the last one: \(delivery.summary)"
    }
    pending = message
  }
}

/// A message with changes, as it is sent in every attempt.
package struct WebhookMessage: Codable, Sendable {
  /// The value of `webhook-id`, by which receivers drop repeats.
  package let id: String

  /// The JSON text of the body.
  package let body: String

  /// The position in the change log after its changes.
  package let position: String
  package let changeCount: Int
  package let createdAt: Timestamp

  /// The number of failed attempts since the message was made or the webhook was enabled.
  package fileprivate(set) var attempts = 0
  package fileprivate(set) var nextAttemptAt: Timestamp

  init(id: String, body: String, position: String, changeCount: Int, createdAt: Timestamp) {
    self.id = id
    self.body = body
    self.position = position
    self.changeCount = changeCount
    self.createdAt = createdAt
    nextAttemptAt = createdAt
  }

  fileprivate mutating func retryAgain(at now: Timestamp) { (attempts, nextAttemptAt) = (0, now) }
}

/// An attempt to send a message.
package struct WebhookDelivery: Codable, Sendable {
  package let messageID: String
  package let time: Timestamp
  package let milliseconds: Int

  /// The status of the response; `nil` if there was none.
  package let status: Int?

  /// The reason why there was no response.
  package let error: String?

  /// The value of `Retry-After` of the response.
  let retryAfterSeconds: Int?

  init(messageID: String, time: Timestamp, milliseconds: Int, _ outcome: WebhookOutcome) {
    self.messageID = messageID
    self.time = time
    self.milliseconds = milliseconds
    switch outcome {
    case .response(let status, let retryAfter):
      (self.status, error, retryAfterSeconds) = (status, nil, retryAfter)
    case .failure(let reason): (status, error, retryAfterSeconds) = (nil, reason, nil)
    }
  }

  /// A Boolean value that indicates whether the message was received: the status is one of 200 to 299.
  package var isSuccess: Bool { status.map { 200..<300 ~= $0 } ?? false }

  fileprivate var summary: String { status.map { "the status \($0)" } ?? error ?? "" }
}

/// The times of attempts. The pauses are those that the Standard Webhooks specification proposes.
enum WebhookSchedule {
  /// The pauses after each failed attempt, in seconds: 75.6 hours in all. After the attempt that follows the last one,
  /// there is no other.
  static let pauses = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

  /// The longest pause that an endpoint can ask for.
  static let longestPause = Duration.seconds(86_400)

  /// Returns the pause after a failed attempt; `nil` if there is no other attempt.
  ///
  /// - Parameters:
  ///   - count: the number of failed attempts.
  ///   - retryAfter: the pause that the endpoint asked for, which may make it longer.
  ///   - jitter: a random number from 0 to 1, which lengthens the pause by up to a tenth.
  static func pause(afterAttempts count: Int, retryAfter: Duration?, jitter: Double) -> Duration? {
    guard pauses.indices.contains(count - 1) else { return nil }
    let pause = Duration.seconds(pauses[count - 1]) * (1 + jitter / 10)
    return max(pause, min(retryAfter ?? .zero, longestPause))
  }
}

/// A key that messages are signed with: `whsec_` and 24 to 64 bytes in base 64.
package struct WebhookSecret: Codable, Sendable {
  private static let prefix = "whsec_"
  private static let lengths = 24...64

  package let text: String

  /// Creates a secret from its text; `nil` for any other text.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))),
      Self.lengths.contains(key.count)
    else { return nil }
    self.text = text
  }

  /// Creates a random secret of 32 bytes.
  package static func generate() -> WebhookSecret {
    let key = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
    return WebhookSecret(text: prefix + key.base64EncodedString())
  }

  private init(text: String) { self.text = text }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let secret = WebhookSecret(try container.decode(String.self, forKey: .text)) else {
      throw DecodingError.dataCorruptedError(forKey: .text, in: container, debugDescription: "the secret is invalid")
    }
    self = secret
  }

  /// Returns the signature of a message (Standard Webhooks 1.0.0, symmetric signatures).
  func signature(id: String, timestamp: Int64, body: String) -> String {
    let key = SymmetricKey(data: Data(base64Encoded: String(text.dropFirst(Self.prefix.count))) ?? Data())
    let code = HMAC<SHA256>.authenticationCode(for: Data("\(id).\(timestamp).\(body)".utf8), using: key)
    return "v1," + Data(code).base64EncodedString()
  }
}

/// The secret of a webhook, and the former one while receivers change to the new one.
package struct WebhookSecrets: Codable, Sendable {
  /// The time for which messages are signed with a replaced secret too, in hours.
  package static let rotationHours = 24

  package private(set) var current: WebhookSecret
  private var former: WebhookSecret?
  private var formerUntil: Timestamp?

  package init(_ secret: WebhookSecret) { current = secret }

  /// Replaces the secret.
  package mutating func rotate(to secret: WebhookSecret, at now: Timestamp) {
    (former, formerUntil) = (current, now.adding(.seconds(3600 * Self.rotationHours)))
    current = secret
  }

  /// Returns the header fields of an attempt.
  func headers(of message: WebhookMessage, at now: Timestamp) -> [(name: String, value: String)] {
    let timestamp = now.microsecondsSinceEpoch / 1_000_000
    let isRotating = formerUntil.map { now < $0 } ?? false
    let signatures = ([current] + (isRotating ? [former].compactMap(\.self) : [])).map { secret in
      secret.signature(id: message.id, timestamp: timestamp, body: message.body)
    }
    return [
      ("webhook-id", message.id), ("webhook-timestamp", "\(timestamp)"),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }
}

/// The webhooks of a store of records.
package struct WebhookRecords: Sendable {
  private static let collection = RecordCollection("webhooks")

  /// The collection of the lease of the sender, which is one record.
  private static let leases = RecordCollection("webhook-lease")
  private static let leaseID: ExactText = "sender"

  private let records: any RecordStore

  package init(_ records: any RecordStore) { self.records = records }

  /// Returns the webhook of an id, or all by id.
  ///
  /// - Throws: ``PointStoreError``.
  package func webhooks(id: PointID?) async throws(PointStoreError) -> [Webhook] {
    var webhooks: [Webhook] = []
    for record in try await records.records(matching: RecordQuery(Self.collection, id: id.map(Self.id))) {
      do throws(PointStoreError) {
        webhooks.append(try Webhook(record))
      } catch {
        records.damagedRows?.note(record: record.id, in: Self.collection, reason: "\(error)")
      }
    }
    return webhooks
  }

  /// Adds a webhook.
  ///
  /// - Returns: `false` if there are ``Webhook/maximumCount`` already, or one with its id.
  /// - Throws: ``PointStoreError``.
  package func insert(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    let limits = RecordLimits(of: Self.collection, at: webhook.createdAt, [.init(Webhook.maximumCount)])
    return try await records.commit([.insert(try Self.record(of: webhook))], within: limits).isCommitted
  }

  /// Replaces the webhook of the same id and revision, and increments the revision. Of two calls with one revision
  /// exactly one succeeds.
  ///
  /// - Returns: `false` if there is none.
  /// - Throws: ``PointStoreError``.
  package func replace(_ webhook: Webhook) async throws(PointStoreError) -> Bool {
    try await records.commit([.replace(try Self.record(of: webhook))]).isCommitted
  }

  /// Removes a webhook.
  ///
  /// - Returns: `false` if there is none.
  /// - Throws: ``PointStoreError``.
  package func removeWebhook(id: PointID) async throws(PointStoreError) -> Bool {
    try await records.commit([.remove(Self.collection, id: Self.id(id))]).isCommitted
  }

  /// Acquires or extends the lease of the sender. It saves work: what a sender without it does is right too, because
  /// of ``replace(_:)``. Nothing is written without webhooks, or if no other process has the records.
  ///
  /// - Returns: `false` if another sender has it, or if other processes have the records and there is no webhook.
  /// - Throws: ``PointStoreError``.
  package func acquireLease(
    owner: Int64, at now: Timestamp, until expiry: Timestamp
  ) async throws(PointStoreError) -> Bool {
    guard records.isShared else { return true }
    let former = try await records.record(Self.leaseID, in: Self.leases)
    let document = "\(owner)"
    if let former, !former.document.hasSameBytes(as: document), let end = former.expiresAt, now < end { return false }
    if try await records.records(matching: RecordQuery(Self.collection, limit: 1)).isEmpty { return false }
    let lease = Record(
      Self.leases, id: Self.leaseID, revision: former?.revision ?? 1, expiresAt: expiry, document: document)
    return try await records.commit([former == nil ? .insert(lease) : .replace(lease)]).isCommitted
  }

  private static func id(_ id: PointID) -> ExactText { ExactText(id.description) }

  private static func record(of webhook: Webhook) throws(PointStoreError) -> Record {
    do {
      return Record(
        collection, id: id(webhook.id), revision: webhook.revision, document: try webhook.document)
    } catch {
      throw .unexpected(reason: "a webhook can't be encoded: \(error)")
    }
  }

  /// Creates a webhook, or returns the one that a request with the same idempotency key has created, as it is now.
  ///
  /// - Returns: `nil` if there are ``Webhook/maximumCount`` already.
  /// - Throws: ``PointWriteError``; `.keyReused` if the other request was not the same.
  package func create(
    _ webhook: Webhook, once key: IdempotencyKey?
  ) async throws(PointWriteError) -> Webhook? {
    do throws(PointStoreError) {
      guard let key else { return try await insert(webhook) ? webhook : nil }
      // The id is made from the key, so that of two concurrent requests one adds it.
      for number in 0... {
        let keyed = webhook.keyed(key, number: number)
        if try await insert(keyed) { return keyed }
        guard let former = try await webhooks(id: keyed.id).first else { return nil }
        // A key is for a day.
        if former.createdAt.adding(IdempotencyKey.lifetime) <= webhook.createdAt { continue }
        if former.requestHash == key.requestHash { return former }
        break
      }
    } catch {
      throw .store(error)
    }
    throw .keyReused
  }

  /// Changes a webhook as it is stored, again if another change comes before it.
  ///
  /// - Parameter change: changes the webhook, and returns `false` to leave it as it is.
  /// - Returns: the changed webhook; `nil` if there is none, or it was left.
  /// - Throws: ``PointStoreError``.
  package func update(
    _ id: PointID, _ change: (inout Webhook) -> Bool
  ) async throws(PointStoreError) -> Webhook? {
    try await retrying(orThrow: .overloaded) { () async throws(PointStoreError) -> Webhook?? in
      guard var webhook = try await webhooks(id: id).first, change(&webhook) else { return .some(nil) }
      guard try await replace(webhook) else { return nil }
      webhook.revision += 1
      return webhook
    }
  }
}

extension Webhook {
  private static let markSuffix = "Mark"

  /// The stored form.
  fileprivate var document: String {
    get throws {
      var value = try JSONReader.value(of: try JSONEncoder().encode(self))
      guard case .object(var members) = value else { return String(decoding: value.text, as: UTF8.self) }
      members += sourceMarks.map { .init(name: $0.key + Self.markSuffix, value: .string($0.value)) }
      value = .object(members)
      return String(decoding: value.text, as: UTF8.self)
    }
  }

  /// Returns the marks of a stored document.
  private static func sourceMarks(in document: String) -> [String: String] {
    guard case .object(let members)? = try? JSONReader.value(of: document.utf8) else { return [:] }
    var marks: [String: String] = [:]
    for member in members where member.name.hasSuffix(markSuffix) {
      if member.name == CodingKeys.areaMark.stringValue { continue }
      if case .string(let mark) = member.value { marks[String(member.name.dropLast(markSuffix.count))] = mark }
    }
    return marks
  }

  /// Returns the webhook with the id that a key gets, the first time or after it has expired a number of times.
  fileprivate func keyed(_ key: IdempotencyKey, number: Int) -> Webhook {
    var webhook = self
    // No UTF-8 has the byte between.
    webhook.id = PointID(derivedFrom: Array("webhook \(number)".utf8) + [0xFF] + key.text.utf8)
    webhook.requestHash = key.requestHash
    return webhook
  }

  /// Creates the webhook of a record.
  fileprivate init(_ record: Record) throws(PointStoreError) {
    do {
      self = try JSONDecoder().decode(Webhook.self, from: Data(record.document.utf8))
      sourceMarks = Self.sourceMarks(in: record.document)
    } catch {
      throw .unexpected(reason: "a stored webhook can't be decoded: \(error)")
    }
    guard PointID(record.id.text) == id, 0...1 << 32 ~= pending?.attempts ?? 0 else {
      throw .unexpected(reason: "a stored webhook has the id of another one, or an impossible number of attempts")
    }
    revision = record.revision
  }
}
