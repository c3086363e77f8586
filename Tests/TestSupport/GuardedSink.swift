import Basics

/// A sink whose memory for a closure has just the bytes that it may write. Bytes behind them must stay as they are.
package struct GuardedSink: ByteSink {
  /// The bytes that were written.
  package private(set) var bytes: [UInt8] = []

  /// A Boolean value that indicates whether each closure wrote no more bytes than it may.
  package private(set) var isIntact = true

  private static let guardCount = 64

  /// A byte that no text has.
  private static let guardByte: UInt8 = 0xF8

  package init() {}

  package mutating func reserve(_ byteCount: Int) {}

  package mutating func write(_ byte: UInt8) { bytes.append(byte) }

  package mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes.append(contentsOf: bytes) }

  package mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: maximumCount + Self.guardCount)
    defer { memory.deallocate() }
    memory.initialize(repeating: Self.guardByte)
    let count = memory.baseAddress.map(body) ?? 0
    if count > maximumCount || memory[maximumCount...].contains(where: { $0 != Self.guardByte }) { isIntact = false }
    bytes.append(contentsOf: memory[..<min(count, maximumCount)])
  }

  /// Returns a Boolean value that indicates whether just this text was written, and where it may be.
  package func holds(_ expected: String) -> Bool { isIntact && bytes.elementsEqual(expected.utf8) }

  /// Returns a Boolean value that indicates whether just these bytes were written, and where they may be.
  package func holds(_ expected: [UInt8]) -> Bool { isIntact && bytes == expected }
}
