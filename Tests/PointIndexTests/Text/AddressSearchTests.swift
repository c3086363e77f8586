import Points
import SearchWords
import Testing

@testable import PointIndex

/// Searches for places by their addresses, by words that stand for others, and by Latin letters for others.
@Suite struct AddressSearchTests {
  private static func place(
    _ number: UInt64, _ name: String, street: String, _ houseNumber: String = "", city: String = ""
  ) throws -> PointOfInterest {
    let tags = [("addr:street", street), ("addr:housenumber", houseNumber), ("addr:city", city)]
    return try TextPlaces.place(number, name, tags: tags.filter { !$0.1.isEmpty }.map { (key: $0.0, value: $0.1) })
  }

  private static func snapshot(_ houseNumbers: [String], street: String = "Lindenweg") throws -> PointSnapshot {
    PointSnapshot(
      ContiguousArray(
        try zip(["Amber", "Birch", "Cedar"], houseNumbers).enumerated().map {
          try place(UInt64($0), $1.0, street: street, $1.1, city: "Wien")
        }))
  }

  /// Returns the house numbers of the matches of a text.
  private static func houseNumbers(_ text: String, in snapshot: PointSnapshot, completes: Bool = false) -> [String] {
    snapshot.matches(of: TextQuery(text: text, completesLastWord: completes)).matches.compactMap {
      $0.point.draft.tags["addr:housenumber"]
    }
  }

  // MARK: Addresses

  @Test(arguments: ["lindenweg 5", "5 lindenweg", "lindenweg 5, wien", "lindenwge 5"])
  func placesAtAnAddressComeBeforeOthersInTheStreet(text: String) throws {
    let found = Self.houseNumbers(text, in: try Self.snapshot(["55", "7", "5"]))

    #expect(found.first == "5")
  }

  @Test func placesOfTheStreetAreFoundWhereNoneHasTheNumber() throws {
    let snapshot = try Self.snapshot(["7", "9"])

    #expect(Self.houseNumbers("lindenweg 5", in: snapshot).sorted() == ["7", "9"])
  }

  @Test func aTextWithoutAWordOfTheStreetFindsNoAddress() throws {
    let snapshot = try Self.snapshot(["5", "7"])

    #expect(snapshot.names("wien").isEmpty)
    #expect(snapshot.names("5 wien").isEmpty)
  }

  @Test func oneOfSeveralWordsOfAStreetFindsNoAddress() throws {
    let snapshot = try Self.snapshot(["5"], street: "Rue de Paris")

    #expect(snapshot.names("paris").isEmpty)
    #expect(snapshot.names("paris", completes: true).isEmpty)
    #expect(Self.houseNumbers("rue paris", in: snapshot) == ["5"])
    #expect(Self.houseNumbers("paris 5", in: snapshot) == ["5"])
    #expect(Self.houseNumbers("rue", in: snapshot, completes: true) == ["5"])
  }

  @Test func aNameComesBeforeAStreetOfOneWord() throws {
    let places = [
      try Self.place(1, "Corner Shop", street: "Broadway", "3"), try TextPlaces.place(2, "Broadway"),
      try TextPlaces.place(3, "Broadway Inn"),
    ]

    #expect(PointSnapshot(ContiguousArray(places)).names("broadway") == ["Broadway", "Broadway Inn", "Corner Shop"])
  }

  @Test(arguments: [
    ("10e", "10 E"), ("10e", "10E"), ("10 e", "10e"), ("11 bis", "11bis"), ("11bis", "11 bis"), ("30б", "30 б"),
    ("12-16", "12"), ("12-16", "14"), ("12–16", "16"), ("12-15", "13"), ("12-16", "12-16"), ("3;5", "5"),
  ])
  func houseNumbersAreFoundInTheirForms(houseNumber: String, text: String) throws {
    let match = try Self.snapshot([houseNumber]).matches(of: TextQuery(text: "lindenweg \(text)")).matches.first

    #expect(match?.tier == .allWords)
  }

  @Test(arguments: [("12-16", "13"), ("12-16", "18"), ("12/16", "14"), ("1-99", "50")])
  func otherNumbersAreNoneOfARange(houseNumber: String, text: String) throws {
    let match = try Self.snapshot([houseNumber]).matches(of: TextQuery(text: "lindenweg \(text)")).matches.first

    #expect(match?.tier == .typo)
  }

  @Test func aWholeNumberComesBeforeARangeAndALetter() throws {
    #expect(Self.houseNumbers("lindenweg 5", in: try Self.snapshot(["5a", "3-7", "5"])).first == "5")
  }

