import Foundation

/// The files of this repository.
enum Repository {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  /// Returns the text of a file; `nil` if there is none.
  static func text(of path: String) -> String? {
    (try? Data(contentsOf: root.appending(path: path))).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the modules below a folder: the outermost folders with the names of targets, in order, and the folders of
  /// modules without Swift code that are in them.
  static func modules(in folder: String, of targets: Set<String>) -> [Module] {
    contents(of: folder).filter(\.isFolder).flatMap { entry in
      let inner = modules(in: entry.path, of: targets)
      guard targets.contains(entry.name) else { return inner }
      let parts = inner.filter { !$0.isSwift }
      let files = sourceFiles(in: entry.path, but: Set(parts.map(\.name)))
      return [Module(name: entry.name, folder: entry.path, files: files)] + parts
    }
  }

  private static func sourceFiles(in folder: String, but targets: Set<String>) -> [SourceFile] {
    contents(of: folder).flatMap { entry in
      if entry.isFolder { return targets.contains(entry.name) ? [] : sourceFiles(in: entry.path, but: targets) }
      guard SourceFile.extensions.contains(where: { entry.name.hasSuffix($0) }), let text = text(of: entry.path) else {
        return []
      }
      return [SourceFile(path: entry.path, text: text)]
    }
  }

  private static func contents(of folder: String) -> [(name: String, path: String, isFolder: Bool)] {
    let urls = try? FileManager.default.contentsOfDirectory(
      at: root.appending(path: folder), includingPropertiesForKeys: [.isDirectoryKey], options: .skipsHiddenFiles)
    return (urls ?? []).map { url in
      let name = url.lastPathComponent
      let isFolder = (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true
      return (name, folder + "/" + name, isFolder)
    }
    .sorted { $0.name < $1.name }
  }
}

/// A module of the package, whose folder has its name.
struct Module {
  let name: String
  /// The path of its folder, such as `Sources/Libraries/Geo`.
  let folder: String
  let files: [SourceFile]

  /// A Boolean value that indicates whether it has Swift code; others are in C.
  var isSwift: Bool { files.contains(where: \.isSwift) }

  /// The lines of Swift code, with comments and empty lines.
  var lineCount: Int { files.filter(\.isSwift).reduce(0) { $0 + $1.lineCount } }

  /// The paths of the files that import each module, by its name.
  var imports: [String: [String]] {
    var imports: [String: [String]] = [:]
    for file in files where file.isSwift {
      for name in Set(file.imports) { imports[name, default: []].append(file.path) }
    }
    return imports
  }

  /// Returns the paths of the files that name a word; see ``SourceFile/names(_:)``.
  func files(naming word: String) -> [String] { files.filter { $0.names(word) }.map(\.path) }
}

/// A file of Swift or C code.
struct SourceFile {
  static let extensions = [".swift", ".c", ".h", ".modulemap"]

  let path: String
  private let bytes: [UInt8]
  /// The bytes with the letters of ASCII in lower case.
  private let lowercased: [UInt8]

  init(path: String, text: String) {
    self.path = path
    bytes = Array(text.utf8)
    lowercased = bytes.map { Self.isUppercase($0) ? $0 | 0x20 : $0 }
  }

  var isSwift: Bool { path.hasSuffix(".swift") }

  var lineCount: Int { bytes.count { $0 == UInt8(ascii: "\n") } }

  /// The modules that the lines before the first declaration import.
  var imports: [String] {
    var names: [String] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest[line.endIndex...].dropFirst()
      let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        .drop { $0.hasPrefix("@") || Self.accessLevels.contains($0) }
      guard let first = words.first, !first.hasPrefix("//"), !first.hasPrefix("#") else { continue }
      guard first == "import" else { break }
      if let name = words.dropFirst().drop(while: { Self.kinds.contains($0) }).first {
        names.append(String(name.prefix { $0 != "." }))
      }
    }
    return names
  }

  /// A Boolean value that indicates whether a line begins a declaration with `public`.
  var hasPublicDeclaration: Bool {
    bytes.split(separator: UInt8(ascii: "\n")).contains { line in
      let code = line.drop { $0 == UInt8(ascii: " ") }
      return code.starts(with: "public ".utf8) && !code.starts(with: "public import ".utf8)
    }
  }

  /// Returns a Boolean value that indicates whether the file has a word in any case, in code or in a comment, and also
  /// as the beginning of a part of an identifier: `photon` is in `isPhotonLayer`, but `mcp` not in `memcpy`.
  ///
  /// - Parameter word: ASCII in lower case.
  func names(_ word: String) -> Bool {
    let word = Array(word.utf8)
    guard lowercased.count >= word.count else { return false }
    return (0...lowercased.count - word.count).contains { start in
      lowercased[start] == word[0] && beginsWord(at: start)
        && word.indices.allSatisfy { lowercased[start + $0] == word[$0] }
    }
  }

  private func beginsWord(at start: Int) -> Bool {
    start == 0 || !Self.isLetter(lowercased[start - 1]) || Self.isUppercase(bytes[start])
  }

  private static func isUppercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

  private static let accessLevels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]

  private static let kinds: Set<Substring> = [
    "class", "enum", "func", "let", "protocol", "struct", "typealias", "var",
  ]
}

/// The parts of a README in Markdown.
enum Readme {
  /// Returns the lines of each block of Swift code.
  static func swiftBlocks(of markdown: String) -> [[Substring]] {
    markdown.matches(of: /\n```swift\n((?s).*?)\n```/).map { codeLines(of: String($0.1)) }
  }

  /// Returns the lines of code without their indentation; empty ones are left out.
  static func codeLines(of code: String) -> [Substring] {
    code.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
  }
}
