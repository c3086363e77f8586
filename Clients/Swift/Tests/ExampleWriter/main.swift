import Foundation

// Writes the examples of the documentation comments in a folder of sources to a file of the tests.
guard CommandLine.arguments.count == 3 else {
  print("usage: ExampleWriter SOURCES FILE")
  exit(64)
}
let sources = URL(filePath: CommandLine.arguments[1])
let text = ExampleFile.text(of: try PublicDeclaration.all(inFolder: sources))
try Data(text.utf8).write(to: URL(filePath: CommandLine.arguments[2]))
