// swift-tools-version: 6.2
import PackageDescription

/// The fuzzers, one program for each parser of input from outside. They are a package of their own, so that the service
/// is built without them; `scripts/fuzz` builds and runs them.
let package = Package(
  name: "waymark-fuzz",
  platforms: [.macOS(.v26)],
  dependencies: [.package(name: "waymark", path: "..")],
  targets: [
    .target(name: "CFuzzer"),
    .target(name: "FuzzSupport", dependencies: ["CFuzzer", .product(name: "WaymarkParts", package: "waymark")]),
  ]
    + ["FuzzQuery", "FuzzJSON", "FuzzCursor", "FuzzMergePatch", "FuzzText", "FuzzShapes", "FuzzFilter", "FuzzHours"].map
  { name in
    .executableTarget(
      name: name,
      dependencies: ["FuzzSupport", .product(name: "WaymarkParts", package: "waymark")]
    )
  },
  swiftLanguageModes: [.v6]
)
