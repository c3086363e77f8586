import Basics
import CQL2
import Foundation
import JSONText
import Points
import ServerFeatures
import Testing

@testable import Hosting

@Suite struct QueryablesFileTests {
  /// Returns the declarations of a file with this text.
  private func queryables(_ text: String) throws -> Queryables {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("queryables-\(UUID()).json")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try Queryables(path: file.path)
  }

  @Test func fileDeclaresTypesAndIndexes() throws {
    let queryables = try queryables(
      #"{"population": {"type": "integer", "index": "sorted"}, "cuisine": {"index": "hash", "type": "string-array"},"#
        + #" "opened": {"type": "date"}}"#)

    #expect(queryables.types == ["population": .integer, "cuisine": .stringArray, "opened": .date])
    #expect(queryables.indexes == ["population": .sorted, "cuisine": .hash])
    #expect(try self.queryables("{}") == Queryables())
  }

  @Test(arguments: [
    (#"{"a": {"type": "integer", "index": "tree"}}"#, "whose member 'a' has an index that must be one of hash, sorted"),
    (#"{"a": {"type": "integer", "index": true}}"#, "whose member 'a' has an index that must be one of hash, sorted"),
    (#"{"a": {"type": "integer", "index": null}}"#, "whose member 'a' has an index that must be one of hash, sorted"),
    (#"{"a": {"index": "hash"}}"#, "whose member 'a' must be an object with the member type"),
    (#"{"a": {"type": "geometry"}}"#, "whose member 'a' must be an object with the member type"),
    (#"{"a": {"type": "string", "indexed": "hash"}}"#, "whose member 'a' must be an object with the member type"),
    (#"{"a": "string"}"#, "whose member 'a' must be an object with the member type"),
    (#"{"a": {"type": "string"}, "a": {"type": "string"}}"#, "which is not valid JSON at byte 26: duplicate member /a"),
    ("[]", "which must be an object of at most 10000 members"), ("{", "which is "),
  ])
  func invalidFileIsRejectedWithTheMember(text: String, reason: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try queryables(text) }

    #expect("\(error)".hasPrefix("QUERYABLES names '"), "\(error)")
    #expect("\(error)".contains(reason), "\(error)")
  }

  @Test func missingFileIsRejected() throws {
    let error = try #require(throws: ConfigurationError.self) { try Queryables(path: "/nowhere/queryables.json") }

    #expect("\(error)".contains("must be a file that can be read"))
  }
}
