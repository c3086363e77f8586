import Testing

/// The checks of ``ArchitectureTests`` find what they are to find.
@Suite struct RuleTests {
  private static func module(_ folder: String, _ text: String, file: String = "File.swift") -> Module {
    Module(
      name: folder.split(separator: "/").last.map { String($0) } ?? "", folder: "Sources/" + folder,
      files: [SourceFile(path: file, text: text)])
  }

  @Test func importsAreReadUpToTheFirstDeclaration() {
    let file = SourceFile(
      path: "File.swift",
      text: """
        // import Comment
        @testable import Geo
        package import struct Points.PointID
        #if canImport(Glibc)
          import Glibc  // A comment.
        #endif

        @preconcurrency private import NIOCore
        let text = \"\"\"
          import Text
          \"\"\"
        """)

    #expect(file.imports == ["Geo", "Points", "Glibc", "NIOCore"])
    #expect(file.lineCount == 10)
  }

  @Test(arguments: [
    ("mcp", "func respondMCP()", true), ("mcp", "let mcp = 1", true), ("mcp", "memcpy(a, b, 1)", false),
    ("photon", "var isPhotonLayer", true), ("photon", "/// As PHOTON does.", true), ("photon", "let photo = n", false),
    ("/ogc", #"path == "/ogc""#, true), ("/ogc", "http://www.opengis.net/def/crs/ogc/1.3", false), ("mcp", "mc", false),
  ])
  func wordsAreFoundWhereAWordBegins(word: String, text: String, isNamed: Bool) {
    #expect(SourceFile(path: "File.swift", text: text).names(word) == isNamed)
  }

  @Test(arguments: [
    ("  public func f()", true), ("public import Geo", false), ("/// public", false), ("a.public ", false),
  ])
  func publicDeclarationsAreFound(line: String, isPublic: Bool) {
    #expect(SourceFile(path: "File.swift", text: "import Geo\n" + line).hasPublicDeclaration == isPublic)
  }

  @Test func swiftBlocksOfAReadmeAreReadWithoutIndentation() {
    let readme = "# A\n\n```swift\nif a {\n\n  b()\n}\n```\n\n```sh\nls\n```\n\n```swift\nc()\n```\n"

    #expect(Readme.swiftBlocks(of: readme) == [["if a {", "b()", "}"], ["c()"]])
  }

  @Test func manifestIsRead() throws {
    let manifest = Manifest(
      """
      func module(_ name: String, tests: [Target.Dependency] = []) -> [Target] {
        [.target(name: name, dependencies: []), .testTarget(name: name + "Tests", dependencies: [.target(name: name)])]
      }

      let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
      let nio: [Target.Dependency] = [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]

      let package = Package(
        targets: [
          // .target(name: "Comment"),
          .target(name: "CZlib", exclude: ["NOTICE"]),
          .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
          module("Basics", settings: computing),
          module(
            "Points", ["Basics", .target(name: "CZlib"), logging] + nio, settings: computing,
            tests: ["CExpat"]),
          .executableTarget(name: "waymark", dependencies: ["Points"], path: "Program"),
          .testTarget(name: "waymarkTests", dependencies: ["waymark", .product(name: "X509", package: "x")]),
        ])
      """)

    #expect(
      manifest.targets.mapValues { $0.dependencies } == [
        "Basics": [], "BasicsTests": [], "CExpat": [], "CZlib": [],
        "Points": ["Basics", "CZlib", "Logging", "NIOCore", "NIOPosix"], "PointsTests": ["CExpat"],
        "waymark": ["Points"], "waymarkTests": ["waymark", "X509"],
      ])
    #expect(
      try #require(manifest.targets["PointsTests"]).inherited == [
        "Basics", "CZlib", "Logging", "NIOCore", "NIOPosix", "Points", "SyntheticData", "TestSupport",
      ])
    #expect(manifest.targets.filter { $0.value.isExecutable }.map(\.key) == ["waymark"])
  }

  @Test func floorsAreThoseOfFolders() {
    #expect(Self.module("Core/Stores/NewStore", "").floor == .core)
    #expect(Self.module("Features/Search/Words", "").feature == "Search")
    #expect(Self.module("waymark", "").floor == .program)
    #expect(Self.module("Libraries/Geo", "").floor == .libraries)
    #expect(Self.module("Unknown", "").floor == nil)
  }

  @Test func importsOfHigherFloorsAndOfOtherFeaturesAreFound() {
    let modules = [
      Self.module("Libraries/Bytes", "import Places\nimport Foundation"),
      Self.module("Core/Places", "import Bytes\nimport Search"),
      Self.module("Features/Search/Search", "import Places\nimport Bytes\nimport Words"),
      Self.module("Features/Search/Words", "import Hours"),
      Self.module("Features/Hours", "import Places"),
      Self.module("waymark", "import Bytes\nimport Places\nimport Search\nimport Hours"),
    ]

    #expect(
      Set(Rule.imports.findings(in: modules).keys.map(\.description)) == [
        "Bytes imports Places", "Places imports Search", "Words imports Hours",
      ])
  }

  @Test func featuresAreNamedInNeitherCoreNorLibraries() {
    let text = "/// As /ogc has it.\nlet webhook = PointID()"
    let modules = [
      Self.module("Libraries/Bytes", text), Self.module("Libraries/CBytes", "int waymark_bytes;", file: "bytes.c"),
      Self.module("Core/Places", text), Self.module("Features/Search", text), Self.module("waymark", text),
    ]

    #expect(
      Set(Rule.names.findings(in: modules).keys.map(\.description)) == [
        "Bytes names /ogc", "Bytes names pointid", "Bytes names webhook", "CBytes names waymark", "Places names /ogc",
        "Places names webhook",
      ])
  }

  @Test func valuesOfTasksAreFoundOutsideOfLibraries() {
    let text = "enum Current { @TaskLocal static var value: Int? }"
    let modules = ["Libraries/Bytes", "Core/Places", "Features/Search", "waymark"].map { Self.module($0, text) }

    #expect(
      Set(Rule.declares.findings(in: modules).keys.map(\.description)) == [
        "Places declares @tasklocal", "Search declares @tasklocal", "waymark declares @tasklocal",
      ])
  }

  @Test func moreAndFewerFilesThanTheExceptionsAreReported() {
    let exceptions = Exceptions(
      """
      # The reason.
      Places names photon: 2
      Places names mcp: 2
      Places names webhook: 2
      Places names suggest: 1
      Places names nominatim: 0
      Places imports Search: 1
      Places names two words
      """)
    func finding(_ object: String) -> Finding { Finding(module: "Places", rule: .names, object: object) }
    let findings = [
      finding("photon"): ["a", "b"], finding("mcp"): ["a"], finding("webhook"): ["a", "b", "c"], finding("/ogc"): ["a"],
    ]

    let differences = exceptions.differences(from: findings, of: .names)

    #expect(exceptions.invalidLines == ["Places names nominatim: 0", "Places names two words"])
    #expect(differences.count == 4)
    #expect(differences[0].hasPrefix("Places names /ogc: 1 files, 0 at most"))
    #expect(differences[1].hasSuffix("\nPlaces names mcp: 1"))
    #expect(differences[2].hasPrefix("Places names suggest: no file any more"))
    #expect(differences[3].hasPrefix("Places names webhook: 3 files, 2 at most"))
  }

  @Test func budgetsAreExceededTooLargeMissingOrWithoutAModule() {
    let budgets = Budgets("# The lines.\nExact 1000\nOver 1000\nSlack 1060\nLarge 1100\nGone 10\n")

    let differences = budgets.differences(
      from: ["Exact": 1_000, "Large": 1_000, "New": 51, "Over": 1_001, "Slack": 1_000])

    #expect(differences.count == 4)
    #expect(differences[0].hasPrefix("there is no module Gone"))
    #expect(differences[1].hasSuffix("\nLarge 1020"))
    #expect(differences[2].hasSuffix("\nNew 53"))
    #expect(differences[3].hasPrefix("Over has 1001 lines, 1000 at most") && differences[3].hasSuffix("\nOver 1022"))
  }
}
