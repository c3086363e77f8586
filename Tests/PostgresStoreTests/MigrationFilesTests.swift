import Foundation
import PostgresStore
import PostgresTestSupport
import Testing

@Suite struct MigrationFilesTests {
  /// Creates a folder with files of these names.
  private func folder(_ files: [String: String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
    return folder.path
  }

  @Test func programHasTheMigrationsOfTheFolder() throws {
    #expect(try Migration.builtIn == Migration.all(inDirectory: migrationsDirectory))
  }

  @Test func filesAreReadInTheOrderOfTheirNumbers() throws {
    let folder = try folder(["0010_c.sql": "3", "0001_a.sql": "1", "0002_b.sql": "2", "README.md": "no migration"])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    let migrations = try Migration.all(inDirectory: folder)

    #expect(migrations.map(\.name) == ["0001_a", "0002_b", "0010_c"])
    #expect(migrations.map(\.sql) == ["1", "2", "3"])
  }

  @Test(arguments: ["points.sql", "1_points.sql", "0001.sql", "00x1_points.sql"])
  func misnamedFileIsRejected(name: String) throws {
    let folder = try folder([name: ""])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    #expect(throws: MigrationError.misnamed(file: name)) { try Migration.all(inDirectory: folder) }
  }

  @Test func twoFilesWithOneNumberAreRejected() throws {
    let folder = try folder(["0001_a.sql": "", "0001_b.sql": ""])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    #expect(throws: MigrationError.misnamed(file: "0001_b.sql")) { try Migration.all(inDirectory: folder) }
  }

  @Test func folderWithoutMigrationsIsRejected() throws {
    let folder = try folder([:])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    #expect(throws: MigrationError.noMigrations(directory: folder)) { try Migration.all(inDirectory: folder) }
  }

  @Test(arguments: ["-- oldest-program: 0003", "-- oldest-program: 2", "-- oldest-program:", "-- oldest-program: one"])
  func anImpossibleOldestProgramIsRejected(declaration: String) throws {
    let folder = try folder(["0001_a.sql": "", "0002_b.sql": "-- About b.\n\(declaration)\nSELECT 1\n"])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    #expect(throws: MigrationError.misdeclared(file: "0002_b.sql")) { try Migration.all(inDirectory: folder) }
  }

  @Test func onlyTheFirstCommentLinesDeclareTheOldestProgram() throws {
    let folder = try folder(["0001_a.sql": "-- About a.\n\nSELECT 1;\n-- oldest-program: nonsense\n"])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    #expect(throws: Never.self) { try Migration.all(inDirectory: folder) }
  }

  @Test func missingFolderIsNamedInTheError() {
    #expect(throws: MigrationError.unreadable(path: "/no/such/folder")) {
      try Migration.all(inDirectory: "/no/such/folder")
    }
  }
}
