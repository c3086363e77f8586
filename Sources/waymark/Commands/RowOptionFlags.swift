import ArgumentParser
import PlaceFormats

/// The options of `waymark import` that say how rows are read.
struct RowOptionFlags: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Source of the rows that do not name their own; each row's id becomes its sourceId.", valueName: "name"))
  var source: String?

  @Option(
    help: ArgumentHelp(
      "Member or column that is the sourceId under --source. (default: a Feature's id, id or sourceId)",
      valueName: "name"))
  var idField: String?

  @Option(help: "tags: members and columns that are no field of a place become tags; reject: they are errors.")
  var unknownFields = "tags"

  /// The options.
  ///
  /// - Throws: the exit code 64, having said why, for a value that can't be used.
  func options() throws -> RowOptions {
    guard let unknown = RowOptions.UnknownFields(rawValue: unknownFields.lowercased()) else {
      throw Exit.because("--unknown-fields '\(unknownFields)': must be tags or reject", Exit.usage)
    }
    do {
      return try RowOptions(unknownFields: unknown, source: source, idField: idField)
    } catch {
      switch error {
      case .source(let detail): throw Exit.because("--source '\(source ?? "")': \(detail)", Exit.usage)
      case .idField("needs a source"): throw Exit.because("--id-field needs --source", Exit.usage)
      case .idField(let detail): throw Exit.because("--id-field '\(idField ?? "")': \(detail)", Exit.usage)
      }
    }
  }
}
