import Basics
public import NIOHTTP1

/// The header fields of a request, in the order in which they were received.
///
/// The fields are kept as bytes, in one allocation. A name or a value becomes a string when it is read.
public struct RequestFields: Sendable {
  // Nothing writes into it once it is made.
  private nonisolated(unsafe) let storage: Storage

  /// Creates the fields of a request that is created in process, or was parsed elsewhere.
  public init(_ fields: HTTPHeaders) {
    let byteCount = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    storage = Storage.make(fieldCount: fields.count, byteCount: byteCount) { ranges, bytes in
      var target = UncheckedBytes(at: bytes)
      for (index, field) in fields.enumerated() {
        let name = target.end - bytes
        target.write(text: field.name)
        let value = target.end - bytes
        target.write(text: field.value)
        (ranges + index).initialize(
          to: Range(name: name, nameCount: value - name, value: value, end: target.end - bytes))
      }
    }
  }

  /// Creates fields from a part of a head.
  ///
  /// - Parameters:
  ///   - head: the bytes that have the fields.
  ///   - ranges: the places of the fields in those bytes.
  init(_ head: UnsafeBufferPointer<UInt8>, _ ranges: UnsafeBufferPointer<Range>) {
    storage = Storage.make(fieldCount: ranges.count, byteCount: head.count) { target, bytes in
      guard let first = ranges.baseAddress, let start = head.baseAddress else { return }
      target.initialize(from: first, count: ranges.count)
      bytes.initialize(from: start, count: head.count)
    }
  }

  /// The place of a field among bytes, of which there are fewer than 4 GiB.
  struct Range {
    let name: UInt32
    let nameCount: UInt32
    let value: UInt32
    let end: UInt32

    init(name: Int, nameCount: Int, value: Int, end: Int) {
      (self.name, self.nameCount, self.value, self.end) = (
        UInt32(name), UInt32(nameCount), UInt32(value), UInt32(end)
      )
    }
  }

  private struct Counts {
    let fields: Int
    let bytes: Int
  }

  /// The places of the fields, and behind them the bytes.
  private final class Storage: ManagedBuffer<Counts, Range> {
    static func make(
      fieldCount: Int, byteCount: Int,
      _ fill: (UnsafeMutablePointer<Range>, UnsafeMutablePointer<UInt8>) -> Void
    ) -> Storage {
      let stride = MemoryLayout<Range>.stride
      let counts = Counts(fields: fieldCount, bytes: byteCount)
      let buffer = Storage.create(minimumCapacity: fieldCount + (byteCount + stride - 1) / stride) { _ in counts }
      buffer.withUnsafeMutablePointerToElements { ranges in fill(ranges, bytes(behind: ranges, counts)) }
      return unsafeDowncast(buffer, to: Storage.self)
    }

    static func bytes(behind ranges: UnsafeMutablePointer<Range>, _ counts: Counts) -> UnsafeMutablePointer<UInt8> {
      UnsafeMutableRawPointer(ranges + counts.fields).bindMemory(to: UInt8.self, capacity: counts.bytes)
    }
  }

  // MARK: Reading

  /// The number of fields.
  public var count: Int { storage.header.fields }

  /// Returns a Boolean value that indicates whether there is a field of a name, in any case.
  public func contains(name: String) -> Bool { firstIndex(of: name) != nil }

  /// Returns the value of the first field of a name, in any case; `nil` if there is none.
  public func first(name: String) -> String? { firstIndex(of: name).map(value) }

  /// Returns the value of the only field of a name, in any case; `nil` if there is none, or several.
  package func only(name: String) -> String? {
    guard let index = firstIndex(of: name), firstIndex(of: name, from: index + 1) == nil else { return nil }
    return value(at: index)
  }

  /// Returns a Boolean value that indicates whether the values of all fields of a name, in any case, satisfy a
  /// predicate; `true` if there is none. It creates no strings.
  package func allValues(of name: String, satisfy predicate: (UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
    var index = firstIndex(of: name)
    while let found = index {
      guard withBytes({ ranges, bytes in predicate(ranges[found].value(in: bytes)) }) else { return false }
      index = firstIndex(of: name, from: found + 1)
    }
    return true
  }

  /// Returns the first name that satisfies a predicate; `nil` if none does. It creates no other strings.
  package func firstName(where predicate: (UnsafeBufferPointer<UInt8>) -> Bool) -> String? {
    withBytes { ranges, bytes in
      for range in ranges {
        let name = range.name(in: bytes)
        if predicate(name) { return String(decoding: name, as: UTF8.self) }
      }
      return nil
    }
  }

  /// Returns the values of the fields of a name, in any case.
  public subscript(name: String) -> [String] {
    var values: [String] = []
    var index = firstIndex(of: name)
    while let found = index {
      values.append(value(at: found))
      index = firstIndex(of: name, from: found + 1)
    }
    return values
  }

  /// Returns the elements of the fields of a name, whose values are lists with commas between the elements (RFC 9110,
  /// section 5.6.1).
  public subscript(canonicalForm name: String) -> [Substring] {
    self[name].flatMap { $0.split(separator: ",").map(\.trimmingBlanks) }
  }

  private func firstIndex(of name: String, from start: Int = 0) -> Int? {
    var name = name
    return name.withUTF8 { name in
      withBytes { ranges, bytes in
        for index in ranges.indices.dropFirst(start) where Int(ranges[index].nameCount) == name.count {
          if Self.areEqual(bytes + Int(ranges[index].name), name) { return index }
        }
        return nil
      }
    }
  }

  private func value(at index: Int) -> String {
    withBytes { ranges, bytes in String(decoding: ranges[index].value(in: bytes), as: UTF8.self) }
  }

  /// Returns a Boolean value that indicates whether bytes are a text, ignoring the case of ASCII letters.
  @inline(__always)
  private static func areEqual(_ bytes: UnsafePointer<UInt8>, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    for index in 0..<text.count where lowercase(bytes[index]) != lowercase(text[index]) { return false }
    return true
  }

  @inline(__always)
  private static func lowercase(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

  @inline(__always)
  private func withBytes<Value>(_ body: (UnsafeBufferPointer<Range>, UnsafePointer<UInt8>) -> Value) -> Value {
    storage.withUnsafeMutablePointers { counts, ranges in
      body(
        UnsafeBufferPointer(start: ranges, count: counts.pointee.fields), Storage.bytes(behind: ranges, counts.pointee))
    }
  }

  /// Calls a function with the bytes of each field's name and value.
  @inline(__always)
  func forEachBytes(_ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void) {
    withBytes { ranges, bytes in
      for range in ranges { body(range.name(in: bytes), range.value(in: bytes)) }
    }
  }
}

extension RequestFields.Range {
  fileprivate func name(in bytes: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes + Int(name), count: Int(nameCount))
  }

  fileprivate func value(in bytes: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes + Int(value), count: Int(end - value))
  }
}

extension RequestFields: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { count }

  /// The name and the value of a field, as they were received.
  public subscript(index: Int) -> (name: String, value: String) {
    withBytes { ranges, bytes in
      let range = ranges[index]
      return (
        String(decoding: range.name(in: bytes), as: UTF8.self), String(decoding: range.value(in: bytes), as: UTF8.self)
      )
    }
  }
}

extension RequestFields: ExpressibleByDictionaryLiteral {
  /// Creates the fields of a request that is created in process.
  public init(dictionaryLiteral fields: (String, String)...) { self.init(HTTPHeaders(fields)) }
}
