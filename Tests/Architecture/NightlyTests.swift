import Testing

/// The workflow that runs every night runs what the scripts have.
@Suite struct NightlyTests {
  private static let workflow = Repository.text(of: ".github/workflows/nightly.yml") ?? ""

  /// Returns the words of an array of a script in Bash.
  private static func array(_ name: Substring, in script: String) throws -> Set<String> {
    let text = try #require(Repository.text(of: "scripts/" + script))
    let start = try #require(text.firstRange(of: "\n\(name)=(")).upperBound
    return Set(text[start...].prefix { $0 != ")" }.split(whereSeparator: \.isWhitespace).map { String($0) })
  }

  /// Returns the checks of a script that the workflow runs.
  private static func checks(of script: String) -> Set<String> {
    Set(workflow.matches(of: /(?m)^ +- (\w+) ([a-z-]+)/).filter { $0.1 == script }.map { String($0.2) })
  }

  @Test func everyFaultIsTried() throws {
    #expect(try Self.checks(of: "faults") == Self.array("checks", in: "faults"))
  }

  @Test func everyComparisonIsMadeThatNeedsNeitherAnotherBuildNorFilesOfRealPlaces() throws {
    let elsewhere: Set = [
      // They compare with another build.
      "responses",
      // They read files of real places, which are not in the repository.
      "area-queries", "duplicates", "judgements", "search",
      // The workflow CI runs them.
      "manifests", "package",
    ]

    #expect(try Self.checks(of: "conformance") == Self.array("checks", in: "conformance").subtracting(elsewhere))
  }

  @Test func everyFuzzerRuns() throws {
    let line = try #require(Self.workflow.firstMatch(of: /target: \[([^\]]*)\]/))

    #expect(
      Set(line.1.split(separator: ",").map { String($0.drop { $0 == " " }) }) == (try Self.array("targets", in: "fuzz"))
    )
  }

  @Test func programsOfTheChecksAreBuiltOnce() throws {
    let scripts = ["lib.sh", "conformance", "faults"].map { Repository.text(of: "scripts/" + $0) ?? "" }.joined()
    let programs = scripts.matches(of: /(?m)^ +require_product ([A-Z0-9_]+) ([a-z0-9-]+)/)

    #expect(programs.count >= 5)
    for program in programs {
      let isBuilt = Self.workflow.contains("\n  \(program.1): programs/\(program.2)\n")

      #expect(isBuilt, "build \(program.2) in the first job, and set \(program.1)")
    }
  }
}
