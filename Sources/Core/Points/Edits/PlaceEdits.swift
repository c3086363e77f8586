import Basics

/// The edits of a place that came from a data set, or its deletion, which imports keep.
///
/// For each edited field it has the base, the value that the data set gave last. An import compares its own value with
/// the base: if they are the same, the data set has nothing new, and the edit stays. The place has never the base.
public struct PlaceEdits: Hashable, Sendable {
  /// The id of the place, or of the deleted place.
  public let id: PointID

  /// The origin of the place. The edits end with it.
  public let origin: SourceReference

  /// The edits, at least one, in the order of the texts of their fields; of a deleted place the deletion alone.
  public private(set) var edits: [FieldEdit]

  /// The maximum number of edits in a store where none is configured.
  public static let defaultMaximumCount = 1_000_000

  /// Creates edits from stored values, in any order.
  public init(id: PointID, origin: SourceReference, edits: [FieldEdit]) {
    self.id = id
    self.origin = origin
    self.edits = edits.sorted { $0.field < $1.field }
  }

  /// Creates the deletion of a place at a time.
  package init(deletionOf id: PointID, origin: SourceReference, at time: Timestamp) {
    self.init(id: id, origin: origin, edits: [FieldEdit(field: .deletion, base: .none, since: time)])
  }

  /// A Boolean value that indicates whether the place was deleted.
  public var isDeletion: Bool { edits.contains { $0.field == .deletion } }

  /// A Boolean value that indicates whether the data set has changed an edited field.
  public var hasConflict: Bool { edits.contains(where: \.isConflict) }

  /// Returns the edits of a place after a write of a client; `nil` for none.
  ///
  /// A changed field has its former value as its base, unless it was edited before. An edit that returns to its base is
  /// none. A write that changes nothing confirms the edits: they are no conflicts any more.
  ///
  /// - Parameters:
  ///   - known: the edits before; `nil` for none.
  ///   - former: the values of the place before.
  ///   - draft: the values of the place after the write.
  package static func afterWrite(
    to id: PointID, from former: PointDraft, to draft: PointDraft, at now: Timestamp, knowing known: PlaceEdits?
  ) -> PlaceEdits? {
    // Of a place of another data set no value is known.
    guard let origin = draft.origin, origin == former.origin else { return nil }
    if former == draft { return known?.confirmed(at: now) }
    let changed = draft.differences(from: former)
    guard !changed.isEmpty else { return known }
    var edits = known?.byField ?? [:]
    for field in changed {
      let base = edits[field]?.base ?? former.value(of: field)
      edits[field] =
        draft.value(of: field).matches(base) ? nil : FieldEdit(field: field, base: base, since: now)
    }
    return PlaceEdits(id: id, origin: origin, ifAny: edits)
  }

  private func confirmed(at now: Timestamp) -> PlaceEdits {
    var confirmed = self
    for index in edits.indices where edits[index].isConflict {
      confirmed.edits[index].isConflict = false
      confirmed.edits[index].since = now
    }
    return confirmed
  }

  /// The outcome of a merge of a row with an edited place.
  package struct Merge: Hashable, Sendable {
    /// The values that the place gets.
    package let draft: PointDraft

    /// The edits that the place keeps; `nil` for none.
    package let edits: PlaceEdits?

    /// A Boolean value that indicates whether an edit of the place is a conflict because of this row.
    package let hasNewConflict: Bool
  }

  /// Merges the values of the data set with the edits.
  ///
  /// If the merged place would have too many tags, the edits of its tags are forgotten.
  ///
  /// - Parameters:
  ///   - row: the values of the data set, with the origin of the edits.
  ///   - current: the values of the place.
  ///   - given: the fields that the row has.
  package func merging(
    _ row: PointDraft, onto current: PointDraft, given: GivenFields = .all, conflicts: ConflictPolicy = .edits
  ) -> Merge {
    let (rowValues, currentValues) = (row.values(of: edits.map(\.field)), current.values(of: edits.map(\.field)))
    var kept: [EditedField: FieldEdit] = [:]
    var conflicting: Set<EditedField> = []
    for edit in edits {
      let (new, present) = (rowValues[edit.field] ?? FieldValue.none, currentValues[edit.field] ?? FieldValue.none)
      if !given.contains(edit.field) {
        kept[edit.field] = edit
      } else if new.matches(present) {
        continue
      } else if new.matches(edit.base) {
        if !edit.isConflict || conflicts == .edits { kept[edit.field] = edit }
      } else if conflicts == .edits {
        kept[edit.field] = FieldEdit(field: edit.field, base: new, since: edit.since, isConflict: true)
        conflicting.insert(edit.field)
      }
    }
    func merge() -> Merge? {
      guard let draft = row.setting(currentValues.filter { kept[$0.key] != nil }) else { return nil }
      return Merge(
        draft: draft, edits: PlaceEdits(id: id, origin: origin, ifAny: kept),
        hasNewConflict: kept.keys.contains(where: conflicting.contains))
    }
    if let merge = merge() { return merge }
    kept = kept.filter { !$0.key.isTag }
    return merge() ?? Merge(draft: row, edits: nil, hasNewConflict: false)
  }

