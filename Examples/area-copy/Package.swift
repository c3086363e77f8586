// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "area-copy",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "waymark-client", path: "../../Clients/Swift")],
  targets: [
    .executableTarget(name: "area-copy", dependencies: [.product(name: "WaymarkClient", package: "waymark-client")])
  ],
  swiftLanguageModes: [.v6]
)
