import Basics
import JSONText

extension Tags {
  /// Creates the tags of a stored JSON object, without validation; members that are not strings are left out, of a name
  /// that stands twice the last member counts, and a value that is not an object is no tags.
  ///
  /// An object in canonical form is copied after one pass over its bytes; any other, with white space or in another
  /// order, is parsed and written anew.
  ///
  /// - Parameter bytes: UTF-8.
  public init(stored bytes: UnsafeBufferPointer<UInt8>) {
    if Self.isCanonical(bytes) {
      self.init(json: String(decoding: bytes, as: UTF8.self))
      return
    }
    self = (try? Self.parse(bytes)) ?? .none
  }

  /// Returns the tags of a stored JSON object that is not in canonical form.
  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> Tags {
    var builder = TagsBuilder()
    var reader = JSONReader(bytes)
    guard try reader.nextKind() == .object else { return .none }
    try reader.enterObject()
    while let name = try reader.nextMember() {
      if try reader.nextKind() == .string {
        builder.append(key: try reader.string(of: name), value: try reader.string(of: reader.readString()))
      } else {
        try reader.skipValue()
      }
    }
    try reader.finish()
    return builder.buildStored()
  }

  /// Creates the tags of a stored JSON object that must be equal to ``json`` byte for byte; `nil` where it was damaged.
  ///
  /// One pass over the bytes is enough for nearly all; only one with rare escapes is parsed and written anew.
  ///
  /// - Parameter bytes: the stored bytes, of UTF-8 unless they are damaged.
  public init?(verifying bytes: UnsafeBufferPointer<UInt8>) {
    guard let json = UTF8Bytes.string(of: bytes) else { return nil }
    if !Self.isCanonical(bytes) {
      guard let value = try? JSONReader.value(of: bytes), let tags = try? Tags(value),
        tags.json.utf8.elementsEqual(bytes)
      else { return nil }
    }
    self.init(json: json)
  }

  /// Calls the body with ``json`` of a stored object, as ``init(stored:)`` would create it; the bytes are valid until
  /// the body returns. They are those of the object itself where it is in canonical form.
  public static func withJSON(
    stored bytes: UnsafeBufferPointer<UInt8>,
    _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) {
    if isCanonical(bytes) { return body(bytes) }
    var json = Tags(stored: bytes).json
    json.withUTF8(body)
  }

  /// Returns a Boolean value that indicates whether the bytes certainly are in the canonical form that ``TagsBuilder``
  /// writes: strings by ascending keys, without white space. Of the escapes it accepts only the short ones, and none in
  /// a key, whose bytes would then not determine its order.
  private static func isCanonical(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "{") else { return false }
    if bytes.count == 2 { return bytes[1] == UInt8(ascii: "}") }
    var position = 1
    var last = 0..<0
    while true {
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
      let key = position + 1..<JSONString.endOfPlainText(in: bytes, from: position + 1)
      guard key.upperBound + 2 < bytes.count,
        bytes[key.upperBound] == UInt8(ascii: "\""),
        bytes[key.upperBound + 1] == UInt8(ascii: ":"),
        bytes[key.upperBound + 2] == UInt8(ascii: "\""),
        last.isEmpty || isAscending(last, key, bytes),
        let end = endOfString(in: bytes, from: key.upperBound + 3),
        end < bytes.count
      else { return false }
      if bytes[end] == UInt8(ascii: "}") { return end + 1 == bytes.count }
      guard bytes[end] == UInt8(ascii: ",") else { return false }
      // The opening quotation mark stands with it, so that an empty first key is not taken for none.
      last = key.lowerBound - 1..<key.upperBound
      position = end + 1
    }
  }

  /// Returns a Boolean value that indicates whether a key, whose range includes its opening quotation mark, is less
  /// than the next.
  private static func isAscending(_ first: Range<Int>, _ next: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool
  {
    let first = first.dropFirst()
    for offset in 0..<min(first.count, next.count) {
      let (left, right) = (bytes[first.lowerBound &+ offset], bytes[next.lowerBound &+ offset])
      if left != right { return left < right }
    }
    return first.count < next.count
  }

  /// Returns the index after the closing quotation mark of a string; `nil` where it has none, or has an escape that is
  /// not one of the short ones.
  private static func endOfString(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    var position = start
    while true {
      position = JSONString.endOfPlainText(in: bytes, from: position)
      guard position < bytes.count else { return nil }
      switch bytes[position] {
      case UInt8(ascii: "\""): return position + 1
      case UInt8(ascii: "\\"):
        guard position + 1 < bytes.count else { return nil }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): break
        default: return nil
        }
        position += 2
      default: return nil
      }
    }
  }
}
