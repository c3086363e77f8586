import Foundation
import Testing

@Suite struct CommandTests {
  @Test func versionIsPrinted() async throws {
    let outcome = try await WaymarkProcess.run(["--version"])

    #expect(outcome.status == 0)
    #expect(outcome.output.contains(/^\d+\.\d+\.\d+\n$/))
  }

  @Test func theHelpShowsExamplesAndTheCommands() async throws {
    let outcome = try await WaymarkProcess.run(["--help"])

    #expect(outcome.status == 0)
    for word in ["serve", "migrate", "import", "health", "waymark import places.geojson", "Exit codes"] {
      #expect(outcome.output.contains(word))
    }
  }

  @Test func theHelpOfServeListsEverySetting() async throws {
    let outcome = try await WaymarkProcess.run(["serve", "--help"])

    for option in [
      "--http-host", "--http-port", "--point-store", "--database-url", "--database-pool-size",
      "--database-statement-timeout-ms", "--data-file", "--migrations-path", "--is-unit-testing", "--analytics",
      "--log-level", "--log-format", "--tls-certificate-file", "--tls-private-key-file",
    ] {
      #expect(outcome.output.contains(option))
    }
  }

  @Test(arguments: [
    (["serve", "--http-port", "http"], "HTTP_PORT must be an integer from 0 to 65535, got 'http'"),
    (["serve", "--point-store", "redis"], "POINT_STORE must be one of memory, postgres, got 'redis'"),
    (["serve", "--point-store", "postgres"], "DATABASE_URL"),
    (["serve", "--database-url", "postgresql://u:secret@[bad"], "DATABASE_URL"),
    (["migrate"], "DATABASE_URL"),
    (["serve", "--tls-certificate-file", "/a"], "TLS_CERTIFICATE_FILE needs TLS_PRIVATE_KEY_FILE"),
    (["serve", "--tls-private-key-file", "/b"], "TLS_PRIVATE_KEY_FILE needs TLS_CERTIFICATE_FILE"),
    (
      ["serve", "--tls-certificate-file", "/a", "--tls-private-key-file", "/b"],
      "TLS_CERTIFICATE_FILE must be a file of certificates in PEM, got '/a'"
    ),
  ])
  func invalidSettingStopsTheStartWithOneLine(arguments: [String], words: String) async throws {
    let outcome = try await WaymarkProcess.run(arguments)

    #expect(outcome.status == 64)
    #expect(outcome.log.split(separator: "\n").count == 1)
    #expect(outcome.log.contains(words))
    #expect(!outcome.log.contains("secret"))
  }

  @Test(arguments: [["frobnicate"], ["serve", "--colour", "red"], ["import"]])
  func badUsageExitsWith64(arguments: [String]) async throws {
    let outcome = try await WaymarkProcess.run(arguments)

    #expect(outcome.status == 64)
  }

  @Test(arguments: [("serve", 64), ("check", 1), ("migrate", 64), ("export", 64), ("sources", 64)])
  func addressOfADatabaseWithAnUnencodedSlashIsRejectedWithoutItsPassword(command: String, status: Int) async throws {
    for password in ["hunter2/more", "12/hunter2"] {
      let outcome = try await WaymarkProcess.run(
        [command],
        environment: ["DATABASE_URL": "postgresql://someone:\(password)@127.0.0.1:1/places", "HTTP_PORT": "0"])

      #expect(Int(outcome.status) == status)
      #expect((outcome.log + outcome.output).contains("DATABASE_URL is not a PostgreSQL URI or connection string"))
      #expect((outcome.log + outcome.output).contains("write / as %2F"))
      #expect(!(outcome.log + outcome.output).contains("hunter2"))
    }
  }

  @Test func unitTestingReportsWhatItSkippedAndExits() async throws {
    let outcome = try await WaymarkProcess.run(
      ["serve"], environment: ["IS_UNIT_TESTING": "1", "DATABASE_URL": "postgresql://127.0.0.1:1/none"])

    #expect(outcome.status == 0)
    let lines = outcome.log.split(separator: "\n")
    #expect(lines.count { $0.contains("no socket, no database and no analytics") } == 1)
    #expect(!outcome.log.contains("listening"))
  }

