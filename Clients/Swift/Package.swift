// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors in CI only, so that a newer compiler's warnings do not stop an app from building.
let strict: [SwiftSetting] =
  [.enableUpcomingFeature("ExistentialAny")]
  + (Context.environment["CI"] == "true" ? [.unsafeFlags(["-warnings-as-errors"])] : [])

let package = Package(
  name: "waymark-client",
  platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
  products: [
    .library(name: "WaymarkClient", targets: ["WaymarkClient"]),
    .library(name: "WaymarkTesting", targets: ["WaymarkTesting"]),
  ],
  targets: [
    .target(name: "WaymarkClient", resources: [.copy("PrivacyInfo.xcprivacy")], swiftSettings: strict),
    .target(name: "WaymarkTesting", dependencies: ["WaymarkClient"], swiftSettings: strict),
    .testTarget(
      name: "WaymarkClientTests", dependencies: ["WaymarkClient", "WaymarkTesting"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
