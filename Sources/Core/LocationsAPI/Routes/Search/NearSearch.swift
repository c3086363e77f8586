import Basics
import Geo
import HTTPServer
import NIOHTTP1
import Points
import SearchWords

/// The place or named area that a text names behind a word for near.
struct Landmark: Hashable {
  /// The number of the reading of the text by which it was found.
  let reading: UInt8
  let id: PointID
  let coordinate: Coordinate
}

extension PointsService {
  /// Returns the response of a page of the places that match a text: those near the place that it names behind a word
  /// for near, or else those that have its words.
  ///
  /// - Parameters:
  ///   - filters: the conditions and the limit.
  ///   - includesMatchedNames: a Boolean value that indicates whether the matched names are needed.
  ///   - response: the response of a page of a query, and the place that the matches are near.
  /// - Throws: `Problem`; 501 if texts can't be searched for.
  @inline(__always)
  func matches<Response>(
    of text: TextArguments, _ filters: PointQuery, includesMatchedNames: Bool = false, isRecorded: Bool = true,
    in areas: RequestAreas?, for request: HTTPRequest,
    response: (TextPage, TextQuery, Landmark?) throws(Problem) -> Response
  ) async throws(Problem) -> Response {
    var query = text.query(filters, includesMatchedNames: includesMatchedNames)
    // All searches of a request share its time.
    let end = text.nearReadings.isEmpty ? nil : ContinuousClock.now + query.timeLimit
    if let end, let landmark = try await landmark(of: text, query, until: end, in: areas, for: request) {
      let near = text.query(query, near: landmark).ending(at: end)
      let found = try await matches(
        of: near, isRecorded: isRecorded, isEmptyRecorded: near.after != nil, in: areas, for: request
      ) { page throws(Problem) -> Response? in
        if page.matches.isEmpty, near.after == nil { return nil }
        return try response(page, near, landmark)
      }
      if let found { return found }
    }
    if let end { query = query.ending(at: end) }
    return try await matches(of: query, isRecorded: isRecorded, in: areas, for: request) { page throws(Problem) in
      try response(page, query, nil)
    }
  }

  /// The number of matches among which a place with all words in its name is looked for.
  private static let matchesOfWholeText = 10

  /// The number of matches among which the nearest of a name is looked for.
  private static let matchesOfName = 50

  /// Returns the place that a text names behind a word for near; `nil` if there is none, or if a place has all words of
  /// the text in its name.
  private func landmark(
    of text: TextArguments, _ query: TextQuery, until end: ContinuousClock.Instant, in areas: RequestAreas?,
    for request: HTTPRequest
  ) async throws(Problem) -> Landmark? {
    if text.after != nil { return text.landmark }
    try requireTextSearch()
    var whole = query.limited(to: Self.matchesOfWholeText).ending(at: end)
    whole.includesMatchedNames = true
    let isName = try await matches(of: whole, isRecorded: false, in: nil, for: request) { page in
      page.matches.contains { $0.hasInName(query.text, isIncomplete: query.completesLastWord) }
    }
    if isName { return nil }
    let center = query.center ?? query.filters.box?.center ?? areas?.named?.draft.outline.center
    for (number, reading) in text.nearReadings.enumerated() {
      let isIncomplete = query.completesLastWord && !reading.isTextAtEnd
      for name in reading.names {
        let found = try await landmark(
          named: name.text, isIncomplete: isIncomplete, near: center, until: end, in: areas, for: request)
        if let (id, coordinate) = found {
          return Landmark(reading: UInt8(clamping: number), id: id, coordinate: coordinate)
        }
      }
    }
    return nil
  }

  /// Returns the named area or else the place of a name; of several the nearest to a coordinate.
  private func landmark(
    named name: String, isIncomplete: Bool, near center: Coordinate?, until end: ContinuousClock.Instant,
    in areas: RequestAreas?, for request: HTTPRequest
  ) async throws(Problem) -> (id: PointID, coordinate: Coordinate)? {
    if let area = areas?.areas.area(mentionedAs: name, isIncomplete: isIncomplete, near: center),
      let coordinate = area.draft.outline.center
    {
      return (area.id, coordinate)
    }
    if isIncomplete, NormalizedText(name).hasShortWordAlone { return nil }
    var query = TextQuery(
      text: name, completesLastWord: isIncomplete, bias: center.map { LocationBias(center: $0) }
    ).ending(at: end).limited(to: center == nil || isIncomplete ? 1 : Self.matchesOfName)
    let least = isIncomplete ? TextMatch.Tier.prefix : .allWords
    let found = try await matches(of: query, isRecorded: false, in: nil, for: request) { page in
      page.matches.nearestOfFirstTier(from: least)
    }
    if let found { return (found.id, found.draft.coordinate) }
    // A name in an area: `stephansplatz wien`.
    guard let areas else { return nil }
    query.areaReadings = try await areas.otherReadings(of: name, isIncomplete: isIncomplete, near: center, for: request)
    guard !query.areaReadings.isEmpty else { return nil }
    query.after = .init(value: Double(TextMatch.Tier.allCases.count), id: .least, stage: .areas)
    query.includesMatchedNames = true
    query.limit = Self.matchesOfName
    query = query.ending(at: end)
    return try await matches(of: query, isRecorded: false, in: nil, for: request) { page in
      let match = page.matches.first { match in
        query.areaReadings.contains { match.hasInName($0.text, isIncomplete: isIncomplete && !$0.isAtEnd) }
      }
      return match.map { ($0.point.id, $0.point.draft.coordinate) }
    }
  }
}

