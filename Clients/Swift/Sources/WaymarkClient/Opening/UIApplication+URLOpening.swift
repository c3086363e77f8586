#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  @available(iOSApplicationExtension, unavailable)
  extension UIApplication: URLOpening {
    /// Opens a URL, and passes to the completion handler whether that succeeded.
    public func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
      open(url, options: [:], completionHandler: completion)
    }
  }

  @available(iOSApplicationExtension, unavailable)
  extension PointOpener {
    /// Creates an opener that uses the application.
    ///
    /// ```swift
    /// try PointOpener(scheme: "placesapp").open(place, mode: .view)
    /// ```
    ///
    /// - Throws: ``PointOpenerError/invalidScheme(_:)``.
    public init(scheme: String) throws(PointOpenerError) {
      try self.init(scheme: scheme, urlOpener: UIApplication.shared)
    }
  }
#elseif canImport(AppKit)
  public import AppKit

  extension NSWorkspace: URLOpening {
    /// Returns whether an app is registered for a URL.
    public func canOpenURL(_ url: URL) -> Bool { urlForApplication(toOpen: url) != nil }

    /// Opens a URL, and passes to the completion handler whether that succeeded.
    public func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
      let isOpened = open(url)
      completion?(isOpened)
    }
  }

  extension PointOpener {
    /// Creates an opener that uses the workspace.
    ///
    /// ```swift
    /// try PointOpener(scheme: "placesapp").open(place, mode: .view)
    /// ```
    ///
    /// - Throws: ``PointOpenerError/invalidScheme(_:)``.
    public init(scheme: String) throws(PointOpenerError) {
      try self.init(scheme: scheme, urlOpener: NSWorkspace.shared)
    }
  }
#endif
