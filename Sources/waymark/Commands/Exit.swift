import ArgumentParser

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
}
