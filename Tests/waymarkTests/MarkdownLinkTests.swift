import Foundation
import Testing

/// The relative links of the project's Markdown files lead to files and headings that exist.
@Suite struct MarkdownLinkTests {
  @Test func everyRelativeLinkLeadsToAFileAndAHeading() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let pages = try MarkdownPages(root: root)

    #expect(pages.paths.contains("README.md"))
    #expect(pages.paths.count >= 10)
    #expect(pages.brokenLinks() == [])
  }

  @Test func brokenLinksAreFound() throws {
    let pages = MarkdownPages(
      texts: [
        "README.md": """
        # Title
        [page](docs/page.md) [heading](docs/page.md#what-it-is-for) [second](docs/page.md#twice-1) [own](#title)
        [outside](https://example.org/nothing) `[code](nowhere.md)` [folder](docs) ![image](picture.png)
        [no page](docs/none.md) [no heading](docs/page.md#none) [no own heading](#none) [out](../secret.md)
        ```
        [in a block](nowhere.md)
        ```
        [titled](docs/gone.md "a title"), [reference]

        [reference]: docs/lost.md
        """,
        "docs/page.md": """
        ## What `it` is *for*?
        ## Twice
        ## Twice
        [up](../README.md#title) [wrong place](README.md)
        """,
      ], files: ["docs", "picture.png"])

    #expect(
      pages.brokenLinks() == [
        "README.md: docs/none.md", "README.md: docs/page.md#none", "README.md: #none", "README.md: ../secret.md",
        "README.md: docs/gone.md", "README.md: docs/lost.md", "docs/page.md: README.md",
      ])
  }
}

/// Markdown files and what their links may lead to.
private struct MarkdownPages {
  private let texts: [String: String]
  private let files: Set<String>

  /// Creates pages with the given texts, by path, beside other files and folders.
  init(texts: [String: String], files: Set<String>) {
    self.texts = texts
    self.files = files.union(texts.keys)
  }

  /// Reads the Markdown files of a folder, those of `.build` and `.git` excepted.
  init(root: URL) throws {
    var texts: [String: String] = [:]
    var files: Set<String> = []
    let paths = FileManager.default.enumerator(atPath: root.path)
    while let path = paths?.nextObject() as? String {
      if [".build", ".git"].contains((path as NSString).lastPathComponent) {
        paths?.skipDescendants()
        continue
      }
      files.insert(path)
      if path.hasSuffix(".md") { texts[path] = try String(contentsOf: root.appending(path: path), encoding: .utf8) }
    }
    self.init(texts: texts, files: files)
  }

  var paths: [String] { texts.keys.sorted() }

  /// The links that lead nowhere, each after the path of its page.
  func brokenLinks() -> [String] {
    paths.flatMap { page in
      Self.targets(in: texts[page] ?? "").filter { !leadsSomewhere($0, from: page) }.map { "\(page): \($0)" }
    }
  }

  private func leadsSomewhere(_ target: String, from page: String) -> Bool {
    if target.contains(/^[A-Za-z][A-Za-z0-9+.\-]*:/) { return true }
    let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0].isEmpty ? page : resolved(parts[0].removingPercentEncoding ?? "", from: page)
    guard let path, files.contains(path) else { return false }
    guard parts.count == 2, let text = texts[path] else { return true }
    return Self.anchors(of: text).contains(String(parts[1]))
  }

  /// The path from the root, or `nil` where it leads out of it.
  private func resolved(_ target: String, from page: String) -> String? {
    var components = page.split(separator: "/").dropLast().map(String.init)
    for component in target.split(separator: "/") where component != "." {
      if component != ".." {
        components.append(String(component))
      } else if components.popLast() == nil {
        return nil
      }
    }
    return components.joined(separator: "/")
  }

  private static func targets(in text: String) -> [String] {
    let prose = withoutCode(text)
    let inline = prose.matches(of: /\]\(<?([^)>\s]+)>?(?:\s+"[^"]*")?\)/).map { ($0.range.lowerBound, $0.1) }
    let references = prose.matches(of: /\n\s*\[[^\]]+\]:\s*(\S+)/).map { ($0.range.lowerBound, $0.1) }
    return (inline + references).sorted(by: { $0.0 < $1.0 }).map { String($0.1) }
  }

  /// The anchors that GitHub gives to headings: lower case, hyphens for spaces, other punctuation dropped, and a number
  /// from the second of the same name on.
  private static func anchors(of text: String) -> Set<String> {
    var counts: [String: Int] = [:]
    var anchors: Set<String> = []
    for line in withoutBlocks(text) {
      guard let match = line.wholeMatch(of: /#{1,6}\s+(.*?)\s*#*\s*/) else { continue }
      let heading = String(match.1).replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
      let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
      let anchor = kept.replacing(" ", with: "-")
      let count = counts[anchor, default: 0]
      anchors.insert(count == 0 ? anchor : "\(anchor)-\(count)")
      counts[anchor] = count + 1
    }
    return anchors
  }

  private static func withoutCode(_ text: String) -> String {
    "\n" + withoutBlocks(text).joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
  }

  private static func withoutBlocks(_ text: String) -> [Substring] {
    var isInBlock = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      guard line.trimmingPrefix(/\s*/).hasPrefix("```") else { return !isInBlock }
      isInBlock.toggle()
      return false
    }
  }
}
