import Basics
import JSONText
import PointFormats
import Points

/// The bodies of messages.
enum WebhookBody {
  /// The number of bytes that a body is shorter than.
  static let byteLimit = 20_000

  /// The length up to which a body states its position, in bytes. A position is longer only with thousands of
  /// transactions in progress.
  private static let longestPosition = 4_000

  /// Returns the body with the first changes, as many as fit, and their number. A first change whose place does not fit
  /// has the address of the place instead.
  ///
  /// - Parameters:
  ///   - type: the type of the event.
  ///   - openSuggestions: the number of open suggestions; `nil` if the event is not about them.
  ///   - placeURL: returns the address of a place.
  static func text(
    of changes: [PointChange], type: StaticString = "places.changed", position: String,
    openSuggestions: Int? = nil, at time: Timestamp, placeURL: (PointID) -> String
  ) -> (text: String, count: Int) {
    var json = JSONWriter()
    json.beginObject()
    json.write(name: "type")
    json.write(string: "\(type)")
    json.write(member: "timestamp", "\(time)")
    json.write(name: "data")
    json.beginObject()
    if position.utf8.count <= longestPosition { json.write(member: "position", position) }
    if let openSuggestions { json.write(member: "openSuggestions", openSuggestions) }
    json.write(name: "changes")
    json.beginArray()
    // The brackets that follow are shorter than the rest.
    let end = byteLimit - 10
    var count = 0
    for change in changes {
      var next = json
      ChangeJSON.write(change, to: &next)
      if next.sink.count > end {
        guard count == 0 else { break }
        next = json
        next.beginObject()
        next.write(member: "id", change.id.description)
        next.write(name: "version")
        next.write(integer: change.version)
        next.write(member: "url", placeURL(change.id))
        next.endObject()
      }
      json = next
      count += 1
    }
    json.endArray()
    json.endObject()
    json.endObject()
    return (String(decoding: json.sink, as: UTF8.self), count)
  }
}
