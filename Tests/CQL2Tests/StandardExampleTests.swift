import CQL2
import Foundation
import JSONText
import Testing

/// The examples and the abstract tests of OGC 21-065, from the folder beside the repository or that of the variable
/// `CQL2_DATA`.
enum StandardData {
  static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["CQL2_DATA"] { return URL(filePath: path) }
    let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return repository.deletingLastPathComponent().appending(path: "shared/data/cql2")
  }()

  static let exists = FileManager.default.fileExists(atPath: folder.appending(path: "expected-counts.tsv").path)

  /// The names of the examples of an encoding, without their ending.
  static func examples(_ encoding: String) -> [String] {
    let files =
      (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "examples/\(encoding)").path))
    return (files ?? []).filter { $0.hasSuffix(encoding == "json" ? ".json" : ".txt") }.sorted()
      .map { String($0.prefix { $0 != "." }) }
  }

  static func example(_ name: String, _ encoding: String) throws -> String {
    let file = "examples/\(encoding)/\(name).\(encoding == "json" ? "json" : "txt")"
    return try String(contentsOf: folder.appending(path: file), encoding: .utf8)
  }
}

@Suite(.enabled(if: StandardData.exists))
struct StandardExampleTests {
  @Test(arguments: StandardData.examples("text"))
  func textExamplePrintsAndParsesAgainEqual(name: String) throws {
    let expression = try FilterExpression(text: StandardData.example(name, "text"))
    #expect(try FilterExpression(text: expression.text) == expression)
    #expect(try FilterExpression(json: expression.json) == expression)
  }

  @Test(arguments: StandardData.examples("json"))
  func jsonExamplePrintsAndParsesAgainEqual(name: String) throws {
    let expression = try FilterExpression(json: Array(StandardData.example(name, "json").utf8))
    #expect(try FilterExpression(json: expression.json) == expression)
    #expect(try FilterExpression(text: expression.text) == expression)
  }

  @Test(arguments: StandardData.examples("text"))
  func bothEncodingsOfAnExampleAreEqual(name: String) throws {
    // An alternative text has the number of the example that it is an alternative of.
    let original = String(name.split(separator: "-").first ?? "")
    guard StandardData.examples("json").contains(original) else { return }
    let json = try FilterExpression(json: Array(StandardData.example(original, "json").utf8))
    #expect(try FilterExpression(text: StandardData.example(name, "text")) == json)
  }
}
