public import Foundation

/// What opens URLs: the application, or what a test puts in its place.
@MainActor
public protocol URLOpening: AnyObject {
  /// Whether something on the device opens it.
  func canOpenURL(_ url: URL) -> Bool

  /// Opens it, and says whether that went well.
  func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?)
}
