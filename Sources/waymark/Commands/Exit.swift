import ArgumentParser
import PlaceFormats
import Points

/// How the program ends when it does not end well (the codes of sysexits.h).
enum Exit {
  /// Something failed that has no code of its own.
  static let failed = ExitCode(1)
  /// An option or setting can't be used.
  static let usage = ExitCode(64)
  /// The input is not what it is said to be.
  static let badData = ExitCode(65)
  /// The store can't be reached.
  static let unavailable = ExitCode(69)

  /// Says in one line why the program ends.
  static func because(_ reason: some CustomStringConvertible, _ code: ExitCode) -> ExitCode {
    StandardError.write(Array("waymark: \(reason)\n".utf8))
    return code
  }

  /// Says why a command on the database ends.
  ///
  /// - Parameter outcome: what is left undone, where that is known.
  static func because(_ error: PointStoreError, didNothing outcome: String) -> ExitCode {
    switch error {
    case .unavailable(let reason): because("the database can't be reached: \(reason)", unavailable)
    case .schemaMismatch(let reason): because("the schema is not current: \(reason)", failed)
    case .misconfigured(let reason): because("\(reason); \(outcome)", failed)
    case .overloaded, .timeout: because("the database took too long", unavailable)
    case .outcomeUnknown(let reason): because("the outcome is unknown: \(reason)", unavailable)
    case .unexpected(let reason): because("\(reason); \(outcome)", failed)
    }
  }

  /// Says that there is no such format.
  static func unknownFormat(_ name: String) -> ExitCode {
    let names = PlaceFormat.allCases.map(\.rawValue).joined(separator: ", ")
    return because("--format '\(name)': must be one of \(names)", usage)
  }
}
