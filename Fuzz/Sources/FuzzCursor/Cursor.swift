import FuzzSupport
import Geo
import HTTPServer
import Points

@testable import Basics
@testable import LocationsAPI

@main enum Main {
  static func main() { runFuzzer(fuzzCursor) }
}

private let service = Service()

/// Tests that a cursor of any bytes, or any text as one, is accepted or rejected with a status below 500, and that an
/// accepted one round-trips.
private func fuzzCursor(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  var query = PointQuery()
  var made = Array(bytes.prefix(25))
  made += [UInt8](repeating: 0, count: 25 - made.count)
  made[0] = 1
  // With the right fingerprint, which is no secret, the rest of the cursor is parsed.
  let position = PointQuery.Position(distanceMetres: 0, id: PointID(high: 0, low: 0))
  let fingerprint = QueryFingerprint()
  let right = Base64URL.decode(Cursor.text(for: position, in: query, of: fingerprint), count: 29)
  guard let right else { fatalError("a cursor can't be decoded") }
  let text = Base64URL.encode(made + right[25...])
  if let position = Cursor.position(from: text, in: &query, of: fingerprint) {
    precondition(
      Cursor.text(for: position, in: query, of: fingerprint) == text, "a cursor is encoded as another")
  }
  var matches = TextQuery(text: "a")
  let match = TextQuery.Position(value: 0, id: PointID(high: 0, low: 0))
  let rightMatch = Base64URL.decode(Cursor.text(for: match, in: matches, of: fingerprint), count: 32)
  guard let rightMatch else { fatalError("a cursor of a text can't be decoded") }
  made[0] = rightMatch[0]
  var stage = Array(bytes.dropFirst(25).prefix(3))
  stage += [UInt8](repeating: 0, count: 3 - stage.count)
  let matchText = Base64URL.encode(made + rightMatch[25..<29] + stage)
  if let position = Cursor.position(from: matchText, in: &matches, of: fingerprint) {
    precondition(
      Cursor.text(for: position, in: matches, of: fingerprint) == matchText,
      "a cursor of a text is encoded as another")
  }
  service.get("/locations?q=a&cursor=\(matchText)")
  service.get("/locations?cursor=\(text)")
  service.get("/locations?limit=3&cursor=\(PercentEncoding.encode(String(decoding: bytes, as: UTF8.self)))")
  return 0
}
