import ArgumentParser
import PointFormats
import Points

/// The exit codes of failures (sysexits.h).
enum Exit {
  /// A failure without a code of its own.
  static let failed = ExitCode(1)
  /// An invalid option or setting.
  static let usage = ExitCode(64)
  /// Invalid input.
  static let badData = ExitCode(65)
  static let unavailable = ExitCode(69)

  /// Writes the reason to standard error, in one line, and returns the code.
  static func because(_ reason: some CustomStringConvertible, _ code: ExitCode) -> ExitCode {
    StandardError.write(Array("waymark: \(reason)\n".utf8))
    return code
  }

  /// Writes the error of a command on the database to standard error and returns the code.
  ///
  /// - Parameter outcome: the effect of the failure, where it is known, such as `nothing was imported`.
  static func because(_ error: PointStoreError, didNothing outcome: String) -> ExitCode {
    switch error {
    case .unavailable(let reason): because("the database can't be reached: \(reason)", unavailable)
    case .readOnly(let reason): because("the database refuses writes: \(reason); \(outcome)", unavailable)
    case .schemaMismatch(let reason): because("the schema is not current: \(reason)", failed)
    case .misconfigured(let reason): because("\(reason); \(outcome)", failed)
    case .indexRequired, .indexNotReady: because("the call needs the index of places in memory", failed)
    case .overloaded, .timeout, .filterTimeout, .stepLimit: because("the database took too long", unavailable)
    case .outcomeUnknown(let reason): because("the outcome is unknown: \(reason)", unavailable)
    case .unexpected(let reason): because("\(reason); \(outcome)", failed)
    }
  }

  /// Writes that a format is unknown to standard error and returns the code.
  static func unknownFormat(_ name: String) -> ExitCode {
    let names = PointFormat.allCases.map(\.rawValue).joined(separator: ", ")
    return because("--format must be one of \(names), got '\(name)'", usage)
  }
}
