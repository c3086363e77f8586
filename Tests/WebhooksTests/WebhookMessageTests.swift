import Foundation
import Geo
import Points
import TestSupport
import Testing

@testable import Webhooks

@Suite struct WebhookMessageTests {
  private static let time = Timestamp(microsecondsSinceEpoch: 1_614_265_330_000_000)
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private static func place(_ number: UInt64, tag: String = "") throws -> PointChange {
    let draft = try PointDraft.sample("place \(number)", tags: tag.isEmpty ? [:] : ["note": tag])
    return .put(
      PointOfInterest(id: .sample(number), draft: draft, version: 1, createdAt: time, updatedAt: time))
  }

  private static func body(_ changes: [PointChange], position: String = "1.2") -> (text: String, count: Int) {
    var body = WebhookBody(at: time)
    let count = body.append(changes, position: position) { "https://example.com/locations/\($0)" }
    return (body.text(position: position), count ?? 0)
  }

  private struct Body: Decodable {
    struct Change: Decodable {
      let id: String
      let version: Int
      let place: [String: PlaceValue]?
      let url: String?
      let deleted: Bool?
    }

    /// A value that only its presence matters of.
    struct PlaceValue: Decodable {
      init(from decoder: any Decoder) {}
    }

    struct Content: Decodable {
      let changes: [Change]
      let position: String?
    }

    let type: String
    let timestamp: String
    let data: Content

    init(_ text: String) throws { self = try JSONDecoder().decode(Body.self, from: Data(text.utf8)) }
  }

  // MARK: Bodies

  @Test func bodyHasTheChangesAndTheirPosition() throws {
    let (text, count) = Self.body([try Self.place(1), .removal(PointRemoval(id: .sample(2), version: 7))])

    let body = try Body(text)
    #expect(count == 2 && body.type == "places.changed" && body.timestamp == "2021-02-25T15:02:10Z")
    #expect(body.data.position == "1.2")
    #expect(body.data.changes.map(\.id) == [PointID.sample(1), .sample(2)].map(\.description))
    #expect(body.data.changes[0].place?.keys.contains("name") == true && body.data.changes[1].deleted == true)
  }

  @Test func bodyHasAsManyChangesAsFitBelowTwentyKilobytes() throws {
    let changes = try (0..<500).map { try Self.place($0) }

    let (text, count) = Self.body(changes)

    #expect(text.utf8.count < 20_000 && text.utf8.count > 19_000)
    #expect(try Body(text).data.changes.count == count && count < 500)
  }

  @Test func bodyDoesNotTakeALongerPositionBesideWhichItsChangesDoNotFit() throws {
    var body = WebhookBody(at: Self.time)
    let count = body.append(try (0..<500).map { try Self.place($0) }, position: "1.2") { _ in "" }
    let longer = String(repeating: "1", count: 4_000)

    var other = body
    let added = other.append([], position: longer) { _ in "" }
    let further = body.append([], position: "1.3") { _ in "" }

    #expect(try #require(count) > 0)
    #expect(added == nil)
    #expect(further == 0)
    #expect(body.text(position: longer).utf8.count >= 20_000)
    #expect(body.text(position: "1.3").utf8.count < 20_000)
  }

  @Test(arguments: [19_000, 20_000, 60_000])
  func placeThatDoesNotFitHasItsAddressInstead(_ length: Int) throws {
    var tags: [(String, String)] = []
    for number in 0..<(length / 1000) { tags.append(("note\(number)", String(repeating: "x", count: 1000))) }
    let draft = try PointDraft(
      name: "long", category: nil, coordinate: try .init(latitude: 1, longitude: 2), tags: try Tags(tags), source: nil,
      sourceID: nil)
    let change = PointChange.put(
      PointOfInterest(id: .sample(1), draft: draft, version: 1, createdAt: Self.time, updatedAt: Self.time))

    let (text, count) = Self.body([change, try Self.place(2)])

    let entry = try #require(try Body(text).data.changes.first)
    #expect(text.utf8.count < 20_000 && count >= 1)
    #expect((entry.place == nil) == (entry.url != nil))
    #expect(length < 20_000 || entry.url == "https://example.com/locations/\(PointID.sample(1))")
  }

  @Test func positionOfManyTransactionsIsLeftOut() throws {
    let (text, count) = Self.body([try Self.place(1)], position: String(repeating: "1.", count: 40_000) + "1")
    #expect(count == 1 && text.utf8.count < 1000)
    #expect(try Body(text).data.position == nil)
  }

  // MARK: Signatures

  /// The example of the libraries of Standard Webhooks.
  @Test func signatureIsThatOfTheSpecification() throws {
    let secret = try #require(WebhookSecret(Self.secret))

    let signature = secret.signature(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: #"{"test": 2432232314}"#)

    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test(arguments: [
    "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
    "whsec_" + Data(count: 23).base64EncodedString(), "whsec_" + Data(count: 65).base64EncodedString(),
    "whsek_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  ])
  func textThatIsNoSecretIsRejected(_ text: String) {
    #expect(WebhookSecret(text) == nil)
  }

  @Test func generatedSecretsAreValidAndDiffer() {
    let secrets = (0..<10).map { _ in WebhookSecret.generate().text }
    #expect(Set(secrets).count == 10 && secrets.allSatisfy { WebhookSecret($0) != nil })
  }

  @Test func formerSecretSignsForADayAfterARotation() throws {
    var secrets = WebhookSecrets(try #require(WebhookSecret(Self.secret)))
    let message = WebhookMessage(id: "msg_1", body: "{}", position: "1.2", changeCount: 0, createdAt: Self.time)
    func signatures(at time: Timestamp) -> [Substring] {
      secrets.headers(of: message, at: time).first { $0.name == "webhook-signature" }?.value.split(separator: " ") ?? []
    }
    let before = signatures(at: Self.time)

    secrets.rotate(to: .generate(), at: Self.time)

    let during = signatures(at: Self.time)
    #expect(before.count == 1 && during.count == 2 && during.last == before.first && during.first != before.first)
    #expect(signatures(at: Self.time.adding(.seconds(24 * 3600))).count == 1)
  }

  // MARK: Attempts

  @Test func attemptsAreMadeForThreeDays() {
    var (pauses, count) = ([Duration](), 1)
    while let pause = WebhookSchedule.pause(afterAttempts: count, retryAfter: nil, jitter: 0) {
      pauses.append(pause)
      count += 1
    }
    #expect(pauses.count == 9 && pauses == pauses.sorted())
    #expect(pauses.reduce(.zero, +) > .seconds(75 * 3600) && pauses.reduce(.zero, +) < .seconds(76 * 3600))
  }

  @Test func jitterAndTheEndpointMakeAPauseLonger() {
    let usual = Duration.seconds(300)
    #expect(WebhookSchedule.pause(afterAttempts: 2, retryAfter: nil, jitter: 1) == usual * 1.1)
    #expect(WebhookSchedule.pause(afterAttempts: 2, retryAfter: .seconds(1), jitter: 0) == usual)
    #expect(WebhookSchedule.pause(afterAttempts: 2, retryAfter: .seconds(4000), jitter: 0) == .seconds(4000))
    #expect(WebhookSchedule.pause(afterAttempts: 2, retryAfter: .seconds(1 << 40), jitter: 0) == .seconds(86_400))
    #expect(WebhookSchedule.pause(afterAttempts: 10, retryAfter: .seconds(4000), jitter: 0) == nil)
  }
}
