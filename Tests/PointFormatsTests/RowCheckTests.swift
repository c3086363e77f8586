import Foundation
import PointFormats
import Points
import Testing

/// Tests of the warnings about duplicates and implausible coordinates.
@Suite struct RowCheckTests {
  /// Returns the warnings about rows of these coordinates.
  private func notes(_ rows: [(name: String, latitude: Double, longitude: Double)]) async throws -> ImportNotes {
    let text = "name,lat,long\n" + rows.map { "\($0.name),\($0.latitude),\($0.longitude)\n" }.joined()
    let notes = ImportNotes()
    for try await _ in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .csv), notes: notes, onRejection: { _ in })
    {}
    return notes
  }

  /// Rows near each other, no two at one position.
  private func town(_ count: Int) -> [(name: String, latitude: Double, longitude: Double)] {
    (0..<count).map { index in
      let offset = Double(index) * 1e-4
      return ("n\(index)", 48.2 + offset, 16.3 + offset)
    }
  }

  @Test func plausibleRowsCauseNoWarning() async throws {
    let whole: [(name: String, latitude: Double, longitude: Double)] = (0..<5_000).map { index in
      let latitude = Double(index * 7919 % 17_000) / 100 - 85.003
      let longitude = Double(index * 104_729 % 36_000) / 100 - 179.997
      return ("n\(index)", latitude, longitude)
    }
    let one: [(name: String, latitude: Double, longitude: Double)] = [("a", 1, 2)]
    for rows in [town(1000), whole, one, town(0)] {
      let notes = try await notes(rows)

      #expect(notes.warnings == [] && notes.implausibleWarnings == 0)
    }
  }

  @Test func openingHoursThatCannotBeParsedAreCountedWithExamples() async throws {
    let hours = ["Mo-Fr 9-18", "when I like", "when I like", "", "24/7", "ask", "by bus", "in May or so", "Mo-Fr 9-18"]
    let text =
      "name,lat,long,opening_hours\n"
      + hours.enumerated().map { "n\($0.offset),48.\($0.offset + 1),16.\($0.offset + 1),\($0.element)\n" }.joined()
    let notes = ImportNotes()
    for try await _ in PointFileReader(
      [Array(text.utf8)].async, parser: PointParser(format: .csv), notes: notes, onRejection: { _ in })
    {}

    #expect(
      notes.warnings == [
        "opening_hours of 5 of 8 rows that have them cannot be parsed, such as 'when I like', 'ask', 'by bus': whether "
          + "these places are open is unknown"
      ])
  }

  @Test func zerosAreCountedWithExamples() async throws {
    let notes = try await notes([("a", 0, 0)] + town(20) + [("b", 0, 0)])

    #expect(
      notes.warnings == ["2 rows, such as 1 and 22, have the coordinates 0, 0, which often stand for unknown ones"])
    #expect(notes.implausibleWarnings == 1)
  }

  @Test func latitudesOutOfRangeThatWouldFitSwappedAreCounted() async throws {
    let notes = try await notes(town(20) + [("b", 103.8, 1.3), ("c", 103.9, 1.4), ("d", 200, 1)])

    #expect(
      notes.warnings == [
        "2 rows, such as 21 and 22, have a latitude outside of -90 to 90: the latitude and the longitude may be swapped"
      ])
  }

  @Test func rowsFarFromTheOthersAndNearThemSwappedAreCounted() async throws {
    let notes = try await notes(town(40) + [("b", 16.31, 48.21), ("c", 16.32, 48.22), ("far", -33.9, 151.2)])

    #expect(
      notes.warnings == [
        "2 rows, such as 41, are far from the others, and near them with latitude and longitude swapped"
      ])
  }

  @Test func oneCoordinateForManyRowsIsFound() async throws {
    let shared: [(name: String, latitude: Double, longitude: Double)] = (0..<60).map { ("c\($0)", 48.5, 16.5) }
    let others = town(400).map { (name: "d" + $0.name, latitude: $0.latitude + 1, longitude: $0.longitude) }
    let notes = try await notes(town(400) + shared + others)

    #expect(notes.warnings.count == 1 && notes.implausibleWarnings == 1)
    let count = try #require(
      notes.warnings.first?.firstMatch(
        of: /^at least (\d+) of 860 rows, such as 401, have the same coordinates 48.5, 16.5/)?.1)
    #expect((50...60).contains(Int(count) ?? 0))
  }

  @Test func wholeDegreesAreFound() async throws {
    let rows: [(name: String, latitude: Double, longitude: Double)] = (0..<12).map { index in
      ("n\(index)", Double(index + 40), Double(index + 10))
    }
    let notes = try await notes(rows)

    #expect(notes.warnings == ["all 12 rows have whole degrees as coordinates: their decimals may be lost"])
    #expect(try await self.notes(rows + [("x", 1.5, 2)]).warnings == [])
  }

  @Test func exactDuplicatesAreCountedAndPlausible() async throws {
    let notes = try await notes(town(20) + [town(20)[3], town(20)[3], town(20)[7]])

    #expect(notes.warnings == ["3 rows, such as 21, 22 and 23, are exact duplicates of others"])
    #expect(notes.implausibleWarnings == 0)
  }
}
