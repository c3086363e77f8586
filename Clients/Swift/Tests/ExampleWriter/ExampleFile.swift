import Foundation

/// The source file that contains the examples of the documentation comments.
enum ExampleFile {
  private static let head = """
    // The examples of the documentation comments.
    import Foundation
    import WaymarkClient
    import WaymarkTesting

    #if canImport(AppKit)
      import AppKit
    #endif
    #if canImport(CoreLocation)
      import CoreLocation
    #endif
    #if canImport(FoundationNetworking)
      import FoundationNetworking
    #endif
    #if canImport(MapKit)
      import MapKit
    #endif
    #if canImport(Testing)
      import Testing
    #endif
    #if canImport(UIKit)
      import UIKit
    #endif

    extension ExampleContext {

    """

  static func text(of files: [(file: String, declarations: [PublicDeclaration])]) -> String {
    var text = head
    var count = 0
    for file in files {
      for declaration in file.declarations {
        for example in declaration.examples {
          count += 1
          text += function(example, number: count, declaration, file.file)
        }
      }
    }
    return text + "}\n"
  }

  /// Returns a function with an example, which uses each of its variables.
  private static func function(
    _ example: String, number: Int, _ declaration: PublicDeclaration, _ file: String
  ) -> String {
    let lines = example.components(separatedBy: "\n")
    let names = lines.flatMap { line -> [String] in
      guard let match = line.firstMatch(of: /^(?:let|var) (\(?)([A-Za-z0-9, ]+)/) else { return [] }
      return match.1.isEmpty
        ? [String(match.2.prefix { $0 != " " })] : match.2.split(separator: ", ").map(String.init)
    }
    let conditions = declaration.conditions + (example.contains("#expect(") ? ["canImport(Testing)"] : [])
    var function = "\n  // \(file): \(declaration.path)\n  func example\(number)() async throws {\n"
    for line in lines + names.map({ "_ = \($0)" }) { function += line.isEmpty ? "\n" : "    \(line)\n" }
    function += "  }\n"
    for condition in conditions.reversed() { function = "\n#if \(condition)" + function + "#endif\n" }
    return function
  }
}
