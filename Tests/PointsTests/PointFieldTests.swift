import CQL2
import Points
import Testing

@Suite struct PointFieldTests {
  @Test func fieldsHaveNamesAndNumbersOfTheirOwn() {
    let fields = PointField.allCases

    #expect(Set(fields.map(\.name)).count == fields.count)
    #expect(Set(fields.map(\.rawValue)) == Set(0..<PropertyFilter.firstTag))
  }

  @Test func conditionsNameTheQueryablesAlone() {
    for field in PointField.allCases {
      let isQueryable = PointField.queryables.contains(field)

      #expect(PointField(queryable: field.name) == (isQueryable ? field : nil))
      #expect((field.filterType != nil) == isQueryable, "\(field)")
    }
    #expect(PointField(queryable: "Name") == nil && PointField(queryable: "wheelchair") == nil)
  }

  @Test func queryablesHaveTheirTypes() {
    let types = PointField.queryables.map { "\($0.name) \($0.filterType?.rawValue ?? "")" }

    #expect(
      types == [
        "id string", "name string", "category string", "lat number", "long number", "geometry geometry",
        "createdAt timestamp", "updatedAt timestamp", "source string", "sourceId string", "version integer",
        "operatingStatus string",
      ])
  }

  @Test func fieldsThatAreWrittenAreStored() {
    for field in PointField.allCases {
      #expect((field.column != nil) == [.client, .service].contains(field.giver), "\(field)")
      #expect(!field.isRequired || field.isWritable, "\(field)")
    }
  }
}