  /// Returns the values of a place with all differences from a row of its data set taken for edits, and these edits.
  ///
  /// - Parameter current: the place, with the origin of the row.
  package static func assuming(_ current: PointOfInterest, differsByEditsFrom row: PointDraft) -> Merge {
    let fields = current.draft.differences(from: row)
    let (bases, values) = (row.values(of: fields), current.draft.values(of: fields))
    let edits = fields.map { field in
      (field, FieldEdit(field: field, base: bases[field] ?? FieldValue.none, since: current.updatedAt))
    }
    guard let origin = row.origin, let draft = row.setting(values) else {
      return Merge(draft: row, edits: nil, hasNewConflict: false)
    }
    return Merge(
      draft: draft,
      edits: PlaceEdits(id: current.id, origin: origin, ifAny: Dictionary(edits) { $1 }), hasNewConflict: false)
  }

  /// Returns the values of a place without its edits: edited fields have their bases. Tags for which there is no room
  /// stay removed.
  package func undone(in current: PointDraft) -> PointDraft {
    var bases: [EditedField: FieldValue] = [:]
    for edit in edits where edit.field != .deletion { bases[edit.field] = edit.base }
    if let draft = current.setting(bases) { return draft }
    let present = current.values(of: edits.map(\.field))
    return current.setting(bases.filter { !$0.key.isTag || present[$0.key] != FieldValue.none }) ?? current
  }

  private var byField: [EditedField: FieldEdit] { Dictionary(edits.map { ($0.field, $0) }) { $1 } }

  private init?(id: PointID, origin: SourceReference, ifAny edits: [EditedField: FieldEdit]) {
    guard !edits.isEmpty else { return nil }
    self.init(id: id, origin: origin, edits: Array(edits.values))
  }
}

extension EditedField {
  fileprivate var isTag: Bool { if case .tag = self { true } else { false } }
}

extension PointDraft {
  /// Returns a Boolean value that indicates whether both have the same origin, or none.
  package func hasSameOrigin(as other: PointDraft) -> Bool { origin == other.origin }

  /// Returns the value of a field. Linear in the length of the tags.
  package func value(of field: EditedField) -> FieldValue { values(of: [field])[field] ?? FieldValue.none }

  /// Returns the values of fields. Linear in the length of the tags.
  package func values(of fields: [EditedField]) -> [EditedField: FieldValue] {
    guard !fields.isEmpty else { return [:] }
    let tags = fields.contains(where: \.isTag) ? tags.dictionary : [:]
    var values: [EditedField: FieldValue] = [:]
    for field in fields {
      values[field] =
        switch field {
        case .name: .text(ExactText(name))
        case .category: category.map { .text(ExactText($0)) } ?? FieldValue.none
        case .position: .position(coordinate)
        case .tag(let key): tags[key].map { .text(ExactText($0)) } ?? FieldValue.none
        case .deletion: FieldValue.none
        }
    }
    return values
  }

  /// Returns the fields whose values differ, sorted.
  package func differences(from other: PointDraft) -> [EditedField] {
    var fields = [EditedField.name, .category, .position].filter { !value(of: $0).matches(other.value(of: $0)) }
    if tags != other.tags {
      let (own, others) = (tags.dictionary, other.tags.dictionary)
      for key in Set(own.keys).union(others.keys) {
        if own[key].map({ ExactText($0) }) != others[key].map({ ExactText($0) }) { fields.append(.tag(key)) }
      }
    }
    return fields.sorted()
  }

  /// Returns the draft with other values of some fields; `nil` if it would have too many tags.
  package func setting(_ values: [EditedField: FieldValue]) -> PointDraft? {
    var (name, category, coordinate) = (self.name, self.category, self.coordinate)
    var changedTags: [ExactText: String?] = [:]
    for (field, value) in values {
      switch (field, value) {
      case (.name, .text(let text)): name = text.text
      case (.category, .text(let text)): category = text.text
      case (.category, .none): category = nil
      case (.position, .position(let position)): coordinate = position
      case (.tag(let key), .text(let text)): changedTags[key] = .some(text.text)
      case (.tag(let key), .none): changedTags[key] = .some(nil)
      default: break
      }
    }
    var tags = tags
    if !changedTags.isEmpty {
      var all = tags.dictionary
      for (key, value) in changedTags { all[key] = value }
      guard let changed = try? Tags(all.map { ($0.key.text, $0.value) }) else { return nil }
      tags = changed
    }
    return PointDraft(storedName: name, category: category, coordinate: coordinate, tags: tags, origin: origin)
  }
}