  @Test(arguments: [
    ("Mariahilfer Straße", "mariahilfer str. 99"), ("Mariahilfer Straße", "mariahilferstr 99"),
    ("Mariahilferstraße", "mariahilfer str 99"), ("Mariahilferstraße", "Mariahilferstr. 99"),
    ("Hauptstr.", "hauptstraße 99"), ("5th Avenue", "5th ave 99"), ("Fort Street", "99 ft st"),
    ("улица Ленина", "ул. ленина 99"), ("Mannerheimintie", "mannerheimint. 99"), ("Storgatan", "storg. 99"),
    ("Calle Mayor", "c/ mayor 99"), ("Viale Roma", "v.le roma 99"), ("Długa", "ul. długa 99"),
    ("Kerk Straat", "kerkstraat 99"),
  ])
  func streetsAreFoundByAbbreviationsJoinedAndApart(street: String, text: String) throws {
    let places = [
      try Self.place(1, "Right", street: street, "99"), try Self.place(2, "Other", street: "Ringweg", "99"),
    ]

    #expect(PointSnapshot(ContiguousArray(places)).names(text).first == "Right")
  }

  @Test func theBeginningOfAStreetIsFoundWhileItIsTyped() throws {
    let snapshot = try Self.snapshot(["5"], street: "Rue de la Paix")

    #expect(Self.houseNumbers("rue de la p", in: snapshot, completes: true) == ["5"])
    #expect(Self.houseNumbers("rue de la paix 5", in: snapshot, completes: true) == ["5"])
  }

  @Test func theStreetIsReportedAsTheMatch() throws {
    let snapshot = try Self.snapshot(["5"])
    func match(_ text: String) -> TextMatch.Name? {
      snapshot.matches(of: TextQuery(text: text, includesMatchedNames: true)).matches.first?.name
    }

    #expect(match("lindenweg 5") == TextMatch.Name(key: "addr:street", text: "Lindenweg", ranges: [0..<9]))
    #expect(match("amber lindenweg") == TextMatch.Name(key: "name", text: "Amber", ranges: [0..<5]))
  }

  // MARK: Words that stand for others

  @Test(arguments: [
    ("saint louis", "St. Louis"), ("sankt peter", "St Peter"), ("mount vernon", "Mt Vernon"),
    ("fort worth", "Ft. Worth"),
    ("doctor livingstone", "Dr. Livingstone"), ("seven gramm", "7 Gramm"), ("seven eleven", "7-11"),
    ("bed und breakfast", "Bed and Breakfast"), ("quatre saisons", "4 Saisons"), ("twenty four", "20 4"),
  ])
  func wordsThatStandForEachOtherAreFoundInBothDirections(text: String, name: String) throws {
    for (text, name) in [(text, name), (name, text)] {
      let query = TextQuery(text: text, includesMatchedNames: true)
      let match = try TextPlaces.snapshot([name]).matches(of: query).matches.first

      #expect(match?.tier == .allWords, "\(text)")
      #expect(match?.name?.ranges.isEmpty == false, "\(text)")
    }
  }

  @Test func everyEntryOfTheTableHoldsInBothDirections() {
    for line in equivalentWords.split(separator: "\n") {
      let words = line.split(separator: " ").filter { !$0.hasPrefix("-") }
        .map { ContiguousArray($0.utf8.drop { $0 == UInt8(ascii: "?") }) }
      for word in words {
        for other in words where other != word {
          #expect(Equivalents.shared.words(for: word).contains(other), "\(line)")
        }
        #expect(NormalizedText(String(decoding: word, as: UTF8.self)).words.count == 1, "\(line)")
        #expect(Array(NormalizedText(String(decoding: word, as: UTF8.self)).text.utf8) == Array(word), "\(line)")
      }
    }
  }

  @Test func noWordStandsForAnotherInTwoSteps() throws {
    // Both stand for "st".
    let matches = try TextPlaces.snapshot(["Saint Paul"]).matches(of: TextQuery(text: "street paul")).matches

    #expect(matches.map(\.tier) == [.typo], "without 'street'")
  }

  @Test func theWordsOfTheTextComeFirst() throws {
    #expect(try TextPlaces.snapshot(["Saint Johns", "St Johns"]).names("st johns") == ["St Johns", "Saint Johns"])
  }

  // MARK: Latin letters

  @Test(arguments: [
    ("teremok", "Теремок"), ("shcherbinka", "Щербинка"), ("nizhniy novgorod", "Нижний Новгород"), ("kharkiv", "Харків"),
    ("novi sad", "Нови Сад"), ("thessaloniki", "Θεσσαλονίκη"), ("irakleio", "Ηράκλειο"), ("piter", "Питеръ"),
  ])
  func placesAreFoundByLatinLettersForOthers(text: String, name: String) throws {
    let match = try TextPlaces.snapshot([name, "Others"]).matches(of: TextQuery(text: text, includesMatchedNames: true))
      .matches.first

    #expect(match?.point.draft.name == name)
    #expect(match?.tier == .allWords)
    #expect(match?.name?.ranges.isEmpty == false)
  }

  @Test func theOriginalComesBeforeOtherLetters() throws {
    let snapshot = try TextPlaces.snapshot(["Теремок", "Teremok", "Teremok Inn"])

    #expect(snapshot.names("teremok").first == "Teremok")
    #expect(snapshot.names("teremok").count == 3)
    #expect(snapshot.names("terem", completes: true).count == 3)
  }
}
