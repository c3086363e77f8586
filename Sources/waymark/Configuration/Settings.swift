/// Values by the name of their environment variable: those of the flags first, then those of the environment.
///
/// Every accessor throws ``ConfigurationError`` with the variable, its value and what it may be. An empty value counts
/// as not set.
struct Settings {
  private let flags: [String: String]
  private let environment: [String: String]

  init(flags: [String: String] = [:], environment: [String: String]) {
    self.flags = flags
    self.environment = environment
  }

  /// The text of a variable; `nil` where it is not set or empty.
  subscript(variable: String) -> String? {
    let value = flags[variable] ?? environment[variable] ?? ""
    return value.isEmpty ? nil : value
  }

  /// A whole number in a range.
  func integer(_ variable: String, in range: ClosedRange<Int>, default fallback: Int) throws(ConfigurationError) -> Int
  {
    guard let text = self[variable] else { return fallback }
    guard let number = Int(text), range.contains(number) else {
      throw .init(
        variable: variable, value: text,
        expectation: "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A duration in whole milliseconds, from 1 to an hour.
  func milliseconds(_ variable: String, default fallback: Int) throws(ConfigurationError) -> Duration {
    .milliseconds(try integer(variable, in: 1...3_600_000, default: fallback))
  }

  /// A switch: `1`, `true` or `yes`, and `0`, `false` or `no`, in either case; off where it is not set.
  func flag(_ variable: String) throws(ConfigurationError) -> Bool {
    guard let text = self[variable] else { return false }
    switch text.lowercased() {
    case "1", "true", "yes": return true
    case "0", "false", "no": return false
    default: throw .init(variable: variable, value: text, expectation: "must be 1, true, yes, 0, false or no")
    }
  }

  /// One of the cases of an enumeration, by its raw value.
  func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ variable: String, default fallback: Choice
  ) throws(ConfigurationError) -> Choice {
    guard let text = self[variable] else { return fallback }
    guard let choice = Choice(rawValue: text.lowercased()) else {
      let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw .init(variable: variable, value: text, expectation: "must be one of \(names)")
    }
    return choice
  }

  /// The parts of a list with commas between, trimmed; empty parts are left out.
  func list(_ variable: String) -> [String] {
    (self[variable] ?? "").split(separator: ",").map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }.filter { !$0.isEmpty }
  }
}
