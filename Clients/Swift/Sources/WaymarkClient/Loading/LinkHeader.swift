import Foundation

/// The `Link` header (RFC 8288, section 3).
enum LinkHeader {
  /// Returns the target of the first link with a relation; `nil` where there is none.
  static func target(of relation: String, in header: String) -> String? {
    var rest = header[...]
    while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
      let target = rest[rest.index(after: start)..<end]
      let parameters = takeParameters(from: &rest, after: end)
      let names = parameters.first { $0.name == "rel" }?.value.split(separator: " ") ?? []
      if names.contains(where: { $0.lowercased() == relation }) { return String(target) }
    }
    return nil
  }

  /// Removes and returns the parameters of one link, up to the comma that ends it and is not in a quoted value.
  private static func takeParameters(
    from rest: inout Substring, after end: Substring.Index
  ) -> [(name: String, value: String)] {
    var parameters: [(name: String, value: String)] = []
    var text = ""
    var isQuoted = false
    var index = rest.index(after: end)
    func finish() {
      let parts = text.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { parameters.append((parts[0].lowercased(), parts[1])) }
      text = ""
    }
    scanning: while index < rest.endIndex {
      switch rest[index] {
      case "\"": isQuoted.toggle()
      case ";" where !isQuoted: finish()
      case "," where !isQuoted: break scanning
      case let character: text.append(character)
      }
      index = rest.index(after: index)
    }
    finish()
    rest = rest[index...]
    return parameters
  }
}
