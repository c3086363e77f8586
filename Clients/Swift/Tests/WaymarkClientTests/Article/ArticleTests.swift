import Foundation
import Testing

/// Holds the documentation equal to code that compiles and runs: each block of Swift in it is a region of a file beside
/// this one, between `// snippet: name` and `// end`.
@Suite struct ArticleTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
  private static let root = folder.appending(path: "../../..").standardized
  private static let catalogue = "Sources/WaymarkClient/WaymarkClient.docc/"

  /// The page for users, which is the README of the package where that is a repository of its own.
  private static let overview =
    FileManager.default.fileExists(atPath: root.appending(path: "README.md").path(percentEncoded: false))
    ? "README.md" : "../../docs/client.md"

  /// The documents that contain Swift: articles and the page for users.
  private static let documents = (articles + [overview]).filter { document in
    (try? blocks(of: document).isEmpty) == false
  }
  private static var articles: [String] {
    let folder = root.appending(path: catalogue).path(percentEncoded: false)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(".md") }.sorted().map { catalogue + $0 }
  }

  /// The regions of the files, by name, without what their first line is indented by.
  private func regions() throws -> [String: String] {
    var regions: [String: String] = [:]
    let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
    for file in files where file.lastPathComponent.hasSuffix("Snippets.swift") {
      var name: String?
      var (indentation, lines): (String, [String]) = ("", [])
      for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
        let text = line.trimmingCharacters(in: .whitespaces)
        if text.hasPrefix("// snippet: ") {
          name = String(text.dropFirst("// snippet: ".count))
          (indentation, lines) = (String(line.prefix { $0 == " " }), [])
        } else if text == "// end", let ended = name {
          #expect(regions[ended] == nil, "there are two snippets of the name \(ended)")
          regions[ended] = lines.joined(separator: "\n")
          name = nil
        } else if name != nil {
          lines.append(String(line.hasPrefix(indentation) ? line.dropFirst(indentation.count) : line[...]))
        }
      }
      #expect(name == nil, "the snippet \(name ?? "") has no end")
    }
    return regions
  }

  /// The blocks of Swift in a document.
  private static func blocks(of document: String) throws -> [String] {
    let parts = try String(contentsOf: root.appending(path: document), encoding: .utf8)
      .components(separatedBy: "```swift\n")
    return parts.dropFirst().map { $0.components(separatedBy: "\n```")[0] }
  }

  @Test(arguments: documents) func everySnippetIsCodeThatCompiles(document: String) throws {
    let (blocks, regions) = (try Self.blocks(of: document), try regions())

    #expect(!blocks.isEmpty)
    for block in blocks {
      #expect(regions.values.contains(block), "no snippet in the tests reads so:\n\(block)")
    }
  }

  @Test func everySnippetOfTheTestsIsShown() throws {
    let shown = try Self.documents.flatMap { try Self.blocks(of: $0) }

    #expect(Self.documents.count > 6)
    for (name, region) in try regions() {
      #expect(shown.contains(region), "the snippet \(name) is not shown as it is in the tests")
    }
  }
}
