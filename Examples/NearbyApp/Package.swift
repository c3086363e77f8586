// swift-tools-version: 6.2
import PackageDescription

let client = Target.Dependency.product(name: "WaymarkClient", package: "waymark-client")

let package = Package(
  name: "NearbyApp",
  platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
  dependencies: [.package(name: "waymark-client", path: "../../Clients/Swift")],
  targets: [
    .target(name: "NearbyModels", dependencies: [client]),
    .testTarget(
      name: "NearbyModelsTests",
      dependencies: ["NearbyModels", client, .product(name: "WaymarkTesting", package: "waymark-client")]),
  ],
  swiftLanguageModes: [.v6]
)

// The models are tested on Linux, too; there are no views there.
#if !os(Linux)
  package.targets.append(.executableTarget(name: "NearbyApp", dependencies: ["NearbyModels", client]))
#endif
