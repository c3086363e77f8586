import Points
import Testing

@testable import PostgresStore

@Suite struct PointColumnsTests {
  @Test func columnsAreThoseOfTheFieldsThatAreStored() {
    let columns = PointColumns.all.split(separator: ", ").map(String.init)

    #expect(columns.sorted() == PointField.allCases.compactMap(\.column).sorted())
    #expect(columns.count == Int(PointColumns.count))
  }

  /// Rows are decoded by these positions.
  @Test func columnsHaveTheirPositionsAndTypes() {
    #expect(
      PointColumns.all == "id, lat, long, name, category, tags, version, created_at, updated_at, source, source_id")
    #expect(
      PointColumns.nulls == "NULL::uuid, NULL::float8, NULL::float8, NULL::text, NULL::text, NULL::json, NULL::int8,"
        + " NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::text")
  }

  @Test func draftsHaveTheColumnsThatClientsSet() {
    #expect(PointColumns.draft == "lat, long, name, category, tags, source, source_id")
    #expect(
      PointColumns.draftValues == "$2::float8, $3::float8, $4::text, $5::text, $6::json, $7::text, $8::text")
    #expect(PointColumns.qualified("lat, long", by: "r") == "r.lat, r.long")
  }

  @Test func expressionsStandInPlaceOfTheirColumns() {
    #expect(
      PointColumns.list(replacing: [.version: "coalesce(version, 1)"])
        == PointColumns.all.replacing("version", with: "coalesce(version, 1)"))
  }
}
