// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "waymark-client",
  defaultLocalization: "en",
  platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
  products: [
    .library(name: "WaymarkClient", targets: ["WaymarkClient"]),
    .library(name: "WaymarkTesting", targets: ["WaymarkTesting"]),
  ],
  targets: [
    .target(
      name: "WaymarkClient",
      resources: [.copy("PrivacyInfo.xcprivacy"), .process("Messages/Localizable.xcstrings")]),
    .target(name: "WaymarkTesting", dependencies: ["WaymarkClient"]),
    // The tests compile the examples of the documentation comments. They have the reader of declarations by a link,
    // because they cannot be linked with the program of a plugin that they use.
    .executableTarget(name: "ExampleWriter", path: "Tests/ExampleWriter"),
    .plugin(name: "WriteExamples", capability: .buildTool(), dependencies: ["ExampleWriter"]),
    .testTarget(
      name: "WaymarkClientTests", dependencies: ["WaymarkClient", "WaymarkTesting"],
      plugins: ["WriteExamples"]),
  ],
  swiftLanguageModes: [.v6]
)
