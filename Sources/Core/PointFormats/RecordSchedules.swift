import Basics
import JSONText
import OpeningHours
import Points

/// A reader of opening hours in other forms than a text, from records whose fields may differ from one to the next.
struct RecordSchedules: Sendable {
  /// A member or column that may be part of them.
  struct Member {
    let name: String
    let value: JSONValue

    /// The value of the tag that it is otherwise; `nil` if it is none.
    let tag: String?
  }

  /// The limit of memory: half a megabyte.
  private static let maximumNames = 1 << 13

  /// The names so far by their hashes, with a Boolean value that indicates whether they may be part of the hours.
  private var names: [UInt64: Bool] = [:]

  /// The fields of the last record.
  private var last: (names: [String], fields: ScheduleFields?) = ([], nil)

  /// Returns a Boolean value that indicates whether a field of this name may be part of the hours, beside others.
  mutating func mayInclude(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard (2...60).contains(name.count) || name.first.map({ $0 >= 0x80 }) == true else { return false }
    var hash = FoldedHash()
    hash.combine(bytes: name)
    if let known = names[hash.value] { return known }
    if names.count == Self.maximumNames { names.removeAll(keepingCapacity: true) }
    let mayInclude = ScheduleFields.mayInclude(String(decoding: name, as: UTF8.self))
    names[hash.value] = mayInclude
    return mayInclude
  }

  /// Returns the fields of a record that hold hours; `nil` if there are none. The last ones are kept, as records follow
  /// others with the same names.
  private mutating func fields(named names: [String]) -> ScheduleFields? {
    if !names.elementsEqual(last.names, by: { $0.hasSameBytes(as: $1) }) {
      last = (names, ScheduleFields(names: names))
    }
    return last.fields
  }

  /// Adds the tag `opening_hours` that the draft's members hold, unless there is one, and those members as tags that it
  /// does not come from.
  mutating func settle(_ draft: inout RowDraft, _ tags: inout TagsBuilder) {
    guard !draft.scheduleMembers.isEmpty else { return }
    let members = draft.scheduleMembers
    draft.scheduleMembers = []
    var used: [Int] = []
    // A place with more tags is invalid.
    guard members.count <= Tags.maximumCount else {
      for member in members { if let tag = member.tag { tags.append(key: member.name, value: tag) } }
      return
    }
    if !tags.contains(key: "opening_hours"), let fields = fields(named: members.map(\.name)) {
      switch fields.read({ members[$0].value }) {
      case .hours(let text, let indices)?:
        tags.append(key: "opening_hours", value: text)
        used = indices
      case .unreadable(let text)?: draft.unreadableHours = text
      case nil: break
      }
    }
    for (index, member) in members.enumerated() where !used.contains(index) {
      // The object of tags takes precedence.
      if let tag = member.tag, !tags.contains(key: member.name) { tags.append(key: member.name, value: tag) }
    }
  }

  /// Returns the hours of a record of a foreign data set; `nil` if it has none in these forms.
  mutating func schedule(of members: [JSONValue.Member]) -> ForeignRecord.Schedule? {
    let candidates = members.filter { member in
      var name = member.name
      return name.withUTF8 { mayInclude($0) }
    }
    // The tag alone is the usual case.
    if candidates.isEmpty || candidates.count == 1 && candidates[0].isText(of: "opening_hours") { return nil }
    guard candidates.count <= Tags.maximumCount, let fields = fields(named: candidates.map(\.name)) else { return nil }
    return fields.read { candidates[$0].value }.map { outcome in
      switch outcome {
      case .hours(let text, let indices): .hours(text, fields: indices.map { candidates[$0].name })
      case .unreadable(let text): .unreadable(text)
      }
    }
  }
}

extension JSONValue.Member {
  fileprivate func isText(of name: String) -> Bool {
    guard self.name.hasSameBytes(as: name), case .string(let text) = value else { return false }
    return !text.utf8.starts(with: "{".utf8) && !text.utf8.starts(with: "[".utf8)
  }
}
