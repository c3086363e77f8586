import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct DuplicatesTests {
  private static let places = """
    source,sourceId,name,category,lat,long
    a,1,Café Central,cafe,48.2104,16.3655
    b,7,Cafe Central,cafe,48.2105,16.3656
    a,2,Demel,cafe,48.2086,16.3672
    b,8,Demel,cafe,48.2087,16.3672

    """

  @Test(arguments: StoreKind.allCases)
  func decisionsOutlastARestartAndCommandsHeedThem(_ kind: StoreKind) async throws {
    let store = try await EmptyStore(kind)
    var server = try await store.serve()
    var driver = ServerDriver(port: try await server.port())
    let imported = try await driver.send(
      "POST", "/locations/import", headers: ["Content-Type": "text/csv"], body: Data(Self.places.utf8))
    let list = "/duplicates?source=a&other=b"
    let first = String(decoding: try await driver.get(list).body, as: UTF8.self)
    let ids = first.matches(of: /"id":"([0-9a-f-]{36}\.[0-9a-f-]{36})"/).map { String($0.1) }
    try #require(ids.count == 2, "\(imported.status) \(first)")
    for (id, state) in zip(ids, ["refuted", "confirmed"]) {
      let decided = try await driver.send(
        "POST", "/duplicates/\(id)", headers: ["Content-Type": "application/json"],
        body: Data(#"{"state":"\#(state)"}"#.utf8))
      #expect(decided.status == 200)
    }
    server.send(SIGTERM)
    _ = try await server.outcome()
    server = try await store.serve()
    driver = ServerDriver(port: try await server.port())

    let second = String(decoding: try await driver.get(list).body, as: UTF8.self)
    let url = "http://127.0.0.1:\(try await server.port())"
    let fromServer = try await WaymarkProcess.run(["duplicates", "--url", url, "a", "b"])

    #expect(second.contains(#""count":1,"#) && second.contains(ids[1]) && second.contains(#""state":"confirmed""#))
    #expect(fromServer.status == 0, "\(fromServer.log)")
    #expect(fromServer.output.split(separator: "\n").count == 1 && fromServer.output.contains(ids[1]))
    if kind == .postgres {
      let file = store.folder.path(of: "pairs.csv")
      let fromDatabase = try await WaymarkProcess.run(
        ["duplicates", "a", "b", "--output", file], environment: store.environment)
      #expect(fromDatabase.status == 0, "\(fromDatabase.log)")
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 2 && lines[1].hasPrefix(ids[1] + ",confirmed,"), "\(lines)")
    }
  }

  @Test(arguments: [
    ["a", "--min-score", "0.1"], ["a", "--bbox", "1,2"], ["a", "--format", "geojson"], [],
    ["a", "--url", "http://127.0.0.1:1", "--database-url", "postgresql://127.0.0.1:1/x"],
  ])
  func invalidOptionsExitWith64(options: [String]) async throws {
    let outcome = try await WaymarkProcess.run(["duplicates"] + options)

    #expect(outcome.status == 64, "\(outcome.log)")
  }
}
