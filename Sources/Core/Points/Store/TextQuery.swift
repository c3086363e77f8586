public import Geo
public import Basics

/// A query for places by their names.
///
/// Each word of the text, or one that stands for it, must occur in a name, an alternative name, the category or the
/// address of a place, and at least one in a name, or enough of them in the street. Every condition of the filters must
/// hold too.
public struct TextQuery: Hashable, Sendable {
  /// The orders of the matches.
  public enum Order: Hashable, Sendable {
    /// The greatest score first, then by id.
    case relevance
    /// The least geodesic distance from the query's ``TextQuery/center`` first, then by id.
    case distance
  }

  /// The end of a page: the next page starts after it.
  public struct Position: Hashable, Sendable {
    /// The last match's score where the order is by relevance, its distance in metres where it is by distance, exactly
    /// as the store gave it.
    public let value: Double

    /// The last match's id.
    public let id: PointID

    /// The rules that found the match, by which the next page is found too.
    public let stage: Stage

    public init(value: Double, id: PointID, stage: Stage = .words) {
      self.value = value
      self.id = id
      self.stage = stage
    }
  }

  /// The rules by which the matches of all pages are found. They depend on what the first page finds, so that a place
  /// that is written meanwhile does not change those of the pages after it.
  public enum Stage: Hashable, Sendable {
    /// Whole words and the beginnings of words.
    case words
    /// Also words with one edit.
    case typos
    /// Words with one or two edits beside a rare word without.
    case typosBesideRareWord
    /// Words with one edit, words of eight letters with two.
    case moreTypos
    /// The same, and the first letter may differ and short words may be missing.
    case missingWords
    /// The same text with two words joined: the one of this number, from 1, and the word before it.
    case joined(word: UInt16)
    /// The same text with a word separated behind this number of letters of all words, with or without the letter that
    /// follows.
    case separated(letter: UInt16, omitsLetter: Bool)
    /// The same text with a word separated into two of places behind this number of letters of all words.
    case separatedWords(letter: UInt16)
    /// Words with one edit, words of six letters with two.
    case twoTypos
    /// Further edits of the other words beside a word that matches.
    case lenient
    /// The same text without some of its first eight words, which are bits from the least significant one, by the rules
    /// of ``words`` or those of ``typos``.
    case omitted(words: UInt8, hasTypos: Bool)
    /// Text of a script without spaces, of which some pairs of characters are missing.
    case missingPairs
    /// Whole words, and the other words in the areas that ``TextQuery/areaReadings`` have.
    case areas
  }

  /// A reading of the text by which some of its words name an area.
  public struct AreaReading: Hashable, Sendable {
    /// The other words, at least one.
    @ComparedByBytes public private(set) var text: String
    public let area: GeodesicArea

    /// A Boolean value that indicates whether the words of the area are the end of the text.
    public let isAtEnd: Bool

    public init(text: String, area: GeodesicArea, isAtEnd: Bool) {
      self.text = text
      self.area = area
      self.isAtEnd = isAtEnd
    }
  }

  /// The maximum number of characters of a text, as Unicode scalars.
  public static let maximumLength = 200

  /// The text as it was sent, of at least one word (see ``NormalizedText``).
  @ComparedByBytes public var text: String

  /// The readings of the text by which some of its words name an area. Where one has a place, these places come behind
  /// those that have the words of the text in a name, and no others.
  public var areaReadings: [AreaReading]

  /// A Boolean value that indicates whether the last word is being typed, and thus the beginning of a word.
  public var completesLastWord: Bool

  /// The position near which matches rank higher among those of their tier.
  public var bias: LocationBias?

  /// The box, the categories, the source and the radius around a centre; its limit and position have no effect.
  public var filters: PointQuery

  /// The order of the matches; ``Order/distance`` requires a ``center``.
  public var order: Order

  /// The maximum number of matches on the page, within ``PointQuery/limits``.
  public var limit: Int

  /// The end of the page before; `nil` for the first page.
  public var after: Position?

  /// A Boolean value that indicates whether ``TextMatch/name`` is determined.
  public var includesMatchedNames: Bool

  /// The longest time that the search may take; that of a property filter, an area or a route may be shorter.
  public var timeLimit: Duration

