import Testing

/// The floors of `Sources`, which `docs/development.md` describes.
@Suite struct ArchitectureTests {
  private static let manifest = Manifest(Repository.text(of: "Package.swift") ?? "")

  /// The modules of the program.
  private static let modules = Repository.modules(in: "Sources", of: Set(manifest.targets.keys))

  /// The modules of tests and benchmarks.
  private static let otherModules = ["Benchmarks", "Tests"].flatMap {
    Repository.modules(in: $0, of: Set(manifest.targets.keys))
  }

  /// The modules of the toolchain.
  private static let toolchain: Set = [
    "Darwin", "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc", "Musl",
    "Synchronization", "Testing", "XCTest",
  ]

  @Test func eachTargetHasAFolderOfItsName() {
    let folders = Set((Self.modules + Self.otherModules).map(\.name))

    #expect(Self.modules.filter(\.isSwift).count >= 15)
    #expect(Set(Self.manifest.targets.keys).subtracting(folders) == [], "targets of Package.swift without a folder")
  }

  @Test func eachModuleHasAFloor() {
    let homeless = Self.modules.filter { $0.floor == nil }.map(\.folder)

    #expect(homeless == [], "move them to Sources/Libraries, Sources/Core or Sources/Features")
  }

  @Test func manifestDeclaresWhatIsImportedAndNothingElse() throws {
    for module in Self.modules + Self.otherModules where module.isSwift {
      let target = try #require(Self.manifest.targets[module.name])
      let imported = Set(module.imports.keys)
      let undeclared = imported.subtracting(Self.toolchain).subtracting(target.dependencies.union(target.inherited))
      let unused = target.dependencies.subtracting(imported).filter { Self.manifest.targets[$0]?.isExecutable != true }

      #expect(undeclared == [], "add what \(module.name) imports to its dependencies in Package.swift")
      #expect(unused == [], "remove what \(module.name) does not import from its dependencies in Package.swift")
    }
  }

  @Test(arguments: Rule.allCases) func ruleHoldsButForItsExceptions(rule: Rule) throws {
    let exceptions = Exceptions(try #require(Repository.text(of: "Tests/Architecture/Exceptions.txt")))

    let differences = exceptions.differences(from: rule.findings(in: Self.modules), of: rule)

    #expect(exceptions.invalidLines == [], "a line is such as 'LocationsAPI names photon: 7'")
    for difference in differences { Issue.record(Comment(rawValue: difference)) }
  }

  @Test func eachLibraryAndFeatureHasAReadme() {
    for module in Self.modules where module.isSwift && [.libraries, .features].contains(module.floor) {
      let folder = module.feature.map { "Sources/Features/\($0)" } ?? module.folder

      #expect(
        Repository.text(of: folder + "/README.md")?.hasPrefix("# ") == true,
        "write \(folder)/README.md: what it is for, an example, and its limits")
    }
  }

  @Test func readmesOfLibrariesHaveExamplesThatTestsRun() throws {
    for module in Self.modules where module.isSwift && module.floor == .libraries {
      let readme = try #require(Repository.text(of: module.folder + "/README.md"))
      let test = "Tests/\(module.name)Tests/ReadmeExampleTests.swift"
      let code = Readme.codeLines(of: Repository.text(of: test) ?? "")
      let examples = Readme.swiftBlocks(of: readme)

      #expect(!examples.isEmpty, "give \(module.folder)/README.md an example")
      for example in examples {
        #expect(code.contains(example), "have \(test) run the example of \(module.folder)/README.md, line by line")
      }
    }
  }

  @Test func readmesOfLibrariesStateLimitsAndDependencies() throws {
    for module in Self.modules where module.isSwift && module.floor == .libraries {
      let readme = try #require(Repository.text(of: module.folder + "/README.md"))
      let dependencies = try #require(Self.manifest.targets[module.name]).dependencies
      let unnamed = dependencies.intersection(Self.modules.map(\.name)).filter { !readme.contains("`\($0)`") }

      for title in ["Limits", "Sources and dependencies"] {
        #expect(readme.contains("\n## \(title)\n"), "give \(module.folder)/README.md a section '\(title)'")
      }
      #expect(unnamed == [], "name them in \(module.folder)/README.md")
    }
  }

  @Test func publicDeclarationsAreInTheModulesOfTheDecisionRecordAlone() throws {
    let record = try #require(Repository.text(of: "docs/decisions/access-levels.md"))
    let sentence = try #require(record.firstMatch(of: /\n`public` in [^:]*: ([^.]*)\./))
    let listed = Set(sentence.1.matches(of: /`(\w+)`/).map { String($0.1) })
    let found = Set(Self.modules.filter { $0.files.contains(where: \.hasPublicDeclaration) }.map(\.name))

    #expect(
      found.subtracting(listed) == [], "declare it package, or give the reason in docs/decisions/access-levels.md")
    #expect(listed.subtracting(found) == [], "remove them from docs/decisions/access-levels.md")
  }

  @Test func modulesHaveAtMostTheLinesOfTheirBudgets() throws {
    let budgets = Budgets(try #require(Repository.text(of: "Tests/Architecture/Budgets.txt")))
    let lineCounts = Self.modules.filter(\.isSwift).map { ($0.name, $0.lineCount) }

    for difference in budgets.differences(from: Dictionary(lineCounts, uniquingKeysWith: +)) {
      Issue.record(Comment(rawValue: difference))
    }
  }
}
