import Foundation
import Testing

/// Keeps `String`'s own comparison, by canonical equivalence, away from texts that come from outside: `é` has two forms
/// there that are one key, and in a database and in JSON they are two.
///
/// It finds by name what can compare: collections keyed by `String`, members of types whose `==` the compiler writes,
/// and the properties that hold texts of users. `ExactText`, `ComparedByBytes` and `hasSameBytes(as:)` are to be used
/// instead.
@Suite struct TextComparisonLint {
  /// The accepted findings, with the reasons. `where` is the end of a file's path and, after a colon, a part of the
  /// line.
  private static let allowed: [(place: String, reason: String)] = [
    ("Invalid", "a message for people, which only tests compare"),
    ("Error", "a message for people, which only tests compare"),
    ("InvalidDatabaseURL", "a message for people, which only tests compare"),
    ("Location.parameter", "where in a request an error is, which only tests compare"),
    ("Location.pointer", "where in a request an error is, which only tests compare"),
    ("Segment.parameter", "the parameters' names in this program's templates"),
    ("RowLocation.file", "a path, which only tests compare"),
    ("State.identities", "paths of this program's files"),
    ("Difference", "names of migrations"),
    ("ConnectionFailure", "a message for people, which only tests compare"),
    ("RejectedRow", "a message for people, which only tests compare"),
    ("PointViolation", "a message for people, which only tests compare"),
    ("APIKey.name", "ASCII by APIKey.isAcceptable(name:)"),
    ("Grant.evidence", "made here from an ASCII name"),
    ("Principal", "the name is compared together with its namespace, which is ASCII"),
    ("Credential", "the token's text, which a hash of its bytes stands for"),
    ("DataVersion.token", "made by a store, ASCII"),
    ("Statement", "SQL of this program"),
    ("CountKey", "SQL of this program"),
    ("SessionOwner", "a namespace or an address, which are ASCII"),
    ("Group.name", "the name of a statement or of a group of calls of this program"),
    ("Group.description", "the description of a group of calls of this program"),
    ("ServerIdentity.life", "digits in base 36"),
    ("Migration", "file names and SQL that come with this program"),
    ("SchemaState", "names of migrations"),
    ("File.path", "a path, which tests compare"),
    ("OSMFile.path", "a path, which tests compare"),
    ("OSMArea", "members of GeoJSON, whose names are ASCII"),
    ("FileProgress", "a path, which tests compare"),
    ("Progress", "a path, which tests compare"),
    ("StoreReadiness.readOnly", "a message for people, which only tests compare"),
    (".indexes", "methods and paths of this program's calls"),
    ("NearWords.koreanParticles", "words of this program, which people type in either normal form"),
    ("NearWords.elisions", "letters of ASCII"),
  ]

  /// Comparisons of something else than texts of users, by file and what is compared.
  private static let allowedComparisons = [
    ("Statement.swift", "left.name == right.name", "names of this program's statements"),
    ("Call.swift", "$0.name == field.name", "names of header fields in this program's calls"),
    ("Route.swift", "$0.name == name", "the parameters' names in this program's templates"),
    ("RouteTable.swift", "template.text == template.text", "this program's templates"),
    ("Revalidation.swift", "source == version.source", "numbers of servers"),
    ("PointBuffer.swift", "PointRecord.none", "numbers of texts"),
    ("PointRecords.swift", "PointRecord.none", "numbers of texts"),
    ("Parameter.swift", "left.key == right.key", "names of this program, compared by their bytes"),
    ("ParameterValues.swift", ".key ==", "names of this program, compared by their bytes"),
    ("SharedCounts.swift", ".key ==", "statements of this program and their parameters, which are bytes"),
  ]

  private static let modules: Set = [
    "AccessControl", "Basics", "HTTPServer", "IndexedStore", "JSONText", "LocationsAPI", "MemoryStore", "OpenStreetMap",
    "PointDetails", "PointFormats", "PointIndex", "Points", "PostgresClient", "PostgresStore", "SQLiteJournal",
    "SearchWords", "TextFiles",
  ]

  private struct Line: CustomStringConvertible {
    let path: String
    let number: Int
    let text: Substring
    /// The innermost type that the line is in, with whether the compiler writes its `==`.
    let type: (name: String, isCompared: Bool)?

