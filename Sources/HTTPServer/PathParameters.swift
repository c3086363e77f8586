/// The parts of a path that a route's template names.
public struct PathParameters: Sendable {
  static let none = PathParameters([])

  private let values: [(name: String, value: String)]

  init(_ values: [(name: String, value: String)]) {
    self.values = values
  }

  /// Creates parameters, for handlers called in process.
  public init(_ values: KeyValuePairs<String, String>) {
    self.values = values.map { (name: $0.key, value: $0.value) }
  }

  /// The value of that name, percent-decoded and never empty. The route's template must name it.
  public subscript(name: String) -> String {
    guard let value = values.first(where: { $0.name == name }) else {
      preconditionFailure("the route's template has no parameter \(name)")
    }
    return value.value
  }
}
