/// A setting whose value can't be used. It stops the start with one line.
struct ConfigurationError: Error, Hashable, CustomStringConvertible {
  /// The environment variable.
  let variable: String

  /// What it was set to; `nil` when it is missing, or when the value is a secret.
  let value: String?

  /// What it may be.
  let expectation: String

  var description: String {
    let subject = value.map { "\(variable)='\($0)'" } ?? variable
    return "\(subject): \(expectation)"
  }
}
