// swift-tools-version: 6.2
import PackageDescription

/// Warnings are errors in CI only, so that a new warning of a newer compiler breaks no other build.
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (Context.environment["CI"] == "true" ? [.treatAllWarnings(as: .error)] : [])

/// The settings of modules that compute: optimized in debug builds too, so that tests take a fraction of the time.
let computing = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// The libraries, which have a README each.
let documented: Set = [
  "Basics", "CQL2", "FairShares", "Geo", "Gzip", "HTTPServer", "JSONText", "OpenStreetMap", "OpeningHours",
  "PostgresClient", "PrometheusMetrics", "SearchWords", "TextFiles", "TileFiles", "VectorTiles",
]

/// Returns a library target in the folder of its floor, and its tests.
func module(
  _ name: String,
  in floor: String,
  _ dependencies: [Target.Dependency] = [],
  settings: [SwiftSetting] = strict,
  tests: [Target.Dependency] = []
) -> [Target] {
  [
    .target(
      name: name, dependencies: dependencies, path: "Sources/\(floor)/\(name)",
      exclude: documented.contains(name) ? ["README.md"] : [],
      swiftSettings: settings),
    .testTarget(
      name: name + "Tests",
      dependencies: [.target(name: name), "SyntheticData", "TestSupport"] + dependencies + tests,
      swiftSettings: strict
    ),
  ]
}

/// Returns the target of a feature. None imports another.
func feature(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Features/\(name)", exclude: ["README.md"] + exclude,
    swiftSettings: strict)
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]

