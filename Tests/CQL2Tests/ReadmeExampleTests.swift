import Basics
import CQL2
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func filterOfTheExampleKeepsTheGrandHotel() throws {
    struct Hotel: FilterRecord {
      var name: String
      var stars: Double

      func value(ofProperty number: Int) -> FilterValue {
        number == 0 ? .string(ExactText(name)) : .number(stars)
      }
    }

    let properties = [
      "name": FilterProperty(number: 0, type: .string), "stars": FilterProperty(number: 1, type: .number),
    ]
    let expression = try FilterExpression(text: "stars >= 3 AND name LIKE 'Grand%'")
    let filter = try CompiledFilter(expression) { name throws(FilterError) in
      guard let property = properties[name] else { throw .unknownProperty(name) }
      return property
    }
    let hotels = [Hotel(name: "Grand Hotel", stars: 5), Hotel(name: "Grand Hostel", stars: 1)]
    let matches = hotels.filter { filter.matches($0) }

    #expect(matches.map(\.name) == ["Grand Hotel"])
  }
}
