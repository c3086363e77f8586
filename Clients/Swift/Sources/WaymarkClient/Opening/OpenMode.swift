/// What an app is to do with a place that it opens.
public enum OpenMode: String, CaseIterable, Hashable, Sendable {
  /// Show it.
  case view
  /// Let the user change it.
  case edit
}
