package import APIDescription
import Basics

/// A parameter of a call, in its query or as a member of a body that has the parameters of a query.
///
/// Parameters are values, declared beside what reads them. Two are equal if their names are.
package struct Parameter: Sendable {
  /// The forms of values.
  package enum Form {
    case text, number, integer, flag
    /// Elements separated by commas, which may also come in several parameters of the name: clients that are generated
    /// from descriptions often send lists in that way.
    case list
    /// A list of numbers.
    case numbers
    /// Values that each come in a parameter of their own.
    case values
    /// A filter: in a body also an object or a Boolean value.
    case filter
    /// A shape: in a body also an object.
    case shape
  }

  /// The name and the form, by which values are found. A copy of them counts no references, unlike one of a parameter.
  struct Key: Hashable, Sendable {
    fileprivate let staticName: StaticString
    let form: Form

    /// One of 64 bits, by the name. Several parameters may have the same.
    let bit: UInt64

    fileprivate init(_ name: StaticString, _ form: Form) {
      staticName = name
      self.form = form
      var hash = FNV1a()
      hash.combine(bytes: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
      bit = 1 << (hash.value >> 58)
    }

    /// The name in queries, bodies and problems.
    var name: String { staticName.description }

    /// The bytes of the name.
    var bytes: UnsafeBufferPointer<UInt8> {
      UnsafeBufferPointer(start: staticName.utf8Start, count: staticName.utf8CodeUnitCount)
    }

    fileprivate func isNamed(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
      let name = bytes
      return name.count == other.count && (name.baseAddress == other.baseAddress || name.elementsEqual(other))
    }

    /// A Boolean value that indicates whether the value is a list that commas separate.
    var isList: Bool {
      switch form {
      case .list, .numbers: true
      case .text, .number, .integer, .flag, .values, .filter, .shape: false
      }
    }

    static func == (left: Key, right: Key) -> Bool { left.isNamed(right.bytes) }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
  }

  let key: Key

  /// A Boolean value that indicates whether the pages of a list may have different values of the parameter.
  let mayDifferBetweenPages: Bool

  /// The place in a union of parameters, which have those of lower numbers first.
  fileprivate let order: Int

  private let describe: @Sendable () -> ParameterDescription

  /// Declares a parameter.
  ///
  /// - Parameters:
  ///   - order: the place in a union of parameters: those of lower numbers come first in descriptions and problems.
  ///   - describe: returns the description in every call that has no other one.
  package init(
    _ name: StaticString, _ form: Form = .text, order: Int = .max, mayDifferBetweenPages: Bool = false,
    _ describe: @escaping @Sendable () -> ParameterDescription
  ) {
    key = Key(name, form)
    self.order = order
    self.mayDifferBetweenPages = mayDifferBetweenPages
    self.describe = describe
  }

  /// The name in queries, bodies and problems.
  package var name: String { key.name }

  var form: Form { key.form }

  /// The description in every call that has no other one.
  package var description: ParameterDescription { describe() }

  /// A Boolean value that indicates whether the value is a list that commas separate.
  var isList: Bool { key.isList }
}

extension Parameter: Hashable {
  package static func == (left: Parameter, right: Parameter) -> Bool { left.key == right.key }

  package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension [Parameter] {
  /// Returns the parameter of a name; `nil` if there is none. The longitude has three names.
  func named(_ name: String) -> Parameter? {
    var name = name
    return name.withUTF8 { index(named: $0) }.map { self[$0] }
  }

  /// Returns the key of the parameter of a name; `nil` if there is none.
  func key(named name: UnsafeBufferPointer<UInt8>) -> Parameter.Key? { index(named: name).map { self[$0].key } }

  private func index(named name: UnsafeBufferPointer<UInt8>) -> Int? {
    // By index: a closure would be passed a copy of each.
    for index in indices where self[index].key.isNamed(name) { return index }
    let isLongitude = name.elementsEqual("lon".utf8) || name.elementsEqual("lng".utf8)
    return isLongitude ? firstIndex(of: .longitude) : nil
  }

  /// Returns these parameters and others, each once, in the order that their declarations state.
  package func union(_ others: [Parameter]) -> [Parameter] {
    (self + others.filter { !contains($0) }).enumerated()
      .sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }.map(\.element)
  }

  /// Returns the parameters without others.
  func subtracting(_ others: [Parameter]) -> [Parameter] { filter { !others.contains($0) } }
}
