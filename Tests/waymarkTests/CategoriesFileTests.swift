import Basics
import Foundation
import Points
import SearchWords
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

@Suite struct CategoriesFileTests {
  private func tree(_ text: String) throws -> CategoryTree {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("categories-\(UUID()).yaml")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try ServeConfiguration(Settings(environment: ["CATEGORIES_FILE": file.path]), features: Features.all).search
      .categories
  }

  @Test func fileIsTheTreeOfSearchesAndFilters() throws {
    let configuration = try ServeConfiguration(Settings(environment: [:]), features: Features.all).search

    #expect(try tree("categories: {a: {names: {en: A}}}").categories.map(\.name) == ["a"])
    #expect(configuration.categories.categories.count >= 300)
    #expect(configuration.textIndex.categories == configuration.categories)
  }

  @Test func invalidFileIsRejectedWithTheLineAndTheCategory() throws {
    let error = try #require(throws: ConfigurationError.self) { try tree("categories:\n  a: {parent: b}") }

    #expect("\(error)".hasPrefix("CATEGORIES_FILE names '"), "\(error)")
    #expect("\(error)".hasSuffix("which is invalid: line 2: category 'a' has the parent 'b', which is not a category"))
  }

  @Test func missingFileIsRejected() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try ServeConfiguration(
        Settings(environment: ["CATEGORIES_FILE": "/nowhere/categories.yaml"]), features: Features.all)
    }

    #expect("\(error)".contains("must be a file that can be read"))
  }
}
