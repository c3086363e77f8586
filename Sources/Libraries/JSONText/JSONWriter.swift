public import Basics

/// Writes a JSON text (RFC 8259) without white space: values, and the brackets, names and commas around them.
///
/// The calls follow the text from its start to its end: between ``beginObject()`` and ``endObject()`` each value is
/// preceded by its name. Values that follow each other outside of any bracket are separated by commas too. The writer
/// itself allocates nothing and checks nothing; where ``sink`` is ``UncheckedBytes``, there must be room for the
/// maximum of each call.
@frozen
public struct JSONWriter<Sink: ByteSink> {
  /// The text so far.
  public var sink: Sink

  /// A Boolean value that indicates whether a comma precedes the next value or name.
  @usableFromInline var needsComma: Bool

  /// Creates a writer that appends to a sink.
  ///
  /// - Parameter continuesList: whether a value precedes the first one that is written, which makes a comma necessary.
  @inlinable
  public init(_ sink: Sink, continuesList: Bool = false) {
    self.sink = sink
    needsComma = continuesList
  }

  // MARK: Objects and arrays

  /// Begins an object: at most two bytes.
  @inlinable
  public mutating func beginObject() {
    beginValue()
    sink.write(UInt8(ascii: "{"))
    needsComma = false
  }

  /// Ends the innermost object: one byte.
  @inlinable
  public mutating func endObject() {
    sink.write(UInt8(ascii: "}"))
    needsComma = true
  }

  /// Begins an array: at most two bytes.
  @inlinable
  public mutating func beginArray() {
    beginValue()
    sink.write(UInt8(ascii: "["))
    needsComma = false
  }

  /// Ends the innermost array: one byte.
  @inlinable
  public mutating func endArray() {
    sink.write(UInt8(ascii: "]"))
    needsComma = true
  }

  /// Writes the name of the next value: four bytes more than it has. It needs no escapes.
  @inlinable
  public mutating func write(name: StaticString) {
    beginValue()
    sink.write(UInt8(ascii: "\""))
    sink.write(name)
    sink.write("\":")
    needsComma = false
  }

  /// Writes the name of the next value, with escapes where it needs them.
  ///
  /// The label differs from that of ``write(name:)``, because a literal would be taken for a `String`.
  @inlinable
  public mutating func write(escapedName name: String) {
    write(string: name)
    sink.write(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes the name of the next value, whose UTF-8 these bytes are, with escapes where it needs them.
  @inlinable
  public mutating func write(escapedName utf8: UnsafeBufferPointer<UInt8>) {
    write(string: utf8)
    sink.write(UInt8(ascii: ":"))
    needsComma = false
  }

  // MARK: Values

  /// Writes a string: at most ``JSONString/maximumLength(utf8Count:)`` bytes and a comma.
  @inlinable
  public mutating func write(string text: String) {
    var text = text
    text.withUTF8 { write(string: $0) }
  }

  /// Writes the string whose UTF-8 these bytes are: at most ``JSONString/maximumLength(utf8Count:)`` bytes and a comma.
  @inlinable
  public mutating func write(string utf8: UnsafeBufferPointer<UInt8>) {
    beginValue()
    JSONString.write(utf8, to: &sink)
  }

  /// Writes a string in place, which needs no escapes: three bytes more than it has.
  ///
  /// - Parameters:
  ///   - maximumCount: the number of bytes that the closure writes at most.
  ///   - body: writes ASCII from the address on and returns the number of bytes.
  @inlinable
  public mutating func writeString(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    beginValue()
    sink.write(UInt8(ascii: "\""))
    sink.write(atMost: maximumCount, body)
    sink.write(UInt8(ascii: "\""))
  }

  /// Writes an integer: at most 21 bytes.
  @inlinable
  public mutating func write(integer: Int64) {
    beginValue()
    if integer < 0 { sink.write(UInt8(ascii: "-")) }
    sink.write(atMost: 20) { DecimalText.write(integer.magnitude, to: $0) }
  }

  /// Writes an integer: at most 21 bytes.
  @inlinable
  public mutating func write(integer: Int) {
    write(integer: Int64(integer))
  }

  /// Writes the shortest decimal that reads as the number, `null` where it is not finite: at most
  /// ``DecimalText/maximumLength`` bytes and a comma.
  @inlinable
  public mutating func write(number: Double) {
    beginValue()
    sink.write(atMost: DecimalText.maximumLength) { DecimalText.write(number, to: $0) }
  }

  /// Writes the number with one decimal, `null` where it is not finite: at most ``DecimalText/maximumLength`` bytes and
  /// a comma.
  @inlinable
  public mutating func write(tenths number: Double) {
    beginValue()
    sink.write(atMost: DecimalText.maximumLength) { DecimalText.writeTenths(number, to: $0) }
  }

  /// Writes `true` or `false`.
  @inlinable
  public mutating func write(boolean: Bool) {
    beginValue()
    if boolean { sink.write("true") } else { sink.write("false") }
  }

  /// Writes `null`.
  @inlinable
  public mutating func writeNull() {
    beginValue()
    sink.write("null")
  }

  /// Writes a value that is JSON already: as many bytes as it has and a comma.
  @inlinable
  public mutating func write(json: UnsafeBufferPointer<UInt8>) {
    beginValue()
    sink.write(json)
  }

  /// Writes a value that is JSON already, such as a number as it was read.
  @inlinable
  public mutating func write(json: String) {
    beginValue()
    sink.write(text: json)
  }

  /// Writes the comma before a value or a name where one precedes it.
  @inlinable
  mutating func beginValue() {
    if needsComma { sink.write(UInt8(ascii: ",")) }
    needsComma = true
  }
}

extension JSONWriter {
  /// Writes a member that is a string.
  @inlinable
  public mutating func write(member name: StaticString, _ text: String) {
    write(name: name)
    write(string: text)
  }

  /// Writes a member that is an integer.
  @inlinable
  public mutating func write(member name: StaticString, _ integer: Int) {
    write(name: name)
    write(integer: integer)
  }

  /// Writes an array of objects, whose members the closure writes.
  public mutating func writeArray<Element>(
    of elements: some Sequence<Element>, _ writeMembers: (Element, inout JSONWriter) -> Void
  ) {
    beginArray()
    for element in elements {
      beginObject()
      writeMembers(element, &self)
      endObject()
    }
    endArray()
  }

  /// Writes a member that is `true` or `false`.
  @inlinable
  public mutating func write(member name: StaticString, _ boolean: Bool) {
    write(name: name)
    write(boolean: boolean)
  }
}

extension JSONWriter where Sink == [UInt8] {
  @inlinable
  public init() {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    self.init(bytes)
  }
}
