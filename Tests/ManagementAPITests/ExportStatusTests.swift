import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

/// The status of an export, and the end of its work.
@Suite struct ExportStatusTests {
  @Test(arguments: [
    (PointStoreError.overloaded, 503, "overloaded"), (.unavailable(reason: "test"), 503, "store-unavailable"),
    (.timeout, 504, "store-timeout"),
  ])
  func exportThatFailsBeforeTheFirstPlacesGetsAProblem(
    error: PointStoreError, status: Int, code: String
  ) async throws {
    let driver = ServiceDriver(writing: ScriptedExports { _ in throw error })

    let response = try await driver.send(.GET, "/locations/export")

    #expect(response.status == status)
    #expect(try response.code == code)
    #expect(status != 503 || response.headers.contains(name: "retry-after"))
  }

  @Test func exportThatFailsLaterClosesTheConnection() async throws {
    let driver = ServiceDriver(
      writing: ScriptedExports { consume in
        try await consume([])
        throw PointStoreError.unavailable(reason: "test")
      })

    await #expect(throws: PointStoreError.self) { try await driver.send(.GET, "/locations/export") }
  }

  @Test(arguments: [
    ("json", "[]"), ("geojson", #"{"type":"FeatureCollection","features":[]}"#), ("ndjson", ""),
  ])
  func exportOfNoPlacesIsWhole(format: String, text: String) async throws {
    let driver = ServiceDriver(writing: ScriptedExports { _ in })

    let response = try await driver.send(.GET, "/locations/export?f=\(format)")

    #expect(response.status == 200)
    #expect(response.text.filter { !$0.isWhitespace } == text)
  }

  @Test func headRequestForAnExportTakesNoDatabaseConnection() async throws {
    let exports = Counter()
    let driver = ServiceDriver(writing: ScriptedExports { _ in exports.add() })

    let response = try await driver.send(.HEAD, "/locations/export")

    #expect(response.status == 200)
    #expect(exports.value == 0)
  }

  @Test(.timeLimit(.minutes(2))) func anExportWhoseResponseIsNotReadIsCancelled() async throws {
    let isCancelled = Gate()
    let store = ScriptedExports { consume in
      do {
        try await consume([])
      } catch {
        isCancelled.open()
        throw error
      }
    }

    do {
      let response = try await ServiceDriver.respond(.GET, "/locations/export", store: store)
      #expect(response.status == .ok)
    }

    await isCancelled.pass()
  }

  @Test(.timeLimit(.minutes(2))) func cancelledWaitingRequestCancelsItsExport() async throws {
    let hasBegun = Gate()
    let isCancelled = Gate()
    let store = ScriptedExports { _ in
      hasBegun.open()
      do {
        try await Task.sleep(for: .seconds(600))
      } catch {
        isCancelled.open()
        throw error
      }
    }
    let request = Task { try await ServiceDriver.respond(.GET, "/locations/export", store: store).status }
    await hasBegun.pass()

    request.cancel()

    await isCancelled.pass()
    #expect(try await request.value == .badRequest)
  }
}
