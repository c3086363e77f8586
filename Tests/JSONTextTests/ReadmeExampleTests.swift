import JSONText
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func nameOfTheExampleIsReadAsItWasWritten() throws {
    var writer = JSONWriter()
    writer.beginObject()
    writer.write(name: "name")
    writer.write(string: "Café")
    writer.endObject()

    let value = try JSONReader.value(of: writer.sink)
    let name = value["name"]  // .string("Café")

    #expect(name == .string("Café"))
  }
}
