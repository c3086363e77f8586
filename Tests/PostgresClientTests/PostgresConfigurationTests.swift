import PostgresClient
import Testing

@Suite struct PostgresConfigurationTests {
  @Test(arguments: [
    "postgresql://user:secret@localhost:5432/places?target_session_attrs=read-write",
    "postgres://one:5432,two:5433/places?target_session_attrs=any",
    "host=localhost dbname=places user=someone password='with spaces'",
    "postgresql:///places?host=/var/run/postgresql",
  ])
  func validConnectionStringsAreAccepted(url: String) throws {
    _ = try PostgresConfiguration(url: url)
  }

  @Test(arguments: [
    "host=localhost password=hunter2 hunter2", "postgresql://someone:hunter2@[::1/places",
    "postgresql://someone:hunter2@localhost:5432/places?hunter2", "hunter2", "hunter2=hunter2",
    "postgresql://someone:hunter2%zz@localhost/places", "postgresql://someone:p@hunter2@localhost/places",
    "host=localhost password='hunter2",
  ])
  func errorOfAnInvalidURLContainsNoSecret(url: String) {
    let error = #expect(throws: InvalidDatabaseURL.self) { try PostgresConfiguration(url: url) }

    #expect(error?.description.contains("hunter2") == false)
    #expect(error?.reason.isEmpty == false)
  }

  @Test func emptyURLIsRejected() {
    let error = #expect(throws: InvalidDatabaseURL.self) { try PostgresConfiguration(url: "") }

    #expect(error?.reason == "it is empty")
  }

  @Test func neitherPrintingNorDumpingShowsThePassword() throws {
    let configuration = try PostgresConfiguration(url: "postgresql://someone:hunter2@localhost/places")
    var dumped = ""
    dump(configuration, to: &dumped)

    #expect(!"\(configuration) \(String(reflecting: configuration)) \(dumped)".contains("hunter2"))
  }
}
