// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "NearbyApp",
  platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
  dependencies: [.package(name: "waymark-client", path: "../../Clients/Swift")],
  targets: [
    .executableTarget(name: "NearbyApp", dependencies: [.product(name: "WaymarkClient", package: "waymark-client")])
  ],
  swiftLanguageModes: [.v6]
)