  @Test func missingDataFileStopsTheStart() async throws {
    let outcome = try await WaymarkProcess.run(["serve", "--data-file", "/nowhere/places.csv"])

    #expect(outcome.status == 65)
    #expect(outcome.log.contains("/nowhere/places.csv"))
  }

  @Test func dataFileWithoutAValidRowStopsTheStart() async throws {
    let folder = try TemporaryFolder()
    let good = try folder.write("name,lat,long\nA,1,2\n", to: "good.csv")
    let bad = try folder.write(#"{"type":"FeatureCollection","features":[{"type":"Feature"}]}"#, to: "bad.geojson")
    let projected = try folder.write(
      #"{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:3857"}},"features":[]}"#,
      to: "projected.geojson")

    let none = try await WaymarkProcess.run(["serve", "--http-port", "0", "--data-file", "\(good),\(bad)"])
    let other = try await WaymarkProcess.run(["serve", "--http-port", "0", "--data-file", projected])

    #expect(none.status == 65 && other.status == 65)
    #expect(none.log.contains("\(bad): its only row is invalid; the first in line 1: /geometry is missing"))
    #expect(other.log.contains("reference system 'EPSG:3857', but must be WGS 84"))
  }

  @Test func unreachableDatabaseStopsTheImport() async throws {
    let outcome = try await WaymarkProcess.run(
      ["import", "--format", "csv", "-"], environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/none"])

    #expect(outcome.status == 69)
  }

  @Test(arguments: [
    ("127.0.0.5", "127.0.0.5"), ("::1", "::1"), ("0.0.0.0", "0.0.0.0"), ("::", "[::]"), ("localhost", "localhost"),
  ])
  func healthConnectsToTheListeningAddress(host: String, address: String) async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: ["HTTP_HOST": host])
    let port = "\(try await server.port())"

    let well = try await WaymarkProcess.run(["health"], environment: ["HTTP_HOST": address, "HTTP_PORT": port])
    let option = try await WaymarkProcess.run(["health", "--http-host", address, "--http-port", port])

    #expect(well.status == 0, "\(well.log)")
    #expect(option.status == 0)
    withExtendedLifetime(server) {}
  }

  @Test func healthNamesTheReasonForAMissingResponse() async throws {
    let outcome = try await WaymarkProcess.run(["health"], environment: ["HTTP_HOST": "::1", "HTTP_PORT": "1"])

    #expect(outcome.status == 1)
    #expect(outcome.log == "waymark: no response from [::1]:1: Connection refused\n")
  }

  @Test func aPortInUseIsFoundBeforeThePlacesAreLoaded() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let port = try await server.port()
    let folder = try TemporaryFolder()
    let bad = try folder.write("{}", to: "bad.ndjson")

    let second = try await WaymarkProcess.run(["serve", "--http-port", "\(port)", "--data-file", bad])
    let elsewhere = try await WaymarkProcess.run(["serve", "--http-host", "192.0.2.1", "--http-port", "0"])

    #expect(second.status == 1 && elsewhere.status == 1)
    #expect(second.log.hasPrefix("waymark: can't listen on 127.0.0.1:\(port): another program listens on this port"))
    #expect(second.log.split(separator: "\n").count == 1)
    #expect(elsewhere.log.contains("this machine does not have the address"))
    withExtendedLifetime(server) {}
  }

  @Test func healthReportsWhetherAServerResponds() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let port = try await server.port()

    let well = try await WaymarkProcess.run(["health", "--http-port", "\(port)"])
    server.send(SIGTERM)
    _ = try await server.outcome()
    let gone = try await WaymarkProcess.run(["health", "--http-port", "\(port)"])

    #expect(well.status == 0)
    #expect(gone.status == 1)
  }
}