  /// The number of steps of a few nanoseconds after which the search ends with ``PointStoreError/stepLimit``; `nil` for
  /// any number.
  public var stepLimit: Int?

  public init(
    text: String, completesLastWord: Bool = false, bias: LocationBias? = nil, filters: PointQuery = PointQuery(),
    order: Order = .relevance, limit: Int = PointQuery.defaultLimit, after: Position? = nil,
    includesMatchedNames: Bool = false, areaReadings: [AreaReading] = [], timeLimit: Duration = .seconds(3600),
    stepLimit: Int? = nil
  ) {
    self.text = text
    self.areaReadings = areaReadings
    self.completesLastWord = completesLastWord
    self.bias = bias
    self.filters = filters
    self.order = order
    self.limit = limit
    self.after = after
    self.includesMatchedNames = includesMatchedNames
    self.timeLimit = timeLimit
    self.stepLimit = stepLimit
  }

  /// The coordinate that distances are measured from: the centre of the filters or else of the bias.
  public var center: Coordinate? { filters.proximity?.center ?? bias?.center }
}

/// A position near which matches rank higher among those of their tier.
public struct LocationBias: Hashable, Sendable {
  /// The default of ``scaleMetres``.
  public static let defaultScaleMetres = 10_000.0

  /// The position.
  public var center: Coordinate

  /// The distance at which the bonus is half of that at the centre, in metres, greater than 0.
  public var scaleMetres: Double

  /// The weight of the bonus, 0…1.
  public var weight: Double

  public init(center: Coordinate, scaleMetres: Double = defaultScaleMetres, weight: Double = 1) {
    self.center = center
    self.scaleMetres = scaleMetres
    self.weight = weight
  }
}

/// A place that matches a text.
public struct TextMatch: Hashable, Sendable {
  /// The kinds of matches; a greater one ranks before all matches of the others.
  public enum Tier: Int, Hashable, Sendable, Comparable, CaseIterable {
    /// The text is or ends with the name of the place's category, of which no name has a word, or it is, or begins or
    /// ends with, a label or synonym of the category; or some words name an area that the place is in, and it has the
    /// others.
    case category
    /// A word differs by one edit, or by two.
    case typo
    /// A word is the beginning of one of the place's.
    case prefix
    /// Every word is one of the place's, or stands for one.
    case allWords
    /// The words are those of one of the place's names, in its order.
    case exact

    /// Returns a Boolean value that indicates whether the left tier ranks after the right one.
    public static func < (left: Tier, right: Tier) -> Bool { left.rawValue < right.rawValue }
  }

  /// A name that matches, with the parts of it that do.
  public struct Name: Hashable, Sendable {
    /// `name`, or the key of the tag.
    @ComparedByBytes public var key: String

    /// The name as it is stored.
    @ComparedByBytes public var text: String

    /// The parts of the text that match, ascending and separate, in Unicode scalars.
    public var ranges: [Range<Int>]

    public init(key: String, text: String, ranges: [Range<Int>]) {
      self.key = key
      self.text = text
      self.ranges = ranges
    }
  }

  /// The place.
  public var point: PointOfInterest

  /// The geodesic distance in metres from the query's centre; `nil` where it has none.
  public var distanceMetres: Double?

  /// The rank of the match: the number of its tier and a fraction, greater is better.
  public var score: Double

  /// The kind of the match.
  public var tier: Tier

  /// The name that matches best, or the street where the address does, where the query asked for it.
  public var name: Name?

  public init(point: PointOfInterest, distanceMetres: Double?, score: Double, tier: Tier, name: Name?) {
    self.point = point
    self.distanceMetres = distanceMetres
    self.score = score
    self.tier = tier
    self.name = name
  }
}

/// A page of the places that match a text.
public struct TextPage: Hashable, Sendable {
  /// The matches in the query's order, at most as many as its limit.
  public var matches: [TextMatch]

  /// The position from which the next page continues; `nil` when no other place matches.
  public var next: TextQuery.Position?

  /// The time at which other places may match; see ``PointPage/expiry``.
  public var expiry: Int64?

  public init(matches: [TextMatch], next: TextQuery.Position?, expiry: Int64? = nil) {
    self.matches = matches
    self.next = next
    self.expiry = expiry
  }
}
