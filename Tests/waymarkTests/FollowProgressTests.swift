import Foundation
import Points
import Testing

@testable import waymark

struct FollowProgressTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString)")
  private var path: String { folder.appending(path: "state").path }
  private let ids = (1...4).map { PointID(high: 7, low: $0) }

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  @Test func theProgressIsThatOfTheLastRun() async throws {
    var first: FollowProgress? = try FollowProgress(path: path)
    try first?.insert(ids)
    try first?.insert(ids)
    try first?.remove([ids[1], PointID(high: 0, low: 0)])
    try await first?.advance(to: "p.1", FollowQuery("category=a b"))
    first = nil

    let second = try FollowProgress(path: path)

    #expect(second.ids == [ids[0], ids[2], ids[3]])
    #expect(try second.position(of: FollowQuery("category=a b")) == "p.1")
    #expect(try second.position(of: FollowQuery("")) == nil)
    #expect(try Data(contentsOf: URL(filePath: path + ".ids")).count == 5 * 38)
  }

  private static func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func theFilesAreForTheirOwnerAloneUnlessTheyHadAnotherMode() async throws {
    var progress = try FollowProgress(path: path)
    try progress.insert(ids)
    try await progress.advance(to: "p.1", FollowQuery(""))
    let command = CommandCopy(
      command: "stat -L -c %a /dev/stdin > \(folder.path)/mode", path: path + ".page")
    try await command.register([])
    let created = try [path, path + ".ids"].map { try Self.mode($0) }
    try #require(chmod(path, 0o640) == 0)
    try await progress.advance(to: "p.2", FollowQuery(""))

    #expect(created == [0o600, 0o600])
    #expect(try String(contentsOf: folder.appending(path: "mode"), encoding: .utf8) == "600\n")
    #expect(try Self.mode(path) == 0o640)
  }

  @Test(arguments: [(0o644, 0o644), (0o600, 0o600), (0o755, 0o644), (nil, 0o600)] as [(mode_t?, Int)])
  func aFileInPlaceOfALinkHasAtMostTheModeOfItsTarget(target: mode_t?, expected: Int) async throws {
    let other = folder.appending(path: "other").path
    if let target {
      try Data(#"{"position":"p.1","query":""}"#.utf8).write(to: URL(filePath: other))
      try #require(chmod(other, target) == 0)
    }
    try #require(symlink(other, path) == 0)
    var progress = try FollowProgress(path: path)

    try await progress.advance(to: "p.2", FollowQuery(""))

    #expect(try Self.mode(path) == expected)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeRegular)
  }

  @Test func aFileInPlaceOfALinkToAFolderIsForItsOwnerAlone() async throws {
    try FileManager.default.createDirectory(
      atPath: folder.appending(path: "other").path, withIntermediateDirectories: true)
    let file = folder.appending(path: "file").path
    try #require(symlink(folder.appending(path: "other").path, file) == 0)

    try ExportFile(path: file, isPrivate: true).finish()

    #expect(try Self.mode(file) == 0o600)
  }

  @Test(arguments: 1..<38)
  func aLineOfIDsThatWasCutIsIgnored(length: Int) throws {
    var first: FollowProgress? = try FollowProgress(path: path)
    try first?.insert(ids)
    first = nil
    #expect(truncate(path + ".ids", 3 * 38 + length) == 0)

    var second: FollowProgress? = try FollowProgress(path: path)
    #expect(second?.ids == Set(ids[..<3]))
    try second?.insert(ids)
    second = nil

    #expect(try FollowProgress(path: path).ids == Set(ids))
  }

  @Test func removedIDsDoNotMakeTheFileGrowForEver() throws {
    var first: FollowProgress? = try FollowProgress(path: path)
    for _ in 0..<600 {
      try first?.insert(ids)
      try first?.remove(Array(ids[1...]))
    }
    first = nil

    #expect(try FollowProgress(path: path).ids == [ids[0]])
    #expect(try Data(contentsOf: URL(filePath: path + ".ids")).count == 38)
  }

  @Test func damagedFilesAndThoseInUseAreRejected() throws {
    let used = try FollowProgress(path: path)
    #expect(throws: FollowError.damaged("'\(path).ids' is used by another waymark follow")) {
      try FollowProgress(path: path)
    }
    withExtendedLifetime(used) {}
    let other = path + "2"
    try Data(String(repeating: "x", count: 38).utf8).write(to: URL(filePath: other + ".ids"))

    #expect(throws: FollowError.damaged("'\(other).ids' is not a file of ids of waymark follow")) {
      try FollowProgress(path: other)
    }
  }

  @Test func delaysGrowToAMinuteAndRespectTheServer() {
    var (longest, shortest) = (BackOff(), BackOff())

    #expect((0..<8).map { _ in longest.next(jitter: 0) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect((0..<3).map { _ in shortest.next(jitter: 1) } == [500, 1000, 2000].map { .milliseconds($0) })
    #expect(shortest.next(jitter: 1, retryAfter: .seconds(120)) == .seconds(120))
  }

  private static let change = FollowedChange(id: PointID(high: 7, low: 1), version: nil, place: nil)

  @Test(
    arguments: [
      // The server has waited.
      ([], "1.2", false, 25, 0), ([], "1.3", false, 40, 0),
      // There are changes, or more of them.
      ([change], "1.3", false, 0, 0), ([change], "1.3", true, 0, 0), ([], "1.3", true, 0, 0),
      // Nothing has changed, and the server has not waited.
      ([], "1.2", false, 0, 1), ([], "1.3", false, 24, 1), ([], "1.2", true, 0, 1), ([change], "1.2", true, 0, 1),
    ] as [([FollowedChange], String, Bool, Int, Int)])
  func aPageWithoutProgressThatCameEarlyIsFollowedByAPause(
    changes: [FollowedChange], position: String, hasMore: Bool, seconds: Int, pause: Int
  ) {
    let page = FollowedServer.Page(changes: changes, position: position, hasMore: hasMore)

    #expect(page.pause(after: "1.2", responseTime: .seconds(seconds)) == .seconds(pause))
  }
}
