import APIDescription
import Basics
import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points
import SearchWords
import Synchronization

/// `GET /locations/suggest`: categories and places for a text that is being typed, with a few fields each.
struct SuggestRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations/suggest", scope: .read, joinsRestriction: true, id: "suggest", group: .search, link: "suggest",
    summary: "Suggest categories and places for a text that is being typed",
    description: "The last word of `q` is the beginning of a word. Up to three categories come first.",
    parameters: .filters.subtracting([.filter, .filterLanguage])
      .union(.opening + [.text, .limit, .languages, .format]),
    areas: .addressed,
    describing: [
      "q": Parameter.text.description.required, "limit": .limit(limits, default: defaultLimit), "f": .format([.json]),
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The suggestions.", headers: [.contentLanguage],
        media: .json(
          Schema(.array(of: .suggestion)),
          example: [
            ["type": "category", "category": "museum", "label": "Museum", "count": 72],
            [
              "type": "place", "id": .string(Examples.id), "name": "Museum of Art",
              "label": "Museum of Art, Alexanderplatz 1, 10178 Berlin", "category": "museum",
            ],
          ]))
    ])

  /// The maximum number of categories among the suggestions.
  static let maximumCategories = 3

  /// The accepted range of `limit`.
  static let limits = 1...50

  static let defaultLimit = 10

  let service: PointsService
  let revalidation: Revalidation
  let categories: CategoryWords
  let filtering: Filtering
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    let areas = values.areas
    var filters = try await request.compiling(values) { () throws(Problem) in values.filters(by: filtering) }
    filters.limit = values.limit(in: Self.limits, default: Self.defaultLimit)
    if !values.has(.text) { values.note(.missing, "q", "must be given for suggestions") }
    let arguments = values.textArguments(&filters, by: filtering, isTyped: true)
    let languages = LanguageNegotiation(parameter: values.languages(), headers: request.headers)
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    guard let arguments else { throw .internal }
    let query = arguments.query(filters)
    return try await revalidation.respond(
      to: request, in: .json, languages: languages, areas: areas, expires: filters.opening?.isNow == true
    ) { () async throws(Problem) in
      try service.requireTextSearch()
      let counts = try await categories(for: query, languages.languages, for: request)
      return try await service.matches(of: arguments, filters, isRecorded: false, in: areas, for: request) {
        page, _, landmark throws(Problem) in
        var response = try Self.response(
          page.matches.map { FoundPoint($0) }, counts, limit: query.limit, languages, areas)
        response.addLandmark(landmark, in: areas)
        return ExpiringResponse(response, expiry: page.expiry)
      }
    }
  }

  /// Returns the categories that match a text, where the query has none.
  private func categories(
    for query: TextQuery, _ languages: LanguagePriorityList?, for request: HTTPRequest
  ) async throws(Problem) -> [CategoryWords.Match] {
    guard query.filters.categories.isEmpty else { return [] }
    let limit = min(Self.maximumCategories, query.limit / 2)
    let counts = try await categories.counts { () throws(Problem) in
      // In the index: while it can't be current, PostgreSQL would count all places for the suggestions.
      let snapshot = try await service.requiredSnapshot(as: .categories, for: request)
      return try await request.computing { () throws(Problem) in
        try request.searchResult(of: service.searched(.categories, try snapshot.categoryCounts(in: nil)))
      }
    }
    if counts.count <= CategoryWords.fewCategories {
      return categories.matches(of: query.text, languages, limit: limit, among: counts)
    }
    return try await request.computing { () throws(Problem) in
      categories.matches(of: query.text, languages, limit: limit, among: counts)
    }
  }

  private static func response(
    _ points: [FoundPoint], _ categories: [CategoryWords.Match], limit: Int, _ languages: LanguageNegotiation,
    _ areas: RequestAreas?
  ) throws(Problem) -> HTTPResponse {
    var points = points
    let language = languages.translate(&points)
    var json = JSONWriter()
    json.beginArray()
    for category in categories {
      json.beginObject()
      json.write(member: "type", "category")
      json.write(member: "category", category.count.category)
      if let label = category.label { json.write(member: "label", label) }
      json.write(member: "count", category.count.count)
      json.endObject()
    }
    for point in points.prefix(limit - categories.count) { try write(point, areas, to: &json) }
    json.endArray()
    var response = HTTPResponse(json)
    response.addContentLanguage(language)
    return response
  }

  private static func write(
    _ found: FoundPoint, _ areas: RequestAreas?, to json: inout JSONWriter<[UInt8]>
  ) throws(Problem) {
    json.beginObject()
    json.write(member: "type", "place")
    json.write(member: "id", found.point.id.description)
    json.write(member: "name", found.point.draft.name)
    try json.write(member: "label", found.point.label(in: areas))
    if let category = found.point.draft.category { json.write(member: "category", category) }
    if let distance = found.distanceMetres {
      json.write(name: "distance")
      json.write(tenths: distance)
    }
    json.endObject()
  }
}

