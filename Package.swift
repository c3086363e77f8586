// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (Context.environment["CI"] == "true" ? [.treatAllWarnings(as: .error)] : [])

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> [Target] {
  [
    .target(name: name, dependencies: dependencies, swiftSettings: strict),
    .testTarget(
      name: name + "Tests",
      dependencies: [.target(name: name), "TestSupport"] + dependencies,
      swiftSettings: strict
    ),
  ]
}

let package = Package(
  name: "waymark",
  platforms: [.macOS(.v26), .iOS(.v17)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
  ],
  targets: [
    [
      .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
      .target(
        name: "TestSupport",
        dependencies: ["Geo", "Points", .product(name: "Logging", package: "swift-log")],
        path: "Tests/TestSupport",
        swiftSettings: strict
      ),
    ],
    module("Geo"),
    module("JSONText"),
    module("Points", ["Geo", "JSONText", .product(name: "Logging", package: "swift-log")]),
    module("MemoryStore", ["Geo", "Points"]),
    module("PostgresStore", ["CLibPQ", "Geo", "Points", .product(name: "Logging", package: "swift-log")]),
    module(
      "HTTPServer",
      [
        "JSONText",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOExtras", package: "swift-nio-extras"),
      ]
    ),
    module("PlaceFormats", ["Geo", "JSONText", "Points"]),
  ].flatMap { $0 },
  swiftLanguageModes: [.v6]
)
