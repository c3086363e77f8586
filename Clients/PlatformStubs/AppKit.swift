// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

@_exported import Foundation

open class NSWorkspace: NSObject {
  open class var shared: NSWorkspace { fatalError() }

  open func open(_ url: URL) -> Bool { fatalError() }

  open func urlForApplication(toOpen url: URL) -> URL? { fatalError() }
}
