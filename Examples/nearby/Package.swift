// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "nearby",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "waymark-client", path: "../../Clients/Swift")],
  targets: [
    .executableTarget(name: "nearby", dependencies: [.product(name: "WaymarkClient", package: "waymark-client")])
  ],
  swiftLanguageModes: [.v6]
)