let package = Package(
  name: "waymark",
  platforms: [.macOS(.v26)],
  products: [
    .executable(name: "waymark", targets: ["waymark"]),
    .executable(name: "waymark-core", targets: ["waymark-core"]),
    // The modules under test by the fuzzers in Fuzz/; not for other packages.
    .library(
      name: "WaymarkParts",
      targets: [
        "AreasAPI", "Basics", "CQL2", "Changes", "Duplicates", "Geo", "HTTPServer", "JSONText", "LocationsAPI",
        "MCP", "ManagementAPI", "Maps", "MemoryStore", "OGC", "OpeningHours", "Pages", "Photon", "Points",
        "SearchAnalytics", "SearchWords",
      ]),
  ],
  dependencies: [
    // The end-to-end tests drive the server with it.
    .package(name: "waymark-client", path: "Clients/Swift"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
  ],
  targets: [
    [
      .target(
        name: "CBaseMap", path: "Sources/Features/Pages/CBaseMap", exclude: ["NOTICE", "make", "make.py", "tiles.bin"]),
      .target(name: "CBundledSample", path: "Sources/Core/Hosting/CBundledSample", exclude: ["landmarks.geojson"]),
      .target(
        name: "CBuiltInCategories", path: "Sources/Core/CBuiltInCategories", exclude: ["categories.yaml"]),
      .target(
        name: "CBuiltInMappings", path: "Sources/Features/Imports/CBuiltInMappings",
        exclude: ["columns.yaml", "geonames.yaml", "osm.yaml", "overture.yaml"]),
      .target(
        name: "CHolidays", path: "Sources/Libraries/CHolidays",
        exclude: ["NOTICE", "holidays.bin", "make", "regions.bin", "regions.py"]),
      .systemLibrary(
        name: "CExpat", path: "Sources/Libraries/CExpat", pkgConfig: "expat",
        providers: [.apt(["libexpat1-dev"]), .brew(["expat"])]),
      .systemLibrary(
        name: "CLibPQ", path: "Sources/Libraries/CLibPQ", pkgConfig: "libpq",
        providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
      .systemLibrary(name: "CMalloc", path: "Sources/Libraries/CMalloc"),
      .target(name: "CMigrations", path: "Sources/Core/Stores/CMigrations"),
      .target(
        name: "CPages", path: "Sources/Features/Pages/CPages",
        exclude: ["common", "docs", "map", "ogc", "status", "texts"]),
      .systemLibrary(name: "CPrefetch", path: "Sources/Libraries/CPrefetch"),
      .target(name: "CTCPInfo", path: "Sources/Libraries/CTCPInfo"),
      .target(
        name: "CTimeZones", path: "Sources/Libraries/CTimeZones", exclude: ["NOTICE", "make", "make.py", "zones.bin"]),
      .systemLibrary(
        name: "CZlib", path: "Sources/Libraries/CZlib", pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
      .target(
        name: "SyntheticData", dependencies: ["Geo", "Points"], path: "Benchmarks/SyntheticData",
        swiftSettings: computing),
      .target(
        name: "TestSupport",
        dependencies: [
          "Basics", "CQL2", "Geo", "Gzip", "JSONText", "PointDetails", "Points", "SyntheticData", logging,
        ],
        path: "Tests/TestSupport", swiftSettings: computing),
      .target(
        name: "HTTPTestSupport",
        dependencies: [
          .product(name: "Crypto", package: "swift-crypto"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHPACK", package: "swift-nio-http2"),
          .product(name: "NIOHTTP2", package: "swift-nio-http2"),
          .product(name: "NIOPosix", package: "swift-nio"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
          .product(name: "NIOTLS", package: "swift-nio"),
          .product(name: "SwiftASN1", package: "swift-asn1"),
          .product(name: "X509", package: "swift-certificates"),
        ],
        path: "Tests/HTTPTestSupport",
        swiftSettings: strict
      ),
      .target(
        name: "ServiceTestSupport",
        dependencies: [
          "APIDescription", "AccessControl", "AreasAPI", "Backup", "Basics", "Changes", "Duplicates", "Edits", "Geo",
          "HTTPServer", "JSONText", "LocationsAPI", "MCP", "ManagementAPI", "Maps", "MemoryStore", "OGC", "Pages",
          "Photon", "Points", "PostgresStore", "PostgresTestSupport", "SQLiteJournal", "SearchAnalytics",
          "SuggestedEdits", "TestSupport", "Webhooks", logging,
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
          .product(name: "NIOPosix", package: "swift-nio"),
        ],
        path: "Tests/ServiceTestSupport",
        swiftSettings: strict
      ),
      .target(
        name: "PostgresTestSupport",
        dependencies: [
          "PostgresClient", "PostgresStore",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOPosix", package: "swift-nio"),
          .product(name: "Subprocess", package: "swift-subprocess"),
          .product(name: "SystemPackage", package: "swift-system"),
        ],
        path: "Tests/PostgresTestSupport",
        swiftSettings: strict
      ),
    ],
    module("Basics", in: "Libraries", settings: computing),
    module("Geo", in: "Libraries", settings: computing),
    module("Gzip", in: "Libraries", ["CZlib"], settings: computing),
    module("JSONText", in: "Libraries", ["Basics"], settings: computing),
    module("TextFiles", in: "Libraries", ["Basics", "Gzip"], settings: computing),
    module("SearchWords", in: "Libraries", ["Basics"], settings: computing),
    module("CQL2", in: "Libraries", ["Basics", "Geo", "JSONText"], settings: computing),
    module(
      "OpeningHours", in: "Libraries", ["Basics", "CHolidays", "CTimeZones", "Geo", "JSONText"], settings: computing),
    module("OpenStreetMap", in: "Libraries", ["Basics", "CExpat", "CZlib", "Geo", "Gzip"], settings: computing),
    module(
      "Points", in: "Core", ["Basics", "CQL2", "Geo", "JSONText", "OpeningHours", "SearchWords", logging],
      settings: computing, tests: ["MemoryStore"]),
    module("PointDetails", in: "Core", ["Basics", "JSONText", "Points"], settings: computing, tests: ["Geo"]),
    module(
      "TileFiles", in: "Libraries",
      [
        "Geo", "Gzip", "JSONText", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ]),
    module("VectorTiles", in: "Libraries", ["Basics"], settings: computing),
    module(
      "PointIndex", in: "Core",
      [
        "Basics", "CPrefetch", "CQL2", "CZlib", "Geo", "JSONText", "OpeningHours", "PointDetails", "Points",
        "SearchWords", "VectorTiles",
      ],
      settings: computing),
    module(
      "MemoryStore", in: "Core/Stores", ["Basics", "Geo", "PointIndex", "Points"], settings: computing,
      tests: ["JSONText"]),
    module(
      "SQLiteJournal", in: "Core/Stores",
      [
        "Basics", "Geo", "MemoryStore", "Points", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      tests: ["JSONText", "PointIndex", "Webhooks"]
    ),
    module(
      "PostgresClient", in: "Libraries", ["CLibPQ", .product(name: "DequeModule", package: "swift-collections")],
      tests: ["PostgresTestSupport"]
    ),
    module(
      "PostgresStore", in: "Core/Stores", ["Basics", "CMigrations", "Geo", "JSONText", "Points", "PostgresClient"],
      tests: ["PostgresTestSupport", "Webhooks"]),
    module(
      "IndexedStore", in: "Core/Stores",
      ["Basics", "Geo", "PointIndex", "Points", "PostgresStore", logging],
      tests: ["MemoryStore", "PostgresClient", "PostgresTestSupport"]
    ),
    module("PrometheusMetrics", in: "Libraries", [metrics]),
    module(
      "PointFormats", in: "Core",
      [
        "Basics", "CBuiltInCategories", "Geo", "Gzip", "JSONText", "OpeningHours", "Points", "SearchWords", "TextFiles",
        .product(name: "Yams", package: "Yams"),
      ],
      settings: computing),
    module(
      "PointMapping", in: "Features/Imports",
      [
        "Basics", "CBuiltInMappings", "Geo", "JSONText", "PointFormats", "Points",
        .product(name: "Yams", package: "Yams"),
      ],
      tests: ["SearchWords"]
    ),
    module(
      "FairShares", in: "Libraries",
      [
        "Basics",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    module(
      "HTTPServer", in: "Libraries",
      [
        "Basics", "CTCPInfo", "FairShares", "JSONText", logging,
        .product(name: "NIOExtras", package: "swift-nio-extras"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ] + nio,
      tests: ["HTTPTestSupport", .product(name: "NIOEmbedded", package: "swift-nio")]
    ),
    module(
      "AccessControl", in: "Core",
      [
        "Basics", "CQL2", "Geo", "HTTPServer", "JSONText", "Points",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ]
    ),
    module(
      "APIDescription", in: "Core",
      [
        "AccessControl", "Basics", "HTTPServer", "JSONText", "PointDetails", "PointFormats", "Points",
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ]),
    module(
      "LocationsAPI", in: "Core",
      [
        "APIDescription", "AccessControl", "Basics", "CQL2", "Geo", "Gzip", "HTTPServer", "JSONText",
        "OpeningHours", "PointDetails", "PointFormats", "Points", "SearchWords", "TextFiles", "VectorTiles",
        logging,
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      tests: [
        "Changes", "FairShares", "HTTPTestSupport", "IndexedStore", "ManagementAPI", "MemoryStore", "OGC", "PointIndex",
        "PostgresStore", "PostgresTestSupport", "ServiceTestSupport", "SuggestedEdits",
        .product(name: "NIOPosix", package: "swift-nio"),
      ]
    ),
    module(
      "ManagementAPI", in: "Core",
      [
        "APIDescription", "AccessControl", "Basics", "Gzip", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats",
        "Points", "TextFiles", logging,
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      tests: [
        "Geo", "MemoryStore", "ServiceTestSupport",
      ]
    ),
    [
      feature(
        "AreasAPI",
        [
          "APIDescription", "Basics", "Geo", "Gzip", "HTTPServer", "JSONText", "LocationsAPI",
          "ManagementAPI", "PointFormats", "Points", "ServerFeatures", "TextFiles", logging,
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Backup",
        [
          "APIDescription", "HTTPServer", "LocationsAPI", "Points", "ServerFeatures", "TextFiles",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Changes",
        [
          "APIDescription", "AccessControl", "Basics", "Geo", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats",
          "Points", "PrometheusMetrics", "ServerFeatures",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Duplicates",
        [
          "APIDescription", "Basics", "Geo", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats", "Points",
          "ServerFeatures",
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Edits",
        [
          "APIDescription", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats", "Points",
          "ServerFeatures",
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "MCP",
        [
          "APIDescription", "AccessControl", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats",
          "Points", "ServerFeatures",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Maps",
        [
          "APIDescription", "Basics", "CQL2", "Geo", "HTTPServer", "JSONText", "LocationsAPI",
          "PointFormats", "Points", "SearchWords", "ServerFeatures", "VectorTiles",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "OGC",
        [
          "APIDescription", "AccessControl", "Basics", "CQL2", "Geo", "HTTPServer", "JSONText", "LocationsAPI",
          "ManagementAPI", "PointFormats", "Points", "ServerFeatures", "VectorTiles",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Pages",
        [
          "APIDescription", "AccessControl", "Basics", "CBaseMap", "CPages", "Geo", "Gzip", "HTTPServer", "JSONText",
          "LocationsAPI", "Points", "ServerFeatures", "TileFiles", "VectorTiles",
          .product(name: "Crypto", package: "swift-crypto"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ], exclude: ["CBaseMap", "CPages"]),
      feature(
        "Photon",
        [
          "APIDescription", "Basics", "CQL2", "Geo", "HTTPServer", "JSONText", "LocationsAPI",
          "PointDetails", "PointFormats", "Points", "SearchWords", "ServerFeatures",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "SearchAnalytics",
        [
          "APIDescription", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "PointFormats", "Points",
          "ServerFeatures",
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "SuggestedEdits",
        [
          "APIDescription", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "ManagementAPI", "PointFormats",
          "Points", "ServerFeatures",
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ]),
      feature(
        "Tokens",
        [
          "AccessControl", "Basics", "HTTPServer", "JSONText", "Points", "PrometheusMetrics", "ServerFeatures", logging,
          .product(name: "AsyncHTTPClient", package: "async-http-client"),
          .product(name: "JWTKit", package: "jwt-kit"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
        ]),
      feature(
        "Webhooks",
        [
          "APIDescription", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "ManagementAPI", "PointFormats",
          "Points", "PostgresClient", "PrometheusMetrics", "ServerFeatures", logging,
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
          .product(name: "AsyncHTTPClient", package: "async-http-client"),
          .product(name: "Crypto", package: "swift-crypto"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
        ] + nio),
      .testTarget(
        name: "FeaturesTests",
        dependencies: [
          "APIDescription", "AccessControl", "AreasAPI", "Backup", "Basics", "CQL2", "Changes", "Duplicates", "Geo",
          "Gzip", "HTTPServer", "HTTPTestSupport", "JSONText", "LocationsAPI", "MCP", "ManagementAPI", "Maps",
          "MemoryStore", "OGC", "Pages", "Photon", "PointFormats", "PointIndex", "Points", "SearchAnalytics",
          "SearchWords", "ServiceTestSupport", "SuggestedEdits", "TestSupport", "TileFiles", "Tokens", "Webhooks",
          logging,
          .product(name: "Crypto", package: "swift-crypto"),
          .product(name: "CryptoExtras", package: "swift-crypto"),
          .product(name: "GRDB", package: "GRDB.swift"),
          .product(name: "JWTKit", package: "jwt-kit"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ],
        swiftSettings: strict),
      .testTarget(
        name: "WebhooksTests",
        dependencies: [
          "Webhooks", "Basics", "Geo", "HTTPServer", "MemoryStore", "PointIndex", "Points", "PostgresStore",
          "PostgresTestSupport", "SQLiteJournal", "SearchWords", "TestSupport", logging,
          .product(name: "NIOCore", package: "swift-nio"),
        ],
        swiftSettings: strict),
    ],
    [
      .target(
        name: "ServerFeatures",
        dependencies: [
          "AccessControl", "Basics", "HTTPServer", "JSONText", "LocationsAPI", "ManagementAPI", "Points",
          "PrometheusMetrics", logging,
          metrics,
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
          .product(name: "AsyncHTTPClient", package: "async-http-client"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
          .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        ] + nio,
        path: "Sources/Core/ServerFeatures", swiftSettings: strict),
      .target(
        name: "Hosting",
        dependencies: [
          "AccessControl", "Basics", "CBundledSample", "CMalloc", "CQL2", "FairShares", "HTTPServer",
          "IndexedStore", "JSONText", "LocationsAPI", "ManagementAPI", "MemoryStore", "OpeningHours",
          "PointFormats", "PointIndex", "Points", "PostgresClient", "PostgresStore", "PrometheusMetrics",
          "SQLiteJournal", "SearchWords", "ServerFeatures", logging, metrics,
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
          .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
          .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        ],
        path: "Sources/Core/Hosting", exclude: ["CBundledSample"], swiftSettings: strict),
      // The server without features.
      .executableTarget(
        name: "waymark-core", dependencies: ["Hosting", "ServerFeatures"], swiftSettings: strict),
      .executableTarget(
        name: "waymark",
        dependencies: [
          "AccessControl", "Basics", "Geo", "Gzip", "HTTPServer", "Hosting", "JSONText", "LocationsAPI", "MemoryStore",
          "OpenStreetMap", "PointFormats", "PointIndex", "PointMapping", "Points", "PostgresClient", "PostgresStore",
          "SQLiteJournal", "ServerFeatures", "TextFiles",
          "AreasAPI", "Backup", "Changes", "Duplicates", "Edits", "MCP", "Maps", "OGC", "Pages", "Photon",
          "SearchAnalytics", "SuggestedEdits", "Tokens", "Webhooks",
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
          .product(name: "AsyncHTTPClient", package: "async-http-client"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
        ] + nio,
        swiftSettings: strict
      ),
      .testTarget(
        name: "waymarkTests",
        dependencies: [
          "waymark", "AccessControl", "Basics", "CQL2", "Geo", "HTTPServer", "Hosting", "IndexedStore", "JSONText",
          "LocationsAPI", "ManagementAPI", "MemoryStore", "OpenStreetMap", "Pages", "PointFormats",
          "PointMapping", "Points", "PostgresClient", "PostgresStore", "PrometheusMetrics", "SearchWords",
          "ServerFeatures",
          "HTTPTestSupport", "TestSupport", "Tokens", "Webhooks",
          logging,
          metrics,
          .product(name: "AsyncHTTPClient", package: "async-http-client"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ] + nio,
        swiftSettings: strict
      ),
      .executableTarget(
        name: "waymark-bench",
        dependencies: [
          "Basics", "Geo", "HTTPServer", "JSONText", "LocationsAPI", "ManagementAPI", "MemoryStore",
          "PointFormats", "PointIndex", "Points", "SQLiteJournal", "SearchWords", "SyntheticData",
          .product(name: "ArgumentParser", package: "swift-argument-parser"),
          .product(name: "NIOCore", package: "swift-nio"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ],
        path: "Benchmarks/waymark-bench",
        swiftSettings: strict
      ),
      // Prints what the reader of OpenStreetMap files yields, for scripts/conformance openstreetmap and scripts/bench.
      .executableTarget(
        name: "osm-places", dependencies: ["Geo", "OpenStreetMap"], path: "Benchmarks/osm-places",
        swiftSettings: strict),
      // Prints what opening hours yield, for scripts/conformance opening-hours.
      .executableTarget(
        name: "opening-hours", dependencies: ["Basics", "Geo", "JSONText", "OpeningHours"],
        path: "Benchmarks/opening-hours",
        swiftSettings: strict),
      // Prints what filters yield, for scripts/conformance filters.
      .executableTarget(
        name: "cql2-filters", dependencies: ["Basics", "CQL2", "JSONText"], path: "Benchmarks/cql2-filters",
        swiftSettings: strict),
      .testTarget(
        name: "EndToEndTests",
        dependencies: [
          "waymark", "waymark-core", "Geo", "HTTPServer", "HTTPTestSupport", "PointFormats", "Points",
          "PostgresTestSupport", "SyntheticData", "TestSupport", logging,
          .product(name: "WaymarkClient", package: "waymark-client"),
          .product(name: "Crypto", package: "swift-crypto"),
          .product(name: "NIOSSL", package: "swift-nio-ssl"),
          .product(name: "Subprocess", package: "swift-subprocess"),
          .product(name: "SystemPackage", package: "swift-system"),
        ] + nio,
        swiftSettings: strict
      ),
      // Reads the files of this repository.
      .testTarget(
        name: "Architecture", exclude: ["Budgets.txt", "Exceptions.txt", "budgets"], swiftSettings: computing),
    ],
  ].flatMap { $0 },
  swiftLanguageModes: [.v6],
  // For `#embed`.
  cLanguageStandard: .gnu2x
)
