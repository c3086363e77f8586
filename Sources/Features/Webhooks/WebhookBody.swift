import Basics
import JSONText
import PointFormats
import Points

/// The body of a message, to which changes are added while there is room for them.
struct WebhookBody {
  /// The number of bytes that a body is shorter than.
  static let byteLimit = 20_000

  /// The length up to which a body states its position, in bytes. A position is longer only with thousands of
  /// transactions in progress.
  private static let longestPosition = 4_000

  private let type: StaticString
  private let stated: (member: StaticString, count: Int)?

  /// The time that the body states.
  let time: Timestamp

  /// The number of changes.
  private(set) var count = 0

  /// The changes as JSON, with commas between them.
  private var changes: [UInt8] = []

  /// The length up to which there is room for the changes beside the last position.
  private var room = 0

  /// Creates a body without changes.
  ///
  /// - Parameters:
  ///   - type: the type of the event.
  ///   - stated: a number that the body states, with the name of its member; `nil` for none.
  init(
    type: StaticString = "places.changed", stating stated: (member: StaticString, count: Int)? = nil, at time: Timestamp
  ) {
    self.type = type
    self.stated = stated
    self.time = time
  }

  /// Adds the first of more changes, as many as fit, and returns their number; `nil` if the former ones do not fit beside
  /// the position. A change whose place does not fit into a body of its own has the address of the place instead.
  ///
  /// - Parameters:
  ///   - position: the position after the changes.
  ///   - placeURL: returns the address of a place.
  mutating func append(_ new: [PointChange], position: String, placeURL: (PointID) -> String) -> Int? {
    room = Self.byteLimit - 1 - text(of: [], position: position).count
    guard changes.count <= room else { return nil }
    let former = count
    for change in new {
      var entry = JSONWriter()
      ChangeJSON.write(change, to: &entry)
      if entry.sink.count > room { entry = Self.entry(of: change, placeURL: placeURL) }
      // Of an empty body every change is the first.
      guard count == 0 || changes.count + 1 + entry.sink.count <= room else { break }
      if count > 0 { changes.append(UInt8(ascii: ",")) }
      changes += entry.sink
      count += 1
    }
    return count - former
  }

  private static func entry(of change: PointChange, placeURL: (PointID) -> String) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "id", change.id.description)
    json.write(name: "version")
    json.write(integer: change.version)
    json.write(member: "url", placeURL(change.id))
    json.endObject()
    return json
  }

  /// Returns the number of changes for which there is room yet, if they are like the first ones; `nil` for an empty
  /// body, which has room for one at least.
  ///
  /// - Parameter readCount: the number of changes of which those of the body were taken.
  func estimatedRest(ofChangesLike readCount: Int) -> Int? {
    count == 0 ? nil : max(0, room - changes.count) * readCount / changes.count
  }

  /// Returns the text.
  ///
  /// - Parameter position: the position after the changes.
  func text(position: String) -> String { String(decoding: text(of: changes, position: position), as: UTF8.self) }

  private func text(of changes: [UInt8], position: String) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.write(name: "type")
    json.write(string: "\(type)")
    json.write(member: "timestamp", "\(time)")
    json.write(name: "data")
    json.beginObject()
    if position.utf8.count <= Self.longestPosition { json.write(member: "position", position) }
    if let stated { json.write(member: stated.member, stated.count) }
    json.write(name: "changes")
    json.beginArray()
    json.sink += changes
    json.endArray()
    json.endObject()
    json.endObject()
    return json.sink
  }
}
