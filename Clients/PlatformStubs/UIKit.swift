// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import Foundation

@MainActor
open class UIApplication: NSObject {
  public struct OpenExternalURLOptionsKey: Hashable, Sendable {}

  open class var shared: UIApplication { fatalError() }

  open func canOpenURL(_ url: URL) -> Bool { fatalError() }

  open func open(
    _ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:],
    completionHandler completion: (@MainActor @Sendable (Bool) -> Void)? = nil
  ) {}
}
