import ArgumentParser
import Foundation
import PointFormats
import PointMapping
import Points
import ServerFeatures

/// The options of `waymark import` for foreign data sets.
struct MappingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Mapping of the fields to places: a file in YAML or JSON, or \(BuiltInMappings.names.joined(separator: ", ")).",
      valueName: "file-or-name"))
  var mapping: String?

  @Option(help: ArgumentHelp("Print a built-in mapping, to be changed and given to --mapping.", valueName: "name"))
  var printMapping: String?

  @Option(help: "Take only records with at least this confidence, 0 to 1, as of Overture Maps.")
  var minConfidence: Double?

  @Flag(help: "Take closed places too.")
  var includeClosed = false

  @Flag(help: "Keep all fields as tags, those that the mapping drops or uses included.")
  var allTags = false

  @Option(
    help: ArgumentHelp(
      "Take records with this field too: KEY, KEY=VALUE or KEY=VALUE,VALUE. May be repeated.", valueName: "key=value"))
  var keep: [String] = []

  @Option(
    help: ArgumentHelp(
      "Take only records with this field, in place of the mapping's choice. May be repeated.", valueName: "key=value"))
  var only: [String] = []

  @Flag(help: "Take all named objects of OpenStreetMap: streets, rivers, routes and houses too.")
  var all = false

  @Option(help: "Licence of the data set, such as ODbL-1.0.")
  var licence: String?

  @Option(help: "Attribution that the licence of the data set asks for.")
  var attribution: String?

  @Option(help: "Address of the data set or its licence.")
  var attributionURL: String?

  /// The name of the first option that needs a mapping; `nil` where none is given.
  private var optionOfMapping: String? {
    if minConfidence != nil { return "--min-confidence" }
    if includeClosed { return "--include-closed" }
    if allTags { return "--all-tags" }
    if !keep.isEmpty { return "--keep" }
    if !only.isEmpty { return "--only" }
    return all ? "--all" : nil
  }

  /// Returns the mapping with all options applied; `nil` where none is given and there is no default.
  ///
  /// - Parameter fallback: the name of the mapping where none is given.
  /// - Throws: an exit code for an invalid value or file, after an error message.
  func configured(fallback: String?, rows: RowOptionFlags) throws -> Mapping? {
    guard let name = mapping ?? fallback else {
      if let option = optionOfMapping { throw Exit.because("\(option) needs --mapping", Exit.usage) }
      return nil
    }
    var mapping = try Self.mapping(named: name)
    if let source = try rows.options().source { mapping.setSource(source) }
    if mapping.source == nil, licence != nil || attribution != nil || attributionURL != nil {
      throw Exit.because("--licence and --attribution need --source, as the mapping has none", Exit.usage)
    }
    mapping.setAttribution(licence: licence, attribution: attribution, url: attributionURL)
    if let field = rows.idField, !mapping.setIDField(field) {
      throw Exit.because("--id-field '\(field)' is no path of a field", Exit.usage)
    }
    if let field = rows.nameField, !mapping.setNameField(field) {
      throw Exit.because("--name-field '\(field)' is no path of a field", Exit.usage)
    }
    if let minConfidence {
      guard (0...1).contains(minConfidence) else {
        throw Exit.because("--min-confidence must be a number from 0 to 1, got \(minConfidence)", Exit.usage)
      }
      mapping.require(confidence: minConfidence)
    }
    if includeClosed { mapping.takeClosed() }
    if allTags { mapping.keepAllTags() }
    if !only.isEmpty { mapping.take(anyOf: try only.map { try Self.selection($0, of: "--only") }) }
    let kept = try keep.map { try Self.selection($0, of: "--keep") } + (all ? [("name", nil)] : [])
    if !kept.isEmpty, !mapping.takeAlso(anyOf: kept) {
      let option = keep.isEmpty ? "--all" : "--keep"
      throw Exit.because(
        "\(option) adds to the choice of a mapping, and this one takes all records; see --only", Exit.usage)
    }
    return mapping
  }

  /// Returns the data sets to register: that of the mapping, or that of `--source` or `--replace-source`.
  ///
  /// - Throws: the exit code 64 for an invalid address or a licence without a source, after an error message.
  func sources(_ mapping: Mapping?, source: String?) throws -> [DataSource] {
    if let attributionURL, !DataSource.isAddress(attributionURL) {
      throw Exit.because("--attribution-url must begin with http:// or https://", Exit.usage)
    }
    if let mapping { return mapping.source.map { [$0] } ?? [] }
    if let source {
      return [DataSource(name: source, licence: licence, attribution: attribution, url: attributionURL)]
    }
    if licence != nil || attribution != nil || attributionURL != nil {
      throw Exit.because("--licence and --attribution need --source, --replace-source or --mapping", Exit.usage)
    }
    return []
  }

  private static func mapping(named name: String) throws -> Mapping {
    if let mapping = Mapping(builtIn: name) { return mapping }
    guard FileManager.default.fileExists(atPath: name) else {
      let names = BuiltInMappings.names.joined(separator: ", ")
      throw Exit.because("--mapping must be a file or one of \(names), got '\(name)'", Exit.usage)
    }
    guard let text = try? String(contentsOf: URL(filePath: name), encoding: .utf8) else {
      throw Exit.because("\(name): can't be read as UTF-8", Exit.badData)
    }
    do {
      return try Mapping(yaml: text)
    } catch {
      throw Exit.because("\(name): \(error)", Exit.badData)
    }
  }

  private static func selection(_ text: String, of option: String) throws -> (name: String, values: [String]?) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else {
      throw Exit.because("\(option) must be KEY or KEY=VALUE, got '\(text)'", Exit.usage)
    }
    if parts.count == 1 || parts[1] == "*" { return (String(name), nil) }
    return (String(name), parts[1].split(separator: ",").map(String.init))
  }
}
