import Basics

/// The filters of a selection, arranged for lookups by key.
struct TagRules: Sendable {
  /// The accepted values of a key.
  enum Values: Sendable {
    case allButNo
    case only(Set<ExactText>)
  }

  private let values: [ExactText: Values]

  init(_ filters: [OSMTagFilter]) {
    var values: [ExactText: Values] = [:]
    for filter in filters {
      let key = ExactText(filter.key)
      switch (values[key], filter.values) {
      case (.allButNo, _), (_, nil): values[key] = .allButNo
      case (.only(let known), let more?): values[key] = .only(known.union(more))
      case (nil, let accepted?): values[key] = .only(accepted)
      }
    }
    self.values = values
  }

  subscript(key: String) -> Values? { values[ExactText(key)] }
}

/// Matches the tags of the objects of one block. A string of the block is compared with the filters once.
struct TagMatcher {
  private enum Class: UInt8 { case unknown, noKey, anyValue, someValues }

  private let rules: TagRules
  private var classes: [Class]

  init(_ rules: TagRules, _ block: PrimitiveBlock) {
    self.rules = rules
    classes = Array(repeating: .unknown, count: block.stringCount)
  }

  /// Returns a Boolean value that indicates whether one of the tags matches one of the filters.
  @inline(__always)
  mutating func matches(_ pairs: [TagPair], in block: PrimitiveBlock) throws(OSMError) -> Bool {
    for pair in pairs {
      // The block has checked the indexes.
      switch classes[Int(pair.key)] {
      case .noKey: continue
      case .unknown: try classify(pair.key, in: block)
      default: break
      }
      if try accepts(pair, in: block) { return true }
    }
    return false
  }

  private mutating func classify(_ key: UInt32, in block: PrimitiveBlock) throws(OSMError) {
    classes[Int(key)] =
      switch rules[try block.text(key)] {
      case nil: .noKey
      case .allButNo: .anyValue
      case .only: .someValues
      }
  }

  private func accepts(_ pair: TagPair, in block: PrimitiveBlock) throws(OSMError) -> Bool {
    switch classes[Int(pair.key)] {
    case .unknown, .noKey: return false
    case .anyValue: return try !block.bytes(pair.value).elementsEqual("no".utf8)
    case .someValues:
      guard case .only(let values) = rules[try block.text(pair.key)] else { return false }
      return values.contains(ExactText(try block.text(pair.value)))
    }
  }
}
