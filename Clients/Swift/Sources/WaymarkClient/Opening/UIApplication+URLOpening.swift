#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  @available(iOSApplicationExtension, unavailable)
  extension UIApplication: URLOpening {
    /// Opens a URL, and says whether that went well.
    public func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
      open(url, options: [:], completionHandler: completion)
    }
  }

  @available(iOSApplicationExtension, unavailable)
  extension PlaceOpener {
    /// Creates an opener that opens URLs by the app itself.
    ///
    /// - Throws: ``PlaceOpenerError/invalidScheme(_:)``.
    public init(scheme: String) throws(PlaceOpenerError) {
      try self.init(scheme: scheme, urlOpener: UIApplication.shared)
    }
  }
#elseif canImport(AppKit)
  public import AppKit

  extension NSWorkspace: URLOpening {
    /// Whether an app is registered for it.
    public func canOpenURL(_ url: URL) -> Bool { urlForApplication(toOpen: url) != nil }

    /// Opens a URL, and says whether that went well.
    public func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
      let isOpened = open(url)
      completion?(isOpened)
    }
  }

  extension PlaceOpener {
    /// Creates an opener that opens URLs by the workspace.
    ///
    /// - Throws: ``PlaceOpenerError/invalidScheme(_:)``.
    public init(scheme: String) throws(PlaceOpenerError) {
      try self.init(scheme: scheme, urlOpener: NSWorkspace.shared)
    }
  }
#endif
