import Foundation

extension Settings {
  /// Settings of this process: flags first, then its environment. The one place where the environment is read.
  init(flags: [String: String]) {
    self.init(flags: flags, environment: ProcessInfo.processInfo.environment)
  }
}

extension DatabaseConfiguration {
  /// The folder of the migrations when nothing is set: `Migrations` in the package that the executable was built in, else
  /// `share/waymark/Migrations` beside the `bin` that the executable is in, else `/usr/share/waymark/Migrations`.
  static func migrationsBesidePackage(
    executable: String = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "",
    fileExists: (String) -> Bool = FileManager.default.fileExists(atPath:)
  ) -> String {
    let installed = "share/waymark/Migrations"
    var folder = URL(filePath: executable).deletingLastPathComponent()
    while folder.path.count > 1 {
      let migrations = folder.appending(path: "Migrations").path
      if fileExists(folder.appending(path: "Package.swift").path), fileExists(migrations) { return migrations }
      folder.deleteLastPathComponent()
    }
    let prefix = URL(filePath: executable).deletingLastPathComponent().deletingLastPathComponent()
    let beside = prefix.appending(path: installed).path
    return fileExists(beside) ? beside : "/usr/\(installed)"
  }
}
