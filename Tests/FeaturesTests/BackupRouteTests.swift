import Foundation
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import Backup
@testable import LocationsAPI

@Suite struct BackupRouteTests {
  private static func backUp(_ router: Router) async -> HTTPResponse {
    await router.respond(to: ServiceDriver.request(.POST, "/backup"))
  }

  @Test func backupHasItsLengthAndIsRemovedAfterIt() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID())").path
    try Data("a copy".utf8).write(to: URL(filePath: path))
    let removals = Counter()
    let calls = BackupCalls { BackupFile(path: path, byteCount: 6) { removals.add() } }
    let router = LocationsAPI(.init(service: PointsService(store: MemoryStore()), version: "1"))
      .router { _ in calls.endpoints }

    var response: HTTPResponse? = await Self.backUp(router)
    let busy = await Self.backUp(router)

    #expect(response?.status == .ok)
    #expect(response?.body.length == 6)
    #expect(busy.status == .conflict)
    #expect(busy.headers["retry-after"] == ["10"])
    #expect(String(buffer: try #require(try await response?.body.collect())) == "a copy")
    #expect(removals.value == 0)

    response = nil
    #expect(removals.value == 1)
    #expect(await Self.backUp(router).status == .ok)
    try FileManager.default.removeItem(atPath: path)
  }
}
