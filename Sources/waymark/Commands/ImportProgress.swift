/// How far an import has come, as a line for people. Pure: it is told the time.
struct ImportProgress {
  /// How many bytes all files have; `nil` where that can't be told.
  let totalBytes: Int?

  /// The line at a moment.
  ///
  /// - Parameters:
  ///   - rows: how many rows have been read; `nil` where nobody counts them.
  ///   - bytes: how many bytes of all files have been read.
  ///   - elapsed: how long that took.
  ///   - width: how many characters a bar has; 0 for none.
  func line(rows: Int?, bytes: Int, elapsed: Duration, width: Int = 0) -> String {
    let seconds = max(0.001, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
    let done = rows.map { (amount: $0, unit: "rows") } ?? (amount: bytes >> 20, unit: "MiB")
    let pace = ["\(done.amount) \(done.unit)", "\(Int(Double(done.amount) / seconds)) \(done.unit)/s"]
    guard let totalBytes, totalBytes > 0 else { return pace.joined(separator: ", ") }
    let share = min(1, Double(bytes) / Double(totalBytes))
    var parts = ["\(Int(share * 100)) %"] + pace
    if share > 0, share < 1 { parts.append("\(Self.clock(seconds * (1 - share) / share)) left") }
    guard width > 0 else { return parts.joined(separator: ", ") }
    let filled = Int(share * Double(width))
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    return "[\(bar)] " + parts.joined(separator: ", ")
  }

  private static func clock(_ seconds: Double) -> String {
    let seconds = Int(seconds.rounded(.up))
    guard seconds >= 60 else { return "\(seconds) s" }
    return seconds < 3600 ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds / 3600) h \(seconds / 60 % 60) min"
  }
}
