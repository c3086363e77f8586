import PostgresClient
import Testing

@Suite struct PostgresConfigurationTests {
  @Test(arguments: [
    "postgresql://user:secret@localhost:5432/places?target_session_attrs=read-write",
    "postgres://one:5432,two:5433/places?target_session_attrs=any",
    "host=localhost dbname=places user=someone password='with spaces'",
    "postgresql:///places?host=/var/run/postgresql",
    "postgresql://user:a%2Fb%40c@localhost/places%40home?connect_timeout=10&keepalives=1",
    "postgresql://localhost/places?user=someone@server", "host=one,two port=5432,5433 user=u@v dbname=a/b@c",
    "host=localhost port=' 5432 ' connect_timeout=", "host=localhost port=", "host=one,two port=,5433",
  ])
  func validConnectionStringsAreAccepted(url: String) throws {
    _ = try PostgresConfiguration(url: url)
  }

  @Test(arguments: [
    "host=localhost password=hunter2 hunter2", "postgresql://someone:hunter2@[::1/places",
    "postgresql://someone:hunter2@localhost:5432/places?hunter2", "hunter2", "hunter2=hunter2",
    "postgresql://someone:hunter2%zz@localhost/places", "postgresql://someone:p@hunter2@localhost/places",
    "host=localhost password='hunter2", "postgresql://someone:hunter2/more@localhost:5432/places",
    "postgresql://someone:12/hunter2@localhost/places", "postgres://someone:/hunter2@localhost/places?sslmode=require",
    "postgresql://someone:\"hunter2/a?b@localhost/places", "postgresql://someone:[\"hunter2/more@localhost/places",
    "postgresql://someone:a/b?c\"hunter2=d&e@localhost/places", "host=localhost pass\"hunter2\"word=a",
    "postgresql://someone:\u{301}hunter2%zz@localhost/places",
    "host=localhost port=hunter2", "host=localhost port=5432,0", "host=localhost connect_timeout=hunter2",
    "host=localhost port=65536", "host=localhost keepalives_idle=99999999999",
  ])
  func errorOfAnInvalidURLContainsNoSecret(url: String) {
    let error = #expect(throws: InvalidDatabaseURL.self) { try PostgresConfiguration(url: url) }

    #expect(error?.description.contains("hunter2") == false)
    #expect(error?.reason.isEmpty == false)
  }

  @Test func errorOfAnUnencodedSlashNamesTheEncoding() {
    for password in ["secret/more", "12/secret"] {
      let error = #expect(throws: InvalidDatabaseURL.self) {
        try PostgresConfiguration(url: "postgresql://someone:\(password)@localhost/places")
      }

      #expect(error?.reason.contains("write / as %2F") == true)
    }
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
