// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "waymark-client",
  platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
  products: [
    .library(name: "WaymarkClient", targets: ["WaymarkClient"]),
    .library(name: "WaymarkTesting", targets: ["WaymarkTesting"]),
  ],
  targets: [
    .target(name: "WaymarkClient", resources: [.copy("PrivacyInfo.xcprivacy")]),
    .target(name: "WaymarkTesting", dependencies: ["WaymarkClient"]),
    .testTarget(name: "WaymarkClientTests", dependencies: ["WaymarkClient", "WaymarkTesting"]),
  ],
  swiftLanguageModes: [.v6]
)
