// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "nearby",
  platforms: [.macOS(.v26)],
  dependencies: [.package(name: "waymark", path: "../..")],
  targets: [
    .executableTarget(name: "nearby", dependencies: [.product(name: "WaymarkClient", package: "waymark")])
  ],
  swiftLanguageModes: [.v6]
)