    var description: String { "\(path):\(number): \(text.trimmingCharacters(in: .whitespaces))" }
  }

  /// The lines of code of the modules, comments left out.
  private static func lines() throws -> [Line] {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    var lines: [Line] = []
    var unread = modules
    for case let file as URL in files where file.pathExtension == "swift" {
      guard let module = file.pathComponents.dropFirst(sources.pathComponents.count).first(where: modules.contains)
      else { continue }
      unread.remove(module)
      let text = try String(contentsOf: file, encoding: .utf8)
      lines += try Self.lines(of: text, path: module + "/" + file.lastPathComponent)
    }
    #expect(unread == [], "modules without a folder")
    return lines
  }

  private static let declarationWords: Set = [
    "public", "package", "private", "fileprivate", "final", "indirect", "struct", "enum", "class", "actor", "extension",
  ]

  private static func lines(of text: String, path: String) throws -> [Line] {
    let declaration =
      #/^( *)(?:public |package |private |fileprivate |final |indirect )*(?:struct|enum|class|actor|extension) (\w+)(.*)/#
    var types: [(indentation: Int, name: String, isCompared: Bool)] = []
    var lines: [Line] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.drop { $0 == " " }
      guard !trimmed.isEmpty, !trimmed.hasPrefix("//") else { continue }
      let indentation = line.count - trimmed.count
      types.removeAll { indentation < $0.indentation || (indentation == $0.indentation && !trimmed.hasPrefix("}")) }
      // The regular expressions are slow: most lines are sorted out before.
      let firstWord = trimmed.prefix { $0.isLetter }
      if declarationWords.contains(String(firstWord)), let match = line.firstMatch(of: declaration) {
        let isCompared = match.3.contains(#/\b(Hashable|Equatable|Comparable)\b/#)
        types.append((indentation, String(match.2), isCompared))
      }
      lines.append(
        Line(path: path, number: index + 1, text: line, type: types.last.map { ($0.name, $0.isCompared) }))
    }
    return lines
  }

  private static func isAllowed(_ line: Line) -> Bool {
    let member = line.text.firstMatch(of: #/(?:let|var|case) (\w+)/#).map { String($0.1) } ?? ""
    let names = [line.type?.name ?? "", (line.type?.name ?? "") + "." + member]
    return allowed.contains { entry in
      names.contains { $0 == entry.place || (!entry.place.contains(".") && $0.hasSuffix(entry.place)) }
    }
  }

  @Test func noSetOrDictionaryIsKeyedByString() throws {
    let keyed = #/Set<(String|Substring)>|Dictionary<(String|Substring),|\[(String|Substring): /#

    let found = try Self.lines().filter { $0.text.contains(keyed) && !Self.isAllowed($0) }

    #expect(found.isEmpty, "use ExactText: \(found)")
  }

  @Test func noComparedTypeHoldsAPlainString() throws {
    let property =
      #/^ *(?:(?:public|package|private|fileprivate)(?:\(set\))? )*(?:let|var) \w+: \[?(?:String|Substring)\b[^{]*$/#
    let payload = #/^ *case \w+\([^)]*\b(?:String|Substring)\b/#

    let lines = try Self.lines()
    let found = lines.filter { line in
      line.type?.isCompared == true && (line.text.contains(property) || line.text.contains(payload))
        && !Self.isAllowed(line)
    }

    #expect(lines.contains { $0.type?.name == "PointDraft" && $0.type?.isCompared == true })
    #expect(found.isEmpty, "use @ComparedByBytes: \(found)")
  }

  @Test func textsOfUsersAreNotComparedAsStrings() throws {
    // A literal of ASCII is equal to itself alone, but for three characters that others are equivalent to.
    let comparison =
      #/\.(name|category|source|sourceID|sourceId|text|key|subject|issuer|origin) (==|!=) (?!nil\b|"[^"K;`]*"|[0-9])/#

    let found = try Self.lines().filter { line in
      line.text.utf8.contains(UInt8(ascii: "=")) && line.text.contains(comparison)
        && !Self.allowedComparisons.contains { line.path.hasSuffix($0.0) && line.text.contains($0.1) }
    }

    #expect(found.isEmpty, "use hasSameBytes(as:): \(found)")
  }
}
