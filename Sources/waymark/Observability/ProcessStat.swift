/// What `/proc/PID/stat` tells of a process (proc(5)).
struct ProcessStat: Hashable {
  /// When it was started, in clock ticks since the system was.
  let startTicks: Int64
  /// How much address space it has.
  let virtualBytes: Int64
  /// How many pages of memory it has.
  let residentPages: Int64

  /// Reads the file's text; `nil` where it is not as it should be.
  init?(_ text: String) {
    // The second field is the program's name in parentheses, which may itself have blanks and parentheses.
    guard let nameEnd = text.lastIndex(of: ")") else { return nil }
    let fields = text[nameEnd...].dropFirst().split(whereSeparator: \.isWhitespace)
    // The first of these is field 3.
    guard fields.count > 21, let start = Int64(fields[19]), let virtual = Int64(fields[20]),
      let resident = Int64(fields[21])
    else { return nil }
    startTicks = start
    virtualBytes = virtual
    residentPages = resident
  }

  /// When the system was started, in seconds since 1970, from the text of `/proc/stat`.
  static func bootTime(_ text: String) -> Int64? {
    for line in text.split(separator: "\n") where line.hasPrefix("btime ") { return Int64(line.dropFirst(6)) }
    return nil
  }
}
