/// Returns an input with a part of it repeated up to a size, so that short inputs find work that grows faster than the
/// size.
///
/// The part stands between two bytes 0xFF. A byte 0xFE in it becomes the number of the repetition. Neither byte is ever
/// in UTF-8. Any other input is returned as it is.
public func expanded(_ input: UnsafeBufferPointer<UInt8>, upTo size: Int) -> [UInt8] {
  let parts = input.split(separator: 0xFF, maxSplits: 2, omittingEmptySubsequences: false)
  guard parts.count == 3, !parts[1].isEmpty else { return Array(input) }
  var bytes = Array(parts[0])
  var repetition = 0
  while true {
    let length = bytes.count
    for byte in parts[1] {
      if byte == 0xFE { bytes += Array(String(repetition).utf8) } else { bytes.append(byte) }
    }
    guard bytes.count + parts[2].count <= size else {
      bytes.removeSubrange(length...)
      return bytes + parts[2]
    }
    repetition += 1
  }
}
