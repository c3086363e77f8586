package import Points

/// The relation of sets of fields to the table of the fields, ``Points/PointField``.
extension FieldSet {
  /// Creates the set of a field.
  package init(_ field: PointField) {
    self.init(rawValue: 1 << UInt32(field.rawValue))
  }

  /// The fields that a client sets.
  static let writable = FieldSet(PointField.members.filter(\.isWritable).map { FieldSet($0) })

  /// The fields, in the order in which they are written.
  package var fields: [PointField] { PointField.members.filter { contains(FieldSet($0)) } }
}