/// The categories and their words, kept for a short time, since they are compared at every keystroke.
final class CategoryWords: Sendable {
  /// A category that a text names.
  struct Match: Hashable {
    let count: CategoryCount

    /// The label in the language of the request; `nil` if the category is not in the tree.
    @ComparedByBytes private(set) var label: String?
  }

  /// A category that has places, in the tree or not.
  private struct Entry: Sendable {
    let count: CategoryCount

    /// The number in the tree; `nil` if it is not in the tree.
    let number: Int?
    let words: [ExactText]
  }

  /// The number of categories that are compared with a text in less than a millisecond, their words found first.
  static let fewCategories = 500

  /// The time for which the words are used, as long as a client may use the suggestions again.
  static let maximumAge = Duration.seconds(5)

  private let tree: CategoryTree
  private let uptime: @Sendable () -> Duration
  private let last = Mutex<(counts: [CategoryCount], time: Duration)?>(nil)

  /// The words of the counts that texts were compared with last.
  private let words = Mutex<(counts: [CategoryCount], entries: [Entry])>(([], []))

  /// Creates the words of no categories.
  ///
  /// - Parameters:
  ///   - tree: the tree whose labels and synonyms name categories too.
  ///   - uptime: a monotonic time.
  init(_ tree: CategoryTree = .empty, uptime: @escaping @Sendable () -> Duration = monotonicTime) {
    self.tree = tree
    self.uptime = uptime
  }

  /// Returns the categories and their counts, which may be as old as ``maximumAge``.
  ///
  /// - Parameter count: counts the categories.
  func counts<Failure: Error>(
    _ count: () async throws(Failure) -> [CategoryCount]
  ) async throws(Failure) -> [CategoryCount] {
    let now = uptime()
    let known = last.withLock { last in
      last.flatMap { now - $0.time < Self.maximumAge ? $0.counts : nil }
    }
    if let known { return known }
    let counts = try await count()
    last.withLock { $0 = (counts, now) }
    return counts
  }

  /// Returns the categories that have all words of a text in their name, or in a label or synonym, the last one as the
  /// beginning of a word: first those that have them in the name, English or one of the languages, each in the order of
  /// their numbers of places. O(c) for c categories.
  func matches(
    of text: String, _ languages: LanguagePriorityList?, limit: Int, among counts: [CategoryCount]
  ) -> [Match] {
    let wanted = Self.words(of: text)
    guard let last = wanted.last, limit > 0 else { return [] }
    let completions = tree.completions(of: text, in: languages)
    var found: [Match] = []
    var others: [Match] = []
    for entry in entries(of: counts) {
      guard found.count < limit else { break }
      let isPreferred = entry.number.flatMap { completions[$0] }
      let label = entry.number.map { tree.label(of: $0, in: languages).label }
      let hasWords =
        wanted.dropLast().allSatisfy(entry.words.contains)
        && entry.words.contains { $0.text.utf8.starts(with: last.text.utf8) }
      if hasWords || isPreferred == true {
        found.append(Match(count: entry.count, label: label))
      } else if isPreferred != nil {
        others.append(Match(count: entry.count, label: label))
      }
    }
    return found + others.prefix(limit - found.count)
  }

  private func entries(of counts: [CategoryCount]) -> [Entry] {
    let known = words.withLock { words in words.counts == counts ? words.entries : nil }
    if let known { return known }
    let (totals, others) = tree.totals(of: counts)
    let inTree = tree.categories.indices.lazy.filter { totals[$0] > 0 }.map { [tree] number in
      (CategoryCount(category: tree.categories[number].name.text, count: totals[number]), Optional(number))
    }
    var entries = (Array(inTree) + others.map { ($0, nil) }).map { count, number in
      Entry(count: count, number: number, words: Self.words(of: count.category))
    }
    // Sorting is stable by the position.
    let order = entries.indices.sorted { (entries[$1].count.count, $0) < (entries[$0].count.count, $1) }
    entries = order.map { entries[$0] }
    words.withLock { [entries] in $0 = (counts, entries) }
    return entries
  }

  private static func words(of text: String) -> [ExactText] {
    let text = NormalizedText(text)
    return text.words.map { ExactText(text.text(of: $0)) }
  }
}

extension Schema {
  fileprivate static let suggestion = Schema(
    .anyOf([
      Schema(
        .object(
          [
            .required("type", .oneOf(["category"])), .required("category", Schema(.string)),
            .optional("label", Schema(.string, "Label of a category of the tree.")), .required("count", count),
          ], others: nil),
        "A category with its number of places, and those below it."),
      Schema(
        .object(
          [
            .required("type", .oneOf(["place"])), .required("id", uuid), .required("name", name),
            .required("label", Schema(.string, "Name and address in one line.")), .optional("category", category),
            .optional("distance", Schema(.number, nil, ["minimum": 0])),
          ], others: nil),
        "A place."),
    ]),
    "A category or a place for a text that is being typed."
  ).named("Suggestion", order: 90)
}
