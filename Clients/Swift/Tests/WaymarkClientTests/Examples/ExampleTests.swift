import Foundation
import Testing

/// Holds the rule that the documentation of each public symbol shows its use, in code that type-checks.
///
/// Each public type has an example in its documentation comment, and so does each public function and initializer,
/// unless that of its type calls it. Properties, cases and type aliases need none. The plugin `WriteExamples` copies
/// the examples into a file of the tests, so that the compiler reads them.
@Suite struct ExampleTests {
  /// Requirements of protocols and classes outside the package, which an app does not call itself.
  private static let calledBySystem: Set = [
    // Codable: called by encoders and decoders.
    "init(from:)", "encode(to:)",
    // ExpressibleByStringInterpolation: called by literals.
    "init(stringLiteral:)", "init(stringInterpolation:)", "init(literalCapacity:interpolationCount:)",
    "appendLiteral(_:)",
    // AsyncSequence: called by `for try await`.
    "makeAsyncIterator()", "next()",
    // Clock and InstantProtocol: called by the code that is tested.
    "sleep(until:tolerance:)", "advanced(by:)", "duration(to:)", "operator(left:right:)",
    // URLProtocol: called by URLSession.
    "canInit(with:)", "canonicalRequest(for:)", "startLoading()", "stopLoading()",
    // CLLocationManagerDelegate: called by Core Location.
    "locationManager(_:didUpdateLocations:)", "locationManager(_:didFailWithError:)",
    "locationManagerDidChangeAuthorization(_:)",
  ]

  /// Returns the paths of the declarations without a documentation comment or an example.
  private func undocumented(_ declarations: [PublicDeclaration]) -> [String] {
    let requirements = Set(declarations.filter(\.isRequirement).map(\.signature))
    let examples = Dictionary(grouping: declarations.filter { $0.kind == .type }, by: \.path)
      .mapValues { $0.flatMap(\.examples) }
    return declarations.filter { declaration in
      guard !declaration.comment.isEmpty else { return true }
      guard declaration.examples.isEmpty, !Self.calledBySystem.contains(declaration.signature),
        declaration.isRequirement || !requirements.contains(declaration.signature)
      else { return false }
      // The types around it, from the innermost on.
      return !declaration.owners.indices.reversed().contains { index in
        let owner = declaration.owners[...index].joined(separator: ".")
        return (examples[owner] ?? []).contains { declaration.isShown(in: $0) }
      }
    }.map(\.path)
  }

  @Test func everyPublicDeclarationHasAnExample() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources").standardized
    let declarations = try PublicDeclaration.all(inFolder: sources).flatMap(\.declarations)

    #expect(declarations.count > 300)
    #expect(undocumented(declarations) == [])
  }

  @Test(arguments: [
    ("/// A.\npublic struct A {\n}", ["A"]),
    ("/// A.\n///\n/// ```swift\n/// A()\n/// ```\npublic struct A {\n  /// B.\n  public func b() {}\n}", ["A.b()"]),
    ("/// ```swift\n/// A().b()\n/// ```\npublic struct A {\n  /// B.\n  public func b() {}\n}", []),
    ("/// ```swift\n/// A().b()\n/// ```\npublic struct A {\n  public func b() {}\n}", ["A.b()"]),
    (
      "/// ```swift\n/// A(c: 1)\n/// ```\npublic struct A {\n  /// B.\n  public init(\n    b: Int\n  ) {}\n}",
      ["A.init(b:)"]
    ),
    ("/// ```swift\n/// A(c: 1)\n/// ```\npublic struct A {\n  /// B.\n  public init(b: Int = 1, c: Int) {}\n}", []),
    ("/// ```swift\n/// A.ab()\n/// ```\nextension A {\n  /// B.\n  public static func b(_ b: Int) {}\n}", ["A.b(_:)"]),
    ("/// ```swift\n/// a.b {}\n/// ```\npublic protocol A {\n  /// B.\n  func b(_ b: () -> Void)\n}", []),
    ("/// ```swift\n/// A.B\n/// ```\npublic enum A {\n  /// B.\n  public struct B {\n  }\n}", []),
    ("/// A.\nstruct A {\n  /// B.\n  func b() {}\n}", []),
  ])
  func missingExamplesAreFound(source: String, expected: [String]) {
    #expect(undocumented(PublicDeclaration.all(in: source)) == expected)
  }
}
