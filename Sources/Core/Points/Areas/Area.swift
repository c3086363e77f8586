public import Basics
public import Geo
public import SearchWords

/// The kinds of named areas.
public enum AreaKind: String, CaseIterable, Hashable, Sendable {
  case country, region, city, district, postcode, custom
}

/// The part of a named area that clients set; the service adds the id, the version and the times.
///
/// A value of this type satisfies all rules of the HTTP contract; nothing past its construction checks them again.
public struct AreaDraft: Hashable, Sendable {
  /// 1 to ``PointDraft/maximumNameLength`` Unicode scalars, trimmed of white space.
  @ComparedByBytes public private(set) var name: String

  /// The names by their languages.
  public let names: Tags

  public let kind: AreaKind

  /// The level in a hierarchy, in ``levels``, as `admin_level` in OpenStreetMap; a lower one is of larger areas.
  public let level: Int?

  /// The rank among areas of the same name, in ``importances``.
  public let importance: Double

  public let outline: AreaOutline

  /// Further properties.
  public let tags: Tags

  /// The data set that the draft was imported from, and its id there.
  public let origin: SourceReference?

  /// The accepted range of ``level``.
  public static let levels = 0...20

  /// The accepted range of ``importance``.
  public static let importances = 0.0...1.0

  /// Creates a draft, trimming the texts; an empty source or source id counts as none.
  ///
  /// - Throws: ``InvalidPoint`` with all violations.
  public init(
    name: String, names: Tags = .none, kind: AreaKind = .custom, level: Int? = nil, importance: Double = 0,
    outline: AreaOutline, tags: Tags = .none, source: String? = nil, sourceID: String? = nil
  ) throws(InvalidPoint) {
    var violations: [PointViolation] = []
    // The texts that areas and places have follow the same rules.
    var texts: PointDraft?
    do throws(InvalidPoint) {
      texts = try PointDraft(name: name, coordinate: .zero, source: source, sourceID: sourceID)
    } catch {
      violations += error.violations
    }
    if let level, !Self.levels.contains(level) {
      violations.append(
        .init(
          pointer: "/level",
          detail: "must be an integer from \(Self.levels.lowerBound) to \(Self.levels.upperBound), got \(level)"))
    }
    if !Self.importances.contains(importance) {
      violations.append(.init(pointer: "/importance", detail: "must be a number from 0 to 1, got \(importance)"))
    }
    guard violations.isEmpty, let texts else { throw InvalidPoint(violations) }
    self.name = texts.name
    self.names = names
    self.kind = kind
    self.level = level
    self.importance = importance
    self.outline = outline
    self.tags = tags
    origin = texts.origin
  }

  /// Returns the name in the most preferred of some languages that the area has one in; its own name without one.
  public func name(in languages: LanguagePriorityList?) -> String {
    guard let languages, !names.isEmpty else { return name }
    return languages.name(in: names.pairs.map { ("name:" + $0.key, $0.value) })?.name ?? name
  }
}

extension Coordinate {
  fileprivate static let zero: Coordinate = {
    guard let zero = try? Coordinate(latitude: 0, longitude: 0) else { preconditionFailure("0, 0 is a coordinate") }
    return zero
  }()
}

/// A named area: a city boundary, a delivery zone, a sales region.
public struct Area: Hashable, Sendable {
  public let id: PointID
  public let draft: AreaDraft

  /// The version, which grows with each change and never repeats for an id.
  public let version: Int64
  public let createdAt: Timestamp
  public let updatedAt: Timestamp

  public init(id: PointID, draft: AreaDraft, version: Int64, createdAt: Timestamp, updatedAt: Timestamp) {
    self.id = id
    self.draft = draft
    self.version = version
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
