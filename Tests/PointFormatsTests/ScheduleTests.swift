import Basics
import PointFormats
import Points
import Testing

/// Tests of opening hours that rows have in another form than the text of the tag `opening_hours`.
@Suite struct ScheduleTests {
  private static let week = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"

  @Test func columnsOfWeekdaysBecomeTheTag() throws {
    let text =
      "Name,Lat,Lon,\(Self.week),k\n"
      + "A,48.2,16.3,9:00-17:00,9:00-17:00,9:00-17:00,9:00-17:00,9:00-17:00,closed,closed,v\n"
      + "B,48.2,16.3,,,,,,10-12,,\n"
    let parsed = Parsed(text, .csv)

    #expect(
      parsed.rows.map(\.draft.tags.dictionary) == [
        ["opening_hours": "Mo-Fr 09:00-17:00; Sa,Su off", "k": "v"], ["opening_hours": "Sa 10:00-12:00"],
      ])
  }

  @Test func hoursOfTheRowItselfWinAndTheColumnsStayTags() throws {
    let text =
      "name,lat,long,opening_hours,mon,tue,wed,thu,fri,tags\n" + "A,1,2,24/7,9-17,,,,,\n"
      + "B,1,2,,9-17,,,,,\"{\"\"opening_hours\"\":\"\"Su 9-12\"\"}\"\n" + "C,1,2,,9-17,,,,,\n"
    let parsed = Parsed(text, .csv)

    #expect(
      parsed.rows.map(\.draft.tags.dictionary) == [
        ["opening_hours": "24/7", "mon": "9-17"], ["opening_hours": "Su 9-12", "mon": "9-17"],
        ["opening_hours": "Mo 09:00-17:00"],
      ])
  }

  @Test func columnsThatOnlyLookLikeWeekdaysStayTags() throws {
    let row = try #require(Parsed("name,lat,long,mo,so,sat,sun\nA,1,2,9-17,9-12,x,\n", .csv).rows.first)

    #expect(row.draft.tags.dictionary == ["mo": "9-17", "so": "9-12", "sat": "x"])
    #expect(row.unreadableHours == nil)
  }

  @Test(arguments: [PointFormat.ndjson, .json])
  func membersOfOtherVocabulariesBecomeTheTag(format: PointFormat) throws {
    let rows = [
      #"{"name":"A","lat":48.2,"lon":16.3,"openingHours":["Mo-Fr 09:00-17:00"],"tags":{"k":"v"}}"#,
      #"{"name":"B","lat":48.2,"lon":16.4,"k":"v","openingHoursSpecification":[{"dayOfWeek":["Monday"],"opens":"09:00","closes":"17:00"}]}"#,
      #"{"name":"G","lat":48.2,"lon":16.5,"k":"v","opening_hours":{"periods":[{"open":{"day":1,"time":"0900"},"close":{"day":1,"time":"1700"}}]}}"#,
      #"{"tags":{"k":"v"},"name":"D","lat":1,"lon":2,"monday":"9-17","tuesday":"9-17","wednesday":"closed","thursday":null}"#,
      #"{"name":"T","lat":1,"lon":2,"k":"v","openingHours":"Mo 9-17","tags":{"opening_hours":"24/7"}}"#,
    ]
    let text = format == .json ? "[\(rows.joined(separator: ","))]" : rows.joined(separator: "\n")
    let parsed = Parsed(text, format)

    #expect(
      parsed.rows.map(\.draft.tags.dictionary) == [
        ["opening_hours": "Mo-Fr 09:00-17:00", "k": "v"], ["opening_hours": "Mo 09:00-17:00", "k": "v"],
        ["opening_hours": "Mo 09:00-17:00", "k": "v"], ["opening_hours": "Mo,Tu 09:00-17:00; We off", "k": "v"],
        ["opening_hours": "24/7", "k": "v", "openingHours": "Mo 9-17"],
      ], "\(parsed)")
  }

  @Test(arguments: [PointFormat.geoJSON, .geoJSONSequence])
  func propertiesOfFeaturesBecomeTheTag(format: PointFormat) throws {
    let feature =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"A","montag_von":"9","montag_bis":"12","dienstag_von":null,"dienstag_bis":null,"mittwoch_von":"9","mittwoch_bis":"12","donnerstag_von":"","donnerstag_bis":"","freitag_von":"9","freitag_bis":"12"}}"#
    let row = try #require(Parsed(feature, format).rows.first)

    #expect(row.draft.tags.dictionary["opening_hours"] == "Mo,We,Fr 09:00-12:00")
    #expect(row.draft.tags.dictionary["montag_von"] == nil)
  }

  @Test func unreadableHoursStayTagsAndAreWarnedOf() async throws {
    let text =
      "name,lat,long,mon,tue,wed,thu,fri\nA,48.1,16.1,9-17,ask,,,\nB,48.2,16.2,9-17,,,,\nC,48.3,16.3,9-17,ask,,,\n"
    let notes = ImportNotes()
    var rows: [ImportRow] = []
    for try await batch in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .csv), notes: notes, onRejection: { _ in })
    {
      rows += batch
    }

    #expect(rows[0].draft.tags.dictionary == ["mon": "9-17", "tue": "ask"])
    #expect(
      notes.warnings == [
        "opening_hours of 2 of 3 rows that have them cannot be parsed, such as 'tue: ask': whether these places are "
          + "open is unknown"
      ])
  }

  @Test func rowsThatMayHaveNoTagsRejectTheColumns() {
    let options = RowOptions.rejectingUnknownFields

    #expect(Parsed("name,lat,long,\(Self.week)\nA,1,2,9-17,,,,,,\n", .csv, options: options).error != nil)
    #expect(Parsed(#"{"name":"A","lat":1,"long":2,"openingHours":"Mo 9-17"}"#, .ndjson, options: options).rows.isEmpty)
  }

  @Test func rowsParsedOnTwoProcessorsHaveTheirHoursAndWarnings() throws {
    let lines = (0..<4_000).map { index in
      #"{"name":"n\#(index)","lat":1,"lon":2,"openingHours":"\#(index % 2 == 0 ? "Mo 9-17" : "ask")"}"#
    }
    let parsed = Parsed(lines.joined(separator: "\n"), .ndjson)

    #expect(parsed.rows.count == 4_000)
    #expect(parsed.rows.count { $0.draft.tags.dictionary["opening_hours"] == "Mo 09:00-17:00" } == 2_000)
    #expect(parsed.rows.count { $0.unreadableHours == "openingHours: ask" } == 2_000)
  }
}

extension RowOptions {
  fileprivate static var rejectingUnknownFields: RowOptions {
    var options = RowOptions.standard
    options.unknownFields = .reject
    return options
  }
}
