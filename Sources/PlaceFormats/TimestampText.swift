import Points

/// The text of moments, the last of which is kept: most places of a file were made and changed at the same one.
struct TimestampText: Sendable {
  private var time: Timestamp?
  private var text: [UInt8] = []

  /// Appends a moment as its `description` has it.
  mutating func append(_ time: Timestamp, to bytes: inout [UInt8]) {
    if time != self.time {
      text = [UInt8](unsafeUninitializedCapacity: Timestamp.maximumTextLength) { buffer, count in
        count = time.write(to: buffer.baseAddress.unsafelyUnwrapped)
      }
      self.time = time
    }
    bytes.append(contentsOf: text)
  }
}