extension TextArguments {
  /// Returns the query for the places near another one, the nearest first unless the request has an order.
  fileprivate func query(_ query: TextQuery, near landmark: Landmark) -> TextQuery {
    let reading = nearReadings[Int(landmark.reading)]
    var query = query
    query.text = reading.text.text
    query.areaReadings = []
    query.completesLastWord = isIncomplete && reading.isTextAtEnd
    query.bias = LocationBias(center: landmark.coordinate)
    if let radius = query.filters.proximity?.radiusMetres {
      query.filters.proximity = .init(center: landmark.coordinate, radiusMetres: radius)
    }
    query.order = isSortGiven && sort == .relevance ? .relevance : .distance
    return query
  }
}

extension TextQuery {
  /// Returns the query with the time until an instant.
  fileprivate func ending(at end: ContinuousClock.Instant) -> TextQuery {
    var query = self
    query.timeLimit = max(.milliseconds(1), end - .now)
    query.filters.timeLimit = query.timeLimit
    return query
  }

  /// Returns the query for the first matches by whole words and beginnings of words, the most relevant first.
  fileprivate func limited(to limit: Int) -> TextQuery {
    var query = self
    query.areaReadings = []
    query.order = .relevance
    query.limit = limit
    // Before all matches, so that the stage is given.
    query.after = Position(value: Double(TextMatch.Tier.allCases.count), id: .least, stage: .words)
    return query
  }
}

extension PointID {
  fileprivate static let least = PointID(high: 0, low: 0)
}

extension TextMatch {
  /// Returns a Boolean value that indicates whether the name that matches has all words of a text.
  ///
  /// - Parameter isIncomplete: a Boolean value that indicates whether the last word is the beginning of one.
  fileprivate func hasInName(_ text: String, isIncomplete: Bool) -> Bool {
    guard let name else { return false }
    let (own, wanted) = (NormalizedText(name.text), NormalizedText(text))
    let words = Set(own.words.map { ExactText(own.text(of: $0)) })
    return wanted.words.indices.allSatisfy { index in
      let word = wanted.text(of: wanted.words[index])
      if words.contains(ExactText(word)) { return true }
      // The last character of a script without spaces is a word of its own.
      let isBeginning =
        isIncomplete && index == wanted.words.indices.last
        || wanted.words[index].isUnspaced && word.unicodeScalars.count == 1
      return isBeginning && words.contains { $0.text.utf8.starts(with: word.utf8) }
    }
  }
}

extension [TextMatch] {
  /// Returns the nearest place of those whose tier is that of the first; `nil` if that is less than another.
  fileprivate func nearestOfFirstTier(from least: TextMatch.Tier) -> PointOfInterest? {
    guard let first, first.tier >= least else { return nil }
    return prefix { $0.tier == first.tier }.min { ($0.distanceMetres ?? 0) < ($1.distanceMetres ?? 0) }?.point
  }
}

extension NormalizedText {
  /// The number of letters from which on the beginning of a word that is being typed stands for a name.
  private static let lettersOfBeginning = 3

  /// A Boolean value that indicates whether there is one word only, of too few letters to be the beginning of a name.
  fileprivate var hasShortWordAlone: Bool {
    words.count == 1 && !words[0].isUnspaced && words[0].letters < Self.lettersOfBeginning
  }
}

extension HTTPResponse {
  /// Adds the id of the place that the text names, unless `in` names an area.
  mutating func addLandmark(_ landmark: Landmark?, in areas: RequestAreas?) {
    guard let landmark, areas?.named == nil else { return }
    headers.add(name: "waymark-area", value: landmark.id.description)
  }
}
